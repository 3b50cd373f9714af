// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

extension SystemError.Code {
    /// A column has a value that no writer writes.
    package static let damagedColumn = Self("damagedColumn", "the item is damaged")
    /// A sealed part does not open under the key that the row names.
    package static let damagedSeal = Self("damagedSeal", "the item is damaged")
    /// The contents of a part are not well formed, or do not fit the row's hashes.
    package static let damagedContent = Self("damagedContent", "the item is damaged")
    /// The keychain is locked, and the lock has removed the row's key.
    package static let lockedRow = Self("lockedRow", "the keychain is locked")
    /// The value is protected by presence, and there is no proof of it.
    package static let needsPerson = Self(
        "needsPerson", "the user would have to be asked, which is not possible here")
    /// The row's class needs a passcode, and the keychain has none.
    package static let needsPasscode = Self(
        "needsPasscode", "this protection class needs a passcode, and none is set")
    /// An index of the database leads to a wrong row, or does not find a row that was written.
    package static let damagedIndex = Self("damagedIndex", "an index of the database is damaged")
}

extension SystemError {
    /// The error for a row that was not opened, or not found.
    @inline(never)
    package static func row(_ code: Code) -> SystemError { SystemError(code, during: "open a row") }

    /// The error for a row whose key is not open.
    ///
    /// - Parameter isOfProcess: Whether this process unlocks only for itself.
    package static func lockedRow(ofProcess isOfProcess: Bool) -> SystemError {
        SystemError(
            .lockedRow, during: "open a row",
            hint: isOfProcess ? KeychainFailure.descriptorHint : nil)
    }

    /// Whether a row was the cause: it is damaged, closed, or badly indexed.
    package var isOfRow: Bool {
        isDamage
            || [.lockedRow, .needsPerson, .needsPasscode, .damagedIndex].contains(code)
    }

    /// Whether a row itself is damaged, so that the call can leave it out.
    package var isDamage: Bool {
        [.damagedColumn, .damagedSeal, .damagedContent].contains(code)
    }
}
