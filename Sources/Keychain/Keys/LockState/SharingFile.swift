// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The values that a sharing key is bound to, in addition to the mark of its scope: keychain, run
/// of the machine, and user.
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
        hash.append(scope.rawValue)
        hash.append(mark)
        hash.append(bootID)
        hash.append(user)
        return hash
    }

    /// The id that shows that `key` was made under `mark`.
    func sharingID(_ key: borrowing SharingKey, _ scope: KeyScope, _ mark: LockMark) -> SharingID {
        SharingID(truncating: hash(key, .sharingID, scope, mark).finish())
    }

    /// The key that seals the payload of `scope` under `mark`.
    func payloadKey(
        _ key: borrowing SharingKey, _ scope: KeyScope, _ mark: LockMark
    ) -> SharedPayloadKey {
        hash(key, .sharing, scope, mark).derive()
    }
}

/// The entry of one scope in a sharing file: the serial number of the kernel's key that holds the
/// payload, and the sharing key that opens the payload.
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

    /// The entry of `scope`; nil if it is empty.
    subscript(scope: KeyScope) -> SharingEntry? { entries[scope] }

    /// Parses a sharing file; nil unless it belongs to this keychain and this run of the machine.
    init?(parsing bytes: Span<UInt8>, of binding: SharingBinding) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.head(binding)) else {
            return nil
        }
        for scope in KeyScope.allCases {
            let range = Self.range(of: scope)
            let entry = bytes.extracting(range)
            // An empty entry.
            guard entry.indices.contains(where: { entry[$0] != 0 }) else { continue }
            guard let parsed = Self.entry(entry) else { return nil }
            entries[scope] = parsed
        }
    }

    /// The range of the entry of `scope` in the file.
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

    /// The bytes for ``init(parsing:of:)``.
    func encoded(for binding: SharingBinding) -> SecretBytes {
        var writer = SecretWriter(byteCount: Self.byteCount, for: .keys)
        writer.append(Self.head(binding))
        for scope in [KeyScope.afterFirstUnlock, .whileUnlocked] {
            guard let entry = entries[scope] else {
                writer.skip(Self.entryByteCount)
                continue
            }
            writer.append(UInt32(bitPattern: entry.serial.rawValue))
            writer.append(entry.key)
            writer.append(entry.id)
        }
        return writer.finish()
    }
}

/// An open sharing file and its contents.
struct OpenSharingFile: Sendable {
    private let file: OpenFile
    /// Nil unless the file belongs to this keychain and this run of the machine.
    let contents: SharingContents?
    /// Whether the file is in memory, and not on a disk.
    let isInMemory: Bool

    init(_ file: OpenFile, _ contents: SharingContents, isInMemory: Bool) {
        self.file = file
        self.contents = contents
        self.isInMemory = isInMemory
    }

    /// - Throws: ``KeychainFailure``: `inputOutput` if the file cannot be read.
    init(
        _ file: OpenFile, of binding: SharingBinding, isInMemory: Bool
    ) throws(KeychainFailure) {
        self.file = file
        self.isInMemory = isInMemory
        // One byte more than a valid file has: if it is filled, the file is too long.
        var bytes = SecretBytes(byteCount: SharingContents.byteCount + 1, for: .keys)
        do {
            let count = try bytes.withMutableBytes { (bytes) throws(SystemError) in
                try file.read(into: &bytes)
            }
            contents = bytes.withBytes { bytes in
                SharingContents(parsing: bytes.extracting(first: count), of: binding)
            }
        } catch {
            throw KeychainFailure(error, during: LockStateOperation.readSharingFile.rawValue)
        }
    }

    /// The serial numbers of the kernel's keys that it names.
    var serials: [KeySerial] { KeyScope.allCases.compactMap { contents?[$0]?.serial } }

    func namesSameKeys(as other: OpenSharingFile) -> Bool {
        KeyScope.allCases.allSatisfy { scope in
            contents?[scope]?.serial == other.contents?[scope]?.serial
                && contents?[scope]?.id == other.contents?[scope]?.id
        }
    }

    /// Overwrites the entries of `scopes` with zeros in the open file, even an unlinked one.
    func empty(_ scopes: [KeyScope]) throws(SystemError) {
        for scope in scopes {
            let range = SharingContents.range(of: scope)
            try file.writeZeros(byteCount: range.count, at: range.lowerBound)
        }
    }

    /// Brings the emptied entries to disk.
    func sync() throws(SystemError) { try file.sync() }
}

/// Where the sharing files of one keychain are: docs/FORMAT.md §10.3.
package struct SharingPlaces: Hashable, Sendable {
    /// The folder of the database and of the page with the marks.
    package let folder: String
    /// The folder of the device key, for sharing files if there is no runtime folder.
    package let deviceFolder: String
    /// The parent of the users' runtime folders.
    let runtimeRoot: String

    /// - Parameter runtimeRoot: Tests pass another one than the system's.
    package init(folder: String, deviceFolder: String, runtimeRoot: String = "/run/user") {
        self.folder = folder
        self.deviceFolder = deviceFolder
        self.runtimeRoot = runtimeRoot
    }

    static let filePrefix = "sharing."

    static func fileName(of keychainID: KeychainID) -> String { filePrefix + "\(keychainID)" }

    struct Place: Sendable {
        let directory: PrivateDirectory
        /// Whether the folder is in memory, and gone with this run of the machine.
        let isInMemory: Bool
    }

    /// The usable folders, the preferred one first. A folder that other users can enter is
    /// unusable.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if a folder cannot be examined.
    private func places() throws(KeychainFailure) -> [Place] {
        var found: [Place] = []
        for isInMemory in [true, false] {
            if let place = try place(inMemory: isInMemory, making: false) { found.append(place) }
        }
        return found
    }

    /// One of the two folders; nil if it does not exist, or other users can enter it.
    ///
    /// - Parameter making: Whether a missing folder is made.
    /// - Throws: ``KeychainFailure``: `inputOutput` if it cannot be examined.
    func place(inMemory: Bool, making: Bool) throws(KeychainFailure) -> Place? {
        var path = deviceFolder
        if inMemory {
            let runtime = "\(runtimeRoot)/\(geteuid())"
            // The system makes the user's runtime folder; this library never does.
            guard try Self.directory(runtime, making: false, mustBeInMemory: true) != nil else {
                return nil
            }
            path = runtime + "/valet"
        }
        return try Self.directory(path, making: making, mustBeInMemory: inMemory).map {
            Place(directory: $0, isInMemory: inMemory)
        }
    }

    private static func directory(
        _ path: String, making: Bool, mustBeInMemory: Bool
    ) throws(KeychainFailure) -> PrivateDirectory? {
        do {
            return try PrivateDirectory.open(path, creating: making) {
                (descriptor, path) throws(SystemError) in
                let facts = try FileSystem.kernel(descriptor, path)
                guard !mustBeInMemory || facts.isInMemory else {
                    throw SystemError(
                        .unsupportedFileSystem, during: "look for opened keys", path: path)
                }
                return facts
            }
        } catch {
            guard error.isTransient else { return nil }
            throw KeychainFailure(error, during: LockStateOperation.readSharingFile.rawValue)
        }
    }

    /// The sharing files of a keychain, the preferred one first.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput` if one cannot be read.
    func files(
        of binding: SharingBinding, for access: OpenFile.Access
    ) throws(KeychainFailure) -> [OpenSharingFile] {
        var files: [OpenSharingFile] = []
        for place in try places() {
            if let file = try Self.file(of: binding, in: place, for: access) { files.append(file) }
        }
        return files
    }

    /// The sharing files of a keychain that can be opened, to remove keys.
    func changeableFiles(of binding: SharingBinding) -> [OpenSharingFile] {
        ((try? places()) ?? []).compactMap { place in
            (try? Self.file(of: binding, in: place, for: .changing)) ?? nil
        }
    }

    private static func file(
        of binding: SharingBinding, in place: Place, for access: OpenFile.Access
    ) throws(KeychainFailure) -> OpenSharingFile? {
        let held: OpenFile?
        do {
            held = try OpenFile.open(
                fileName(of: binding.keychainID), in: place.directory, for: access)
        } catch {
            // A file that other users can change counts as missing.
            guard error.isTransient else { return nil }
            throw KeychainFailure(error, during: LockStateOperation.readSharingFile.rawValue)
        }
        guard let held else { return nil }
        return try OpenSharingFile(held, of: binding, isInMemory: place.isInMemory)
    }

    /// Removes unfinished sharing files of a keychain, which killed programs left.
    func removeLeftovers(of keychainID: KeychainID) {
        guard let places = try? places() else { return }
        let prefix = PrivateDirectory.temporaryPrefix(Self.fileName(of: keychainID))
        for place in places {
            for name in (try? place.directory.names()) ?? [] where name.hasPrefix(prefix) {
                let file = try? OpenFile.open(name, in: place.directory, for: .changing)
                try? file?.writeZeros(byteCount: SharingContents.byteCount)
                try? place.directory.remove(name)
            }
        }
    }

    /// Overwrites the entries of `scopes` in the sharing files of every keychain.
    ///
    /// - Returns: The serial numbers of the kernel's keys that these entries named.
    func emptyEveryFile(_ scopes: [KeyScope]) -> [KeySerial] {
        guard let bootID = BootID.current else { return [] }
        var serials: [KeySerial] = []
        for place in (try? places()) ?? [] {
            for name in (try? place.directory.names()) ?? [] where name.hasPrefix(Self.filePrefix) {
                guard let keychainID = KeychainID(digits: name.dropFirst(Self.filePrefix.count))
                else { continue }
                let binding = SharingBinding(
                    keychainID: keychainID, bootID: bootID, user: geteuid())
                guard let file = try? Self.file(of: binding, in: place, for: .changing) else {
                    continue
                }
                serials += scopes.compactMap { file.contents?[$0]?.serial }
                try? file.empty(scopes)
                if !place.isInMemory { try? file.sync() }
            }
        }
        return serials
    }
}
