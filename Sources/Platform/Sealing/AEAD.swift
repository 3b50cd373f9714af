// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Sealing of data: XChaCha20-Poly1305 with a random nonce of 192 bits.
///
/// Sealed bytes are nonce 24 ‖ ciphertext ‖ tag 16. The nonce is so long that random ones never
/// repeat, even if a machine is cloned or a backup restored. Format: docs/FORMAT.md §1.
package enum AEAD {
    package static let overhead = Sodium.nonceByteCount + Sodium.tagByteCount
    /// How many bytes at the end of sealed bytes authenticate them.
    package static let tagByteCount = Sodium.tagByteCount

    /// Seals `plaintext`, and binds it to `associatedData`, which is not part of the result.
    package static func seal<P: SealsData>(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) -> [UInt8] {
        seal(plaintext, associatedData: associatedData, under: key, nonce: .random())
    }

    /// Seals with a given nonce, to reproduce a test vector. Using a nonce twice breaks the seal.
    package static func seal<P: SealsData>(
        _ plaintext: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>,
        nonce: Nonce
    ) -> [UInt8] {
        key.withBytes { key in
            nonce.withBytes { nonce in
                Sodium.seal(plaintext, associatedData: associatedData, key: key, nonce: nonce)
            }
        }
    }

    /// Seals a part of a row, without its nonce. Not generic: a generic function costs more when
    /// another module calls it, and this runs for every item that is written.
    package static func seal(
        _ plaintext: Span<UInt8>, _ part: RowPart, associatedData: borrowing FixedFields,
        under key: borrowing AttributesSubkey
    ) -> [UInt8] {
        key.withBytes { key in seal(plaintext, part, associatedData, key) }
    }

    /// As above, under the subkey of values.
    package static func seal(
        _ plaintext: Span<UInt8>, _ part: RowPart, associatedData: borrowing FixedFields,
        under key: borrowing ValueSubkey
    ) -> [UInt8] {
        key.withBytes { key in seal(plaintext, part, associatedData, key) }
    }

    private static func seal(
        _ plaintext: Span<UInt8>, _ part: RowPart, _ associatedData: borrowing FixedFields,
        _ key: Span<UInt8>
    ) -> [UInt8] {
        associatedData.withBytes { data in
            part.nonce.withBytes { nonce in
                Sodium.sealWithoutNonce(
                    plaintext, associatedData: data, key: key, nonce: nonce)
            }
        }
    }

    /// Opens sealed bytes.
    ///
    /// - Throws: `malformed` below 40 bytes; `tampered` if
    ///   these bytes were not sealed under this key with this associated data.
    package static func open<P: SealsData>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) throws(SystemError) -> SecretBytes {
        let byteCount = try plaintextByteCount(of: sealed)
        return try SecretBytes(byteCount: byteCount) {
            (plaintext: inout MutableSpan<UInt8>) throws(SystemError) in
            try open(sealed, associatedData: associatedData, key: key, into: &plaintext)
        }
    }

    /// Opens the value of a row. Not generic, because it runs for every item that is read.
    ///
    /// - Throws: `malformed` below 16 bytes; `tampered`.
    package static func open(
        _ sealed: Span<UInt8>, _ part: RowPart, associatedData: borrowing FixedFields,
        under key: borrowing ValueSubkey
    ) throws(SystemError) -> SecretBytes {
        var plaintext = SecretBytes(byteCount: try plaintextByteCount(of: sealed, tagByteCount))
        let isOpen = plaintext.withMutableBytes { plaintext in
            key.withBytes { key in open(sealed, part, associatedData, key, into: &plaintext) }
        }
        guard isOpen else { throw SystemError.sealing(.tampered, during: .open, of: "sealed data") }
        return plaintext
    }

    private static func open(
        _ sealed: Span<UInt8>, _ part: RowPart, _ associatedData: borrowing FixedFields,
        _ key: Span<UInt8>, into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        associatedData.withBytes { data in
            part.nonce.withBytes { nonce in
                Sodium.open(
                    sealed, associatedData: data, key: key, nonce: nonce, into: &plaintext)
            }
        }
    }

    /// Opens sealed bytes into ordinary memory that is not wiped: for attributes, not for values.
    ///
    /// - Throws: As ``open(_:associatedData:under:)``.
    package static func openIntoArray<P: SealsData>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, under key: borrowing SymmetricKey<P>
    ) throws(SystemError) -> [UInt8] {
        var plaintext = [UInt8](repeating: 0, count: try plaintextByteCount(of: sealed))
        var bytes = plaintext.mutableSpan
        try open(sealed, associatedData: associatedData, key: key, into: &bytes)
        return plaintext
    }

    /// Opens the attributes of a row. Not generic, because it runs for every item that is read.
    ///
    /// - Throws: `malformed` below 16 bytes; `tampered`.
    package static func openIntoArray(
        _ sealed: Span<UInt8>, _ part: RowPart, associatedData: borrowing FixedFields,
        under key: borrowing AttributesSubkey
    ) throws(SystemError) -> [UInt8] {
        let byteCount = try plaintextByteCount(of: sealed, tagByteCount)
        var plaintext = [UInt8](repeating: 0, count: byteCount)
        var bytes = plaintext.mutableSpan
        let isOpen = key.withBytes { key in
            open(sealed, part, associatedData, key, into: &bytes)
        }
        guard isOpen else { throw SystemError.sealing(.tampered, during: .open, of: "sealed data") }
        return plaintext
    }

    private static func plaintextByteCount(
        of sealed: Span<UInt8>, _ overhead: Int = overhead
    ) throws(SystemError) -> Int {
        guard sealed.count >= overhead else {
            throw SystemError.sealing(.malformed, during: .open, of: "sealed data")
        }
        return sealed.count - overhead
    }

    private static func open<P>(
        _ sealed: Span<UInt8>, associatedData: Span<UInt8>, key: borrowing SymmetricKey<P>,
        into plaintext: inout MutableSpan<UInt8>
    ) throws(SystemError) {
        let isOpen = key.withBytes { key in
            Sodium.open(sealed, associatedData: associatedData, key: key, into: &plaintext)
        }
        guard isOpen else { throw SystemError.sealing(.tampered, during: .open, of: "sealed data") }
    }
}

/// A sealed part of a row, with its nonce. Each write of the row has one random nonce for all
/// parts; the last byte distinguishes them. Format: docs/FORMAT.md §5.2.
package struct RowPart: Sendable {
    /// The parts that are sealed under keys of the row's class.
    package enum Name: UInt8, Sendable {
        /// Part N.
        case names = 1
        /// Part V.
        case value = 2
    }

    fileprivate let nonce: Nonce

    /// A part of the row that has `nonce`.
    package init(_ name: Name, _ nonce: RowNonce) {
        var bytes = nonce.storage
        bytes[bytes.count - 1] ^= name.rawValue
        self.nonce = Nonce(bytes)
    }
}

/// Padding to a multiple of a step, so that sealed bytes reveal less about the plaintext's length.
///
/// ISO/IEC 7816-4: one byte 0x80, then zeros; there is always at least the 0x80.
package enum Padding {
    /// The length of `byteCount` bytes once padded; `step` is at least 1.
    package static func paddedByteCount(_ byteCount: Int, toMultipleOf step: Int) -> Int {
        precondition(step > 0, "padding needs a positive step")
        return (byteCount / step + 1) * step
    }

    /// Copies and pads `plaintext`. Wiping the original remains its owner's duty.
    package static func padded(_ plaintext: Span<UInt8>, toMultipleOf step: Int) -> SecretBytes {
        let byteCount = paddedByteCount(plaintext.count, toMultipleOf: step)
        return SecretBytes(byteCount: byteCount) { (bytes: inout MutableSpan<UInt8>) in
            Sodium.copy(plaintext, to: &bytes)
            bytes[plaintext.count] = 0x80
        }
    }

    /// Copies and pads a value.
    package static func padded(_ value: SecretValue, toMultipleOf step: Int) -> SecretBytes {
        let byteCount = paddedByteCount(value.byteCount, toMultipleOf: step)
        return SecretBytes(byteCount: byteCount) { (bytes: inout MutableSpan<UInt8>) in
            value.withBytes { plaintext in Sodium.copy(plaintext, to: &bytes) }
            bytes[value.byteCount] = 0x80
        }
    }

    /// Pads `plaintext` in place, for attributes.
    package static func pad(_ plaintext: inout [UInt8], toMultipleOf step: Int) {
        let byteCount = paddedByteCount(plaintext.count, toMultipleOf: step)
        plaintext.reserveCapacity(byteCount)
        plaintext.append(0x80)
        while plaintext.count < byteCount { plaintext.append(0) }
    }

    /// The length that `padded` had before it was padded.
    ///
    /// For plaintexts that have been authenticated: the running time reveals where the padding
    /// starts.
    /// - Throws: `malformed` if this is not padded to a multiple of `step`.
    package static func unpaddedByteCount(
        _ padded: Span<UInt8>, step: Int
    ) throws(SystemError) -> Int {
        guard step > 0, !padded.isEmpty, padded.count % step == 0 else { throw malformed }
        let first = padded.count - step
        var index = padded.count - 1
        while index > first, padded[index] == 0 { index -= 1 }
        guard padded[index] == 0x80 else { throw malformed }
        return index
    }

    private static var malformed: SystemError {
        SystemError.sealing(.malformed, during: .unpad, of: "plaintext")
    }
}
