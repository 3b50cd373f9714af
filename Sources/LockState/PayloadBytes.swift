// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing

/// Names and contents of the payload of each scope: docs/FORMAT.md §10.4.
extension KeyScope {
    /// The classes whose keys a payload of this scope can have, in the order of their numbers.
    var classes: [ProtectionClass] { ProtectionClass.allCases.filter { $0.scope == self } }

    /// The classes whose keys a payload must have: the first ones. Recovery opens no key of the
    /// class that needs a passcode.
    var requiredClasses: [ProtectionClass] {
        classes.filter { $0 != .whenPasscodeSetThisDeviceOnly }
    }

    /// The prefixes of the names of a keychain's payloads, or of all keychains'. The second prefix
    /// belongs to an earlier form, whose payloads are only removed.
    static func namePrefixes(of keychainID: KeychainID?) -> [String] {
        ["valet:2:", "valet:1:"].map { prefix in keychainID.map { "\(prefix)\($0):" } ?? prefix }
    }

    /// A new name for a payload in the kernel. It proves nothing. It is random, so that no payload
    /// replaces another.
    func randomName(of keychainID: KeychainID) -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let padding = String(repeating: "0", count: 16 - digits.count)
        return "valet:2:\(keychainID):\(Character(Unicode.Scalar(rawValue))):\(padding)\(digits)"
    }

    /// Whether a payload of this scope has this name.
    func isNamed(by name: String) -> Bool {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count >= 4 && parts[3] == String(Character(Unicode.Scalar(rawValue)))
    }
}

/// Writes one value after another into guarded memory, big endian.
struct PayloadWriter {
    private(set) var position = 0

    /// Skips `count` bytes.
    mutating func skip(_ count: Int) { position += count }

    mutating func write<let byteCount: Int, Name>(
        _ name: FixedBytes<byteCount, Name>, to target: inout MutableSpan<UInt8>
    ) {
        for byte in name.bytes { write(byte, to: &target) }
    }

    mutating func write<P>(_ key: borrowing SymmetricKey<P>, to target: inout MutableSpan<UInt8>) {
        let start = position
        key.withBytes { bytes in
            for index in bytes.indices { target[start + index] = bytes[index] }
        }
        position += SymmetricKey<P>.byteCount
    }

    /// A flag, and the key if there is one.
    mutating func write<P>(
        optional key: borrowing SymmetricKey<P>?, to target: inout MutableSpan<UInt8>
    ) {
        switch key {
        case .some(let key):
            write(UInt8(1), to: &target)
            write(key, to: &target)
        case .none: write(UInt8(0), to: &target)
        }
    }

    /// The number of bytes of an optional key.
    static func byteCount<P>(of key: borrowing SymmetricKey<P>?) -> Int {
        key == nil ? 1 : 1 + SymmetricKey<P>.byteCount
    }

    mutating func write(
        _ number: some FixedWidthInteger & UnsignedInteger, to target: inout MutableSpan<UInt8>
    ) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            target[position] = UInt8(truncatingIfNeeded: number >> shift)
            position += 1
        }
    }
}

/// Reads values from the front of bytes of any form. The bytes are secret and only lent, so each
/// call takes them; the reader stores only its position.
struct PayloadReader {
    private var position = 0
    /// Where to stop.
    private let end: Int

    init(end: Int) { self.end = end }

    var isAtEnd: Bool { position == end }

    /// The range of the next `count` bytes.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` if there are fewer.
    mutating func next(_ count: Int) throws(LockStateError) -> Range<Int> {
        guard count <= end - position else {
            throw LockStateError(.malformed, during: .parse)
        }
        defer { position += count }
        return position..<(position + count)
    }

    /// The next big-endian number.
    mutating func integer<T: FixedWidthInteger & UnsignedInteger>(
        of bytes: Span<UInt8>, as type: T.Type = T.self
    ) throws(LockStateError) -> T {
        var number: T = 0
        for index in try next(T.bitWidth / 8) {
            number = T(truncatingIfNeeded: UInt64(number) << 8) | T(bytes[index])
        }
        return number
    }

    /// The next flag, and the key after it if there is one.
    mutating func optionalKey<P>(
        of bytes: Span<UInt8>
    ) throws(LockStateError) -> SymmetricKey<P>? {
        switch try integer(of: bytes, as: UInt8.self) {
        case 0: return nil
        case 1:
            let place = try next(SymmetricKey<P>.byteCount)
            return try SymmetricKey<P>(payload: bytes.extracting(place))
        default: throw LockStateError(.malformed, during: .parse)
        }
    }
}

extension SymmetricKey {
    /// Copies a key from a payload.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` unless there are 32 bytes.
    init(payload bytes: Span<UInt8>) throws(LockStateError) {
        do throws(SealingError) {
            try self.init(copying: bytes)
        } catch {
            throw LockStateError(.malformed, during: .parse)
        }
    }
}

extension FixedBytes {
    /// Copies an id or digest from a payload.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` for another number of bytes.
    init(payload bytes: Span<UInt8>) throws(LockStateError) {
        do throws(SealingError) {
            try self.init(copying: bytes)
        } catch {
            throw LockStateError(.malformed, during: .parse)
        }
    }
}
