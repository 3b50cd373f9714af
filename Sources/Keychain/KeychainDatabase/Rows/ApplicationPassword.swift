// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// Values that are sealed under an application's password, in a write transaction. No password is
/// stretched here.
extension RowTransaction {
    /// The password that an updated row needs beside the keys of its class.
    private enum Need {
        case nothing
        case opening(PasswordBox)
        /// A password for a value that has none.
        case new
    }

    /// The passwords that an update of `matches` needs and the call does not have; nil for none.
    package func passwordDemand(
        _ matches: [OpenedRow], _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> PresenceDemand? {
        var demands: [PresenceDemand] = []
        for match in matches {
            switch try need(match, changes, hasNewValue: value != nil) {
            case .nothing: break
            case .opening(let box):
                if access.password(for: box.lock) == nil { demands.append(.passwords([box.lock])) }
            case .new: if access.newPassword == nil { demands.append(.newPassword) }
            }
        }
        return PresenceDemand(demands)
    }

    /// The bytes that the row of an updated item stores as its value: the value, its box, or
    /// nothing.
    ///
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` without a password that the update
    ///   needs; `outOfMemory`.
    package func stored(
        _ match: OpenedRow, _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> SecretValue? {
        switch try need(match, changes, hasNewValue: value != nil) {
        case .nothing: return value ?? match.value
        case .new: return try boxed(value ?? match.value, match.row.header)
        case .opening(let box):
            guard let password = access.password(for: box.lock) else {
                throw KeychainFailure(.interactionNotAllowed, during: operation)
            }
            guard let value else {
                return try translating(box.open(with: password), during: operation)
            }
            return try seal(value, of: box.lock.item, with: password)
        }
    }

    /// The box of a value for the row with that header, under the call's password; nil for no
    /// value.
    ///
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` without a password; `outOfMemory`.
    package func boxed(
        _ value: SecretValue?, _ header: RowHeader
    ) throws(KeychainFailure) -> SecretValue? {
        guard let value else { return nil }
        guard let password = access.newPassword else {
            throw KeychainFailure(.newPassword, during: operation)
        }
        let item = BoxedItem(keychainID: state.keychainID, itemID: header.itemID)
        return try seal(value, of: item, with: password)
    }

    private func seal(
        _ value: SecretValue, of item: BoxedItem, with password: StretchedPassword
    ) throws(KeychainFailure) -> SecretValue {
        // Three copies: the sealed bytes, the head with these bytes, and the row's part.
        guard SpareMemory.has(3, copiesOf: value.byteCount) else {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
        return PasswordBox.seal(value, of: item, with: password)
    }

    /// The password that an update needs: the table of decision 56.
    private func need(
        _ match: OpenedRow, _ changes: ItemChanges, hasNewValue: Bool
    ) throws(KeychainFailure) -> Need {
        try translating(operation) { () throws(SystemError) in
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
                guard let stored = match.value else { throw .row(.needsPerson) }
                let cipher = try state.cipher(opening: header)
                return .opening(try cipher.box(stored, header, match.content))
            }
        }
    }
}

extension OpenedRow {
    /// Whether the row has the box of a value, and not the value.
    package var isBoxed: Bool { row.header.flags.contains(.password) && row.secret != nil }

    fileprivate func takesPassword(after changes: ItemChanges) throws(SystemError) -> Bool {
        if let new = changes.accessControl { return new.takesPassword }
        // A change of the class alone replaces class and access control.
        guard changes.protectionClass == nil else { return false }
        return try content.accessControl?.takesPassword ?? false
    }
}

/// An application's password, stretched with one salt at one cost: docs/FORMAT.md §5.5. It is wiped
/// when the last reference to it is released.
///
/// Making one costs the memory and the time of Argon2id: never do so in a transaction or under the
/// writers' lock.
package final class StretchedPassword: Sendable {
    /// The most bytes of a password; the least is one.
    package static let maximalByteCount = Passcode.maximalByteCount

    let argon2: Argon2Record
    private let key: StretchedPasscode

    private init(
        _ typed: borrowing SecretBytes, _ argon2: Argon2Record
    ) throws(KeychainFailure) {
        let operation = "take the password"
        guard (1...Self.maximalByteCount).contains(typed.byteCount) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "a password has from 1 to \(Self.maximalByteCount) bytes")
        }
        self.argon2 = argon2
        do {
            key = try PassphraseKDF.stretch(typed, salt: argon2.salt, cost: argon2.cost)
        } catch {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
    }

    /// Stretches a password for opening a box, with the salt and cost in `lock`.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for no bytes or too many, `outOfMemory`.
    package convenience init(
        _ typed: borrowing SecretBytes, for lock: PassphraseBox
    ) throws(KeychainFailure) {
        try self.init(typed, lock.argon2)
    }

    /// Stretches a new password, with a new salt.
    ///
    /// - Throws: Like `init(_:for:)`.
    package convenience init(
        new typed: borrowing SecretBytes, _ stretching: PasscodeStretching
    ) throws(KeychainFailure) {
        let cost: Argon2Cost
        do {
            cost = try stretching.cost()
        } catch {
            throw KeychainFailure(.outOfMemory, during: "take the password")
        }
        try self.init(typed, Argon2Record(salt: .random(), cost: cost))
    }

    /// Whether this password has the salt and cost of the lock, and opens the lock's box.
    package func opens(_ lock: PassphraseBox) -> Bool {
        argon2 == lock.argon2 && key(of: lock.item).commitment == lock.commitment
    }

    /// The key of the value of one item.
    func key(of item: BoxedItem) -> ApplicationPasswordKey {
        KeyedHash.derive(from: key, .applicationPassword) { hash in
            hash.append(item.keychainID)
            hash.append(item.itemID)
        }
    }
}

/// The item that a box belongs to.
struct BoxedItem: Hashable, Sendable {
    /// The keychain that the item is in.
    package let keychainID: KeychainID
    /// The 16 bytes that identify the item for its whole life.
    let itemID: [UInt8]
}

/// The part of a value's box that shows whether a password opens it, and the item of the value.
package struct PassphraseBox: Hashable, Sendable {
    let item: BoxedItem
    let argon2: Argon2Record
    let commitment: Digest
}

/// A value that is sealed under an application's password: docs/FORMAT.md §5.5. The row seals the
/// box in place of the value.
package struct PasswordBox {
    /// How much longer a box is than its value.
    static let overhead = headByteCount + AEAD.overhead

    private static let version: UInt8 = 1
    private static let headByteCount = 1 + Argon2Record.byteCount + 32

    /// The part that shows whether a password opens the box.
    package let lock: PassphraseBox
    private let head: [UInt8]
    private let stored: SecretValue

    /// Parses the box of `item`.
    ///
    /// - Throws: ``SystemError``: `damagedContent` for bytes that no writer makes from a value
    ///   of that size.
    init(
        _ stored: SecretValue, of item: BoxedItem, valueByteCount: Int?
    ) throws(SystemError) {
        guard let valueByteCount, stored.byteCount - Self.overhead == valueByteCount else {
            throw .row(.damagedContent)
        }
        head = stored.withBytes { bytes in (0..<Self.headByteCount).map { bytes[$0] } }
        var reader = ByteReader(head, malformed: SystemError.row(.damagedContent))
        guard try reader.integer(UInt8.self) == Self.version else { throw .row(.damagedContent) }
        let argon2 = try? Argon2Record(parsing: reader.bytes(Argon2Record.byteCount))
        guard let argon2 else { throw .row(.damagedContent) }
        lock = PassphraseBox(item: item, argon2: argon2, commitment: try reader.fixedBytes())
        self.stored = stored
    }

    /// Opens the box with a password that opens its lock.
    ///
    /// - Throws: ``SystemError``: `damagedSeal` if the box was changed.
    package func open(with password: StretchedPassword) throws(SystemError) -> SecretValue {
        let data = Self.associatedData(lock.item, head)
        let key = password.key(of: lock.item)
        do {
            return SecretValue(
                try stored.withBytes { (box: Span<UInt8>) throws(SystemError) in
                    try data.withBytes { (data: Span<UInt8>) throws(SystemError) in
                        try AEAD.open(
                            box.extracting(droppingFirst: Self.headByteCount),
                            associatedData: data, under: key)
                    }
                })
        } catch {
            throw .row(.damagedSeal)
        }
    }

    /// Makes the box of a value.
    static func seal(
        _ value: SecretValue, of item: BoxedItem, with password: StretchedPassword
    ) -> SecretValue {
        seal(value, of: item, with: password, nonce: .random())
    }

    /// Seals with a given nonce, to reproduce a test vector.
    static func seal(
        _ value: SecretValue, of item: BoxedItem, with password: StretchedPassword, nonce: Nonce
    ) -> SecretValue {
        let key = password.key(of: item)
        let head = [version] + password.argon2.bytes + key.commitment.bytes
        let sealed = value.withBytes { value in
            associatedData(item, head).withBytes { data in
                AEAD.seal(value, associatedData: data, under: key, nonce: nonce)
            }
        }
        return SecretValue(copying: (head + sealed).span)
    }

    private static func associatedData(_ item: BoxedItem, _ head: [UInt8]) -> LengthPrefixed {
        var data = LengthPrefixed(reservingByteCount: 160)
        data.append(DerivationContext.applicationPasswordBox.rawValue)
        data.append(item.keychainID)
        data.append(item.itemID)
        data.append(head)
        return data
    }
}

extension ItemCipher {
    /// The box that a row holds in place of its value.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    package func box(
        _ stored: SecretValue, _ header: RowHeader, _ content: ItemContent
    ) throws(SystemError) -> PasswordBox {
        try PasswordBox(
            stored, of: item(header), valueByteCount: content.valueByteCount)
    }

    /// The item to which the box in a row with that header is bound.
    func item(_ header: RowHeader) -> BoxedItem {
        BoxedItem(keychainID: keychainID, itemID: header.itemID)
    }

    /// Checks that the contents of part V agree with part N: a value, its box, or one with fields.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    package func check(
        _ stored: SecretValue, _ header: RowHeader, _ content: ItemContent
    ) throws(SystemError) {
        if header.flags.contains(.password) {
            _ = try box(stored, header, content)
        } else {
            _ = try content.value(sealedAs: stored)
        }
    }
}
