// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
package import ValetSystem

/// A secret that only one TPM can unseal, in the form that a keybag stores.
///
/// Format: docs/FORMAT.md §4.2, records 0x0120 and 0x0121.
package struct SealedObject: Hashable, Sendable {
    /// TPM2B_PUBLIC.
    let publicArea: [UInt8]
    /// TPM2B_PRIVATE.
    let privateArea: [UInt8]
    /// The Name of its parent key: algorithm and SHA-256, 34 bytes.
    let storageRootKeyName: [UInt8]
    package let pcrs: PCRSelection

    /// The most bytes of each area, without its length: far above what tpm2-tss makes.
    private static let maximalByteCount = 1024

    /// `LP(public) LP(private) LP(name of the storage root key) LP(PCR selection)`.
    package var bytes: [UInt8] {
        var parts = LengthPrefixed(reservingByteCount: 512)
        parts.append(publicArea)
        parts.append(privateArea)
        parts.append(storageRootKeyName)
        parts.append(pcrs.bytes)
        return parts.bytes
    }

    init(
        publicArea: [UInt8], privateArea: [UInt8], storageRootKeyName: [UInt8],
        pcrs: PCRSelection
    ) {
        self.publicArea = publicArea
        self.privateArea = privateArea
        self.storageRootKeyName = storageRootKeyName
        self.pcrs = pcrs
    }

    /// Parses ``bytes``. The TPM checks the content of the areas when it loads them.
    ///
    /// - Throws: ``SystemError/Code/malformed``.
    package init(parsing bytes: [UInt8]) throws(SystemError) {
        let malformed = SystemError.tpm(.malformed, during: "read an object of the TPM")
        var reader = ByteReader(bytes, malformed: malformed)
        publicArea = try Self.area(&reader)
        privateArea = try Self.area(&reader)
        storageRootKeyName = try Self.part(&reader)
        guard storageRootKeyName.count == 34, storageRootKeyName.starts(with: [0, 0x0b]) else {
            throw malformed
        }
        pcrs = try PCRSelection(parsing: Self.part(&reader), malformed: malformed)
        guard reader.isAtEnd else { throw malformed }
    }

    private static func part(_ reader: inout ByteReader<SystemError>) throws(SystemError) -> [UInt8]
    {
        let count = try reader.integer(UInt32.self)
        guard count <= maximalByteCount + 2 else { throw reader.malformed }
        return try reader.bytes(Int(count))
    }

    /// A part that begins with the length of the rest of it, in two bytes.
    private static func area(_ reader: inout ByteReader<SystemError>) throws(SystemError) -> [UInt8]
    {
        let part = try part(&reader)
        guard part.count > 2, Int(part[0]) << 8 | Int(part[1]) == part.count - 2 else {
            throw reader.malformed
        }
        return part
    }
}

/// The platform configuration registers, all of the SHA-256 bank, that an object is bound to.
package struct PCRSelection: Hashable, Sendable {
    /// Bit n is register n, of 24.
    let bits: UInt32

    /// No register: the object does not depend on how the machine was started.
    package static var none: PCRSelection { PCRSelection(bits: 0) }

    private init(bits: UInt32) { self.bits = bits }

    /// The registers with these numbers; nil for a number above 23.
    package init?(_ numbers: [Int]) {
        guard numbers.allSatisfy({ (0..<24).contains($0) }) else { return nil }
        bits = numbers.reduce(0) { $0 | 1 << UInt32($1) }
    }

    package var isEmpty: Bool { bits == 0 }

    /// The numbers, rising.
    package var numbers: [Int] { (0..<24).filter { bits >> UInt32($0) & 1 == 1 } }

    /// Nothing, or a TPML_PCR_SELECTION with one bank, 10 bytes: docs/FORMAT.md §4.2.
    var bytes: [UInt8] {
        guard !isEmpty else { return [] }
        return Self.prefix + (0..<3).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }

    /// One bank, SHA-256, three bytes of bits.
    private static let prefix: [UInt8] = [0, 0, 0, 1, 0, 0x0b, 3]

    /// - Throws: ``SystemError/Code/malformed`` for any other bytes than ``bytes`` gives.
    init(parsing bytes: [UInt8], malformed: SystemError) throws(SystemError) {
        guard !bytes.isEmpty else {
            bits = 0
            return
        }
        guard bytes.count == 10, bytes.starts(with: Self.prefix) else { throw malformed }
        bits = (0..<3).reduce(0) { $0 | UInt32(bytes[7 + $1]) << UInt32(8 * $1) }
        guard bits != 0 else { throw malformed }
    }
}
