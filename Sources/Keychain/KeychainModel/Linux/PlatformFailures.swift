// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetSystem

// The one place where an error of the platform's modules becomes a failure of the keychain.

extension KeychainFailure {
    /// The failure of `operation` for an error of the file system, of SQLite or of a row.
    package init(_ error: SystemError, during operation: String) {
        let failure = KeychainFailure(
            error.code.meaning, during: operation, message: error.explanation(during: operation),
            path: error.path,
            hint: error.hint ?? error.hintOfKernel ?? error.code.usualHint)
        self.init(failure, systemError: error.systemError ?? 0)
        // A lock tells the first, which may pass, from damage that stays. `valet serve` tells the
        // second to the person who runs it.
        if [.unmatchedLog, .lostChanges].contains(error.code) { causeName = error.code.name }
    }

    /// The hint if the rows are sound, and only their indexes are damaged.
    package static let repairHint = "`valet doctor --repair-indexes` rebuilds the indexes"

    /// The same failure, with its cause.
    package init(_ failure: KeychainFailure, cause: SystemError.Code) {
        self = failure
        causeName = cause.name
    }

    /// The cause, where a caller has to tell causes apart.
    package var cause: SystemError.Code? { causeName.map { SystemError.Code($0, message) } }
}

extension SystemError {
    /// The message for an error during `outer`. Leaves out the path, which the failure has in a
    /// property.
    fileprivate func explanation(during outer: String) -> String {
        // For a file with wrong owner, mode or kind, the path and the reason say everything.
        guard code.meaning != .insecureFiles, !code.saysEverything else { return code.reason }
        let isToldByPath = path != nil && code.isAboutWholeFile
        let step = operation.hasPrefix(outer) || isToldByPath ? "" : "\(operation): "
        let number = sqliteCode.map { ", sqlite \($0)" } ?? ""
        return "\(step)\(code.meaning.explanation)\(number)"
    }

    /// The hint for access that the kernel denied, and for a file that may not grow.
    fileprivate var hintOfKernel: String? {
        if systemError == EFBIG { return "see `ulimit -f`, and what the file system allows" }
        guard code == .cannotOpen, systemError == EACCES || systemError == EPERM else { return nil }
        return "let user \(geteuid()) read and write it"
    }
}

extension SystemError.Code {
    /// Whether the error concerns the whole file, so that the step that met it does not matter.
    fileprivate var isAboutWholeFile: Bool {
        [.cannotOpen, .missing, .readOnly].contains(self)
    }

    /// Whether the reason needs neither the step nor SQLite's code.
    fileprivate var saysEverything: Bool {
        switch self {
        case .replaced, .lostChanges, .descriptorsClosed, .damagedColumn, .damagedSeal,
            .damagedContent, .lockedRow, .needsPerson, .needsPasscode, .damagedIndex:
            true
        default: false
        }
    }

    fileprivate var meaning: KeychainFailure.Code {
        switch self {
        case .busy, .replaced: .timedOut
        case .diskFull: .diskFull
        case .readOnly: .readOnly
        case .inputOutput, .cannotOpen, .missing, .descriptorsClosed, .lostChanges: .inputOutput
        case .outOfMemory: .outOfMemory
        case .corrupt, .unmatchedLog, .notADatabase, .schemaMismatch, .tooLarge, .damagedIndex:
            .keychainDamaged
        case .damagedColumn, .damagedSeal, .damagedContent: .damaged
        case .lockedRow: .locked
        case .needsPerson: .interactionNotAllowed
        case .needsPasscode: .passcodeNotSet
        case .wrongOwner, .wrongMode, .symbolicLink, .notARegularFile, .notADirectory:
            .insecureFiles
        case .unsupportedFileSystem: .unsupportedFileSystem
        default: .internalFault
        }
    }

    fileprivate var usualHint: String? {
        switch self {
        case .busy: "another process holds the keychain; `valet doctor` says more"
        case .diskFull: "make room on the disk; nothing was changed"
        case .readOnly:
            "make the keychain's folder writable, or set VALET_HOME to a writable folder"
        case .corrupt, .notADatabase, .schemaMismatch, .damagedColumn, .damagedSeal,
            .damagedContent:
            "run `valet doctor`"
        case .needsPasscode:
            "set one with `valet passcode set`; other accessibilities need none"
        case .damagedIndex: KeychainFailure.repairHint
        default: nil
        }
    }
}

// The codes of rows. They stand here, because this is where they get their meaning.

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
