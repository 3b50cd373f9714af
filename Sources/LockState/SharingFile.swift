// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeybag
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// What sharing keys are bound to beside the mark of their scope: the keychain, this run of the
/// machine, and the user.
struct SharingBinding: Sendable {
    let keychainID: KeychainID
    let bootID: BootID
    let user: UInt32

    /// The hash that docs/FORMAT.md §10.2 calls `B`.
    fileprivate func hash(
        _ key: borrowing SharingKey, _ context: DerivationContext, _ scope: KeyScope,
        _ mark: LockMark
    ) -> KeyedHash {
        var hash = KeyedHash(key, context)
        hash.append(keychainID)
        hash.append(scope.tag)
        hash.append(mark)
        hash.append(bootID)
        hash.append(user)
        return hash
    }

    /// What tells that `key` was made under `mark`.
    func sharingID(_ key: borrowing SharingKey, _ scope: KeyScope, _ mark: LockMark) -> SharingID {
        SharingID(truncating: hash(key, .sharingID, scope, mark).finish())
    }

    /// What seals the payload of `scope` under `mark`.
    func payloadKey(
        _ key: borrowing SharingKey, _ scope: KeyScope, _ mark: LockMark
    ) -> SharedPayloadKey {
        hash(key, .sharing, scope, mark).derive()
    }
}

/// What a sharing file says of one scope: which key of the kernel has the payload, and what opens
/// it.
final class SharingEntry: Sendable {
    let serial: KeySerial
    let key: SharingKey
    let id: SharingID

    init(serial: KeySerial, key: consuming SharingKey, id: SharingID) {
        self.serial = serial
        self.key = key
        self.id = id
    }
}

/// The bytes of a sharing file, `sharing.<keychain>`: docs/FORMAT.md §10.2.
struct SharingContents: Sendable {
    static let byteCount = 146
    static let magic = Array("VALETSHR".utf8)
    static let version: UInt16 = 1
    private static let headByteCount = 42
    private static let entryByteCount = 52

    private var entries: [KeyScope: SharingEntry] = [:]

    init(_ entries: [KeyScope: SharingEntry]) { self.entries = entries }

    /// The entry of `scope`, if there is one.
    subscript(scope: KeyScope) -> SharingEntry? { entries[scope] }

    /// Parses a sharing file; nil unless it is one of this keychain and this run of the machine.
    init?(parsing bytes: Span<UInt8>, of binding: SharingBinding) {
        guard bytes.count == Self.byteCount else { return nil }
        let head = Self.head(binding)
        for index in head.indices where bytes[index] != head[index] { return nil }
        for scope in KeyScope.allCases {
            let range = Self.range(of: scope)
            let entry = bytes.extracting(range)
            // An empty place.
            guard entry.indices.contains(where: { entry[$0] != 0 }) else { continue }
            guard let parsed = Self.entry(entry) else { return nil }
            entries[scope] = parsed
        }
    }

    /// Where the entry of `scope` is in the file.
    static func range(of scope: KeyScope) -> Range<Int> {
        let start = headByteCount + (scope == .afterFirstUnlock ? 0 : entryByteCount)
        return start..<(start + entryByteCount)
    }

    private static func entry(_ bytes: Span<UInt8>) -> SharingEntry? {
        let number = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[$1]) }
        guard let serial = Int32(exactly: number), serial > 0,
            let key = try? SharingKey(copying: bytes.extracting(4..<36)),
            let id = try? SharingID(copying: bytes.extracting(36..<52))
        else { return nil }
        return SharingEntry(serial: KeySerial(rawValue: serial), key: key, id: id)
    }

    private static func head(_ binding: SharingBinding) -> [UInt8] {
        var head = magic
        head.append(bigEndian: version)
        return head + binding.keychainID.bytes + binding.bootID.bytes
    }

    /// The bytes that ``init(parsing:of:)`` takes.
    func encoded(for binding: SharingBinding) -> SecretBytes {
        SecretBytes(byteCount: Self.byteCount, for: .keys) { (bytes: inout MutableSpan<UInt8>) in
            var writer = PayloadWriter()
            for byte in Self.head(binding) { writer.write(byte, to: &bytes) }
            for scope in [KeyScope.afterFirstUnlock, .whileUnlocked] {
                guard let entry = entries[scope] else {
                    // It starts as zeros.
                    writer.skip(Self.entryByteCount)
                    continue
                }
                writer.write(UInt32(bitPattern: entry.serial.rawValue), to: &bytes)
                writer.write(entry.key, to: &bytes)
                writer.write(entry.id, to: &bytes)
            }
        }
    }
}

/// An open sharing file, and what was in it.
struct OpenSharingFile: Sendable {
    private let file: HeldFile
    /// Nil unless they are those of a sharing file of this keychain and this run of the machine.
    let contents: SharingContents?
    /// Whether it lies in memory, and not on a disk.
    let isInMemory: Bool

    /// Takes a file that `contents` were written to.
    init(_ file: HeldFile, _ contents: SharingContents, isInMemory: Bool) {
        self.file = file
        self.contents = contents
        self.isInMemory = isInMemory
    }

    /// - Throws: ``LockStateError/Code/other`` if the file cannot be read.
    init(
        _ file: HeldFile, of binding: SharingBinding, isInMemory: Bool
    ) throws(LockStateError) {
        self.file = file
        self.isInMemory = isInMemory
        // One byte more than there may be: that it is filled tells that the file is too long.
        var bytes = SecretBytes(byteCount: SharingContents.byteCount + 1, for: .keys)
        do throws(SystemError) {
            let count = try bytes.withMutableBytes { (bytes) throws(SystemError) in
                try file.read(into: &bytes)
            }
            contents = bytes.withBytes { bytes in
                SharingContents(parsing: bytes.extracting(first: count), of: binding)
            }
        } catch {
            throw LockStateError(error, during: .readSharingFile)
        }
    }

    /// Whether both name the same keys.
    func namesSameKeys(as other: OpenSharingFile) -> Bool {
        KeyScope.allCases.allSatisfy { scope in
            contents?[scope]?.serial == other.contents?[scope]?.serial
                && contents?[scope]?.id == other.contents?[scope]?.id
        }
    }

    /// Overwrites the entries of `scopes` with zeros, in this file whatever its name is by now.
    func empty(_ scopes: [KeyScope]) throws(SystemError) {
        for scope in scopes {
            let range = SharingContents.range(of: scope)
            try file.writeZeros(byteCount: range.count, at: range.lowerBound)
        }
    }

    /// Puts what was emptied on disk.
    func sync() throws(SystemError) { try file.sync() }
}
