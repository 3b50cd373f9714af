// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// A value that is sealed under an application's password: docs/FORMAT.md §5.5. It is what the row
/// seals in the value's place.
struct PasswordBox {
    /// How much longer a box is than its value.
    static let overhead = headByteCount + AEAD.overhead

    private static let version: UInt8 = 1
    private static let headByteCount = 1 + Argon2Record.byteCount + 32

    /// What opens it.
    let lock: PasswordLock
    private let head: [UInt8]
    private let stored: SecretValue

    /// Parses the box of `item`.
    ///
    /// - Throws: ``RowFailure/content`` for anything that no writer makes of a value of that size.
    init(
        _ stored: SecretValue, of item: BoxedItem, valueByteCount: Int?
    ) throws(RowFailure) {
        guard let valueByteCount, stored.byteCount - Self.overhead == valueByteCount else {
            throw .content
        }
        head = stored.withBytes { bytes in (0..<Self.headByteCount).map { bytes[$0] } }
        var reader = ByteReader(head, malformed: RowFailure.content)
        guard try reader.integer(UInt8.self) == Self.version else { throw .content }
        let argon2 = try? Argon2Record(parsing: reader.bytes(Argon2Record.byteCount))
        guard let argon2 else { throw .content }
        lock = PasswordLock(item: item, argon2: argon2, commitment: try reader.fixedBytes())
        self.stored = stored
    }

    /// Opens the box with a password that opens its lock.
    ///
    /// - Throws: ``RowFailure/seal`` if the box was changed.
    func open(with password: StretchedPassword) throws(RowFailure) -> SecretValue {
        let data = Self.associatedData(lock.item, head)
        let key = password.key(of: lock.item)
        do throws(SealingError) {
            return SecretValue(
                try stored.withBytes { (box: Span<UInt8>) throws(SealingError) in
                    try data.withBytes { (data: Span<UInt8>) throws(SealingError) in
                        try AEAD.open(
                            box.extracting(droppingFirst: Self.headByteCount),
                            associatedData: data, under: key)
                    }
                })
        } catch {
            throw .seal
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
    /// The box that a row holds in its value's place.
    ///
    /// - Throws: ``RowFailure/content``.
    func box(
        _ stored: SecretValue, _ header: RowHeader, _ content: ItemContent
    ) throws(RowFailure) -> PasswordBox {
        try PasswordBox(
            stored, of: item(header), valueByteCount: content.valueByteCount)
    }

    /// What a password's box in a row with that header is bound to.
    func item(_ header: RowHeader) -> BoxedItem {
        BoxedItem(keychainID: keychainID, itemID: header.itemID)
    }

    /// Checks that what was in part V, a value or its box, is what part B says of it.
    ///
    /// - Throws: ``RowFailure/content``.
    func check(
        _ stored: SecretValue, _ header: RowHeader, _ content: ItemContent
    ) throws(RowFailure) {
        if header.flags.contains(.password) {
            _ = try box(stored, header, content)
        } else if stored.byteCount != content.valueByteCount {
            throw .content
        }
    }
}
