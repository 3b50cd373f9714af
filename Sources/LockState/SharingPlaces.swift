// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeybag
internal import ValetSealing
internal import ValetSystem

/// Where the keys that open the payloads of one keychain lie: docs/FORMAT.md §10.3.
package struct SharingPlaces: Hashable, Sendable {
    /// The folder of the database, which has the page with the marks.
    package let folder: String
    /// The folder of the device key, for sharing files where there is no runtime folder.
    package let deviceFolder: String
    /// Where the runtime folders of users are.
    let runtimeRoot: String

    /// - Parameter runtimeRoot: Another one than the system's, for tests.
    package init(folder: String, deviceFolder: String, runtimeRoot: String = "/run/user") {
        self.folder = folder
        self.deviceFolder = deviceFolder
        self.runtimeRoot = runtimeRoot
    }

    static let filePrefix = "sharing."

    static func fileName(of keychainID: KeychainID) -> String { filePrefix + "\(keychainID)" }

    /// A folder that sharing files may lie in.
    struct Place: Sendable {
        let directory: PrivateDirectory
        /// Whether the folder is in memory, and gone with this run of the machine.
        let isInMemory: Bool
    }

    /// The places that there are, the preferred one first. What is not the user's alone is none.
    ///
    /// - Throws: ``LockStateError/Code/other`` if it cannot be told whether one is there.
    private func places() throws(LockStateError) -> [Place] {
        var found: [Place] = []
        for isInMemory in [true, false] {
            if let place = try place(inMemory: isInMemory, making: false) { found.append(place) }
        }
        return found
    }

    /// One of the two places; nil if it is not there, or is not the user's alone.
    ///
    /// - Parameter making: Whether a missing folder is made.
    /// - Throws: ``LockStateError/Code/other`` if it cannot be told whether it is there.
    func place(inMemory: Bool, making: Bool) throws(LockStateError) -> Place? {
        var path = deviceFolder
        if inMemory {
            let runtime = "\(runtimeRoot)/\(geteuid())"
            // The user's runtime folder is made by the system, never by us.
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
    ) throws(LockStateError) -> PrivateDirectory? {
        do throws(SystemError) {
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
            throw LockStateError(error, during: .readSharingFile)
        }
    }

    /// The sharing files of a keychain, the preferred one first.
    ///
    /// - Throws: ``LockStateError/Code/other`` if one cannot be read.
    func files(
        of binding: SharingBinding, for access: HeldFile.Access
    ) throws(LockStateError) -> [OpenSharingFile] {
        var files: [OpenSharingFile] = []
        for place in try places() {
            if let file = try Self.file(of: binding, in: place, for: access) { files.append(file) }
        }
        return files
    }

    /// The sharing files of a keychain that can be had, for taking keys away.
    func changeableFiles(of binding: SharingBinding) -> [OpenSharingFile] {
        ((try? places()) ?? []).compactMap { place in
            (try? Self.file(of: binding, in: place, for: .changing)) ?? nil
        }
    }

    private static func file(
        of binding: SharingBinding, in place: Place, for access: HeldFile.Access
    ) throws(LockStateError) -> OpenSharingFile? {
        let held: HeldFile?
        do throws(SystemError) {
            held = try HeldFile.open(
                fileName(of: binding.keychainID), in: place.directory, for: access)
        } catch {
            // What others could have changed counts as none.
            guard error.isTransient else { return nil }
            throw LockStateError(error, during: .readSharingFile)
        }
        guard let held else { return nil }
        return try OpenSharingFile(held, of: binding, isInMemory: place.isInMemory)
    }

    /// Removes what killed programs left of sharing files of a keychain that they were making.
    func removeLeftovers(of keychainID: KeychainID) {
        guard let places = try? places() else { return }
        let prefix = PrivateDirectory.temporaryPrefix(Self.fileName(of: keychainID))
        for place in places {
            for name in (try? place.directory.names()) ?? [] where name.hasPrefix(prefix) {
                let file = try? HeldFile.open(name, in: place.directory, for: .changing)
                try? file?.writeZeros(byteCount: SharingContents.byteCount)
                try? place.directory.remove(name)
            }
        }
    }

    /// Overwrites the entries of `scopes` in the sharing files of every keychain.
    ///
    /// - Returns: The keys of the kernel that they named.
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

extension FixedBytes where byteCount == 16 {
    /// The id that 32 hexadecimal digits name; nil for anything else.
    init?(digits: some StringProtocol) {
        let values = digits.utf8.compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard values.count == 32, digits.utf8.count == 32 else { return nil }
        self.init(InlineArray { values[2 * $0] << 4 | values[2 * $0 + 1] })
    }
}
