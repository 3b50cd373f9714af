// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSecretMemory

/// Values that are sealed under an application's password, in a write transaction. No password is
/// stretched here.
extension WriteAccess {
    /// What an updated row takes beside the keys of its class.
    private enum Need {
        case nothing
        /// The password that opens the box which is there.
        case opening(PasswordBox)
        /// A password for a value that has none.
        case new
    }

    /// Which passwords an update of `matches` needs that are not here; nil for none. What opens
    /// comes first, so that nobody is asked for a new password in vain.
    func passwordDemand(
        _ matches: [OpenedRow], _ changes: ItemChanges, value: SecretValue?
    ) throws(RowFailure) -> PasswordDemand? {
        var locks: [PasswordLock] = []
        var needsNew = false
        for match in matches {
            switch try need(match, changes, hasNewValue: value != nil) {
            case .nothing: break
            case .opening(let box):
                if access.password(for: box.lock) == nil { locks.append(box.lock) }
            case .new: needsNew = access.newPassword == nil
            }
        }
        guard locks.isEmpty else { return .existing(locks) }
        return needsNew ? .new : nil
    }

    /// What the row of an updated item holds: the value, its box, or nothing.
    ///
    /// - Throws: ``NewPasswordDemand``; ``RowFailure/needsPerson`` without the password of the box
    ///   that is there.
    func stored(
        _ match: OpenedRow, _ changes: ItemChanges, value: SecretValue?
    ) throws -> SecretValue? {
        switch try need(match, changes, hasNewValue: value != nil) {
        case .nothing: return value ?? match.value
        case .new: return try boxed(value ?? match.value, match.row.header)
        case .opening(let box):
            guard let password = access.password(for: box.lock) else {
                throw RowFailure.needsPerson
            }
            guard let value else { return try box.open(with: password) }
            return try seal(value, of: box.lock.item, with: password)
        }
    }

    /// The box of a value of the row with that header, under the password that the call has
    /// brought; nil for no value.
    ///
    /// - Throws: ``NewPasswordDemand``; `outOfMemory`.
    func boxed(_ value: SecretValue?, _ header: RowHeader) throws -> SecretValue? {
        guard let value else { return nil }
        guard let password = access.newPassword else { throw NewPasswordDemand() }
        let item = BoxedItem(keychainID: state.settings.keychainID, itemID: header.itemID)
        return try seal(value, of: item, with: password)
    }

    private func seal(
        _ value: SecretValue, of item: BoxedItem, with password: StretchedPassword
    ) throws(KeychainFailure) -> SecretValue {
        // The sealed bytes, with the head in front of them, and in the value's place.
        guard SpareMemory.has(3, copiesOf: value.byteCount) else {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
        return PasswordBox.seal(value, of: item, with: password)
    }

    /// decision 56, the table.
    private func need(
        _ match: OpenedRow, _ changes: ItemChanges, hasNewValue: Bool
    ) throws(RowFailure) -> Need {
        let header = match.row.header
        let takesPassword = try match.takesPassword(after: changes)
        guard match.isBoxed else {
            let hasValue = hasNewValue || match.value != nil
            return takesPassword && hasValue ? .new : .nothing
        }
        switch (takesPassword, hasNewValue) {
        case (true, false), (false, true): return .nothing
        case (true, true) where changes.accessControl != nil: return .new
        case (true, true), (false, false):
            guard let stored = match.value else { throw .needsPerson }
            let cipher = try state.cipher(opening: header)
            return .opening(try cipher.box(stored, header, match.content))
        }
    }
}

extension OpenedRow {
    /// Whether the row has the box of a value, and not the value.
    var isBoxed: Bool { row.header.flags.contains(.password) && row.secret != nil }

    fileprivate func takesPassword(after changes: ItemChanges) throws(RowFailure) -> Bool {
        if let new = changes.accessControl { return new.takesPassword }
        // A class alone takes the place of class and access control.
        guard changes.protectionClass == nil else { return false }
        return try content.accessControl?.takesPassword ?? false
    }
}
