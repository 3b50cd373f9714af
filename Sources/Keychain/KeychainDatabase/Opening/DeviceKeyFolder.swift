// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// The folder of the device keys, from the view of one keychain: docs/FORMAT.md §4.4. The end of an
/// key change tidies it, and `valet doctor` examines it.
///
/// Other keychains of the user may also keep their device keys in it.
package struct DeviceKeyFolder {
    /// The kinds of files whose names begin with `device.key`.
    package enum Entry: Hashable {
        /// The device key that the keybag of this keychain names.
        case inUse(KeyID)
        /// Another device key of this keychain: of a former epoch, or of a newer copy.
        case other(KeyID)
        /// The remains of a device key whose writing or erasing was interrupted.
        case remnant
        /// The device key of another keychain.
        case foreign(KeychainID)
        /// Another file, and the reason why it is not a device key.
        case strange(String)
    }

    private static let usual = KeychainFile.deviceKey

    let folder: PrivateDirectory
    /// The keychain whose device keys this looks for.
    package let keychainID: KeychainID
    /// The id of the device key that its keybag names.
    let keyID: KeyID

    /// The folder of `keychain`, which `header` describes; nil if it does not exist.
    ///
    /// - Throws: ``SystemError``: as ``PrivateDirectory/open(_:creating:fileSystem:)``.
    package init?(_ keychain: OpenKeychain, _ header: KeychainHeader) throws(SystemError) {
        do {
            folder = try keychain.location.openDeviceFolder(
                of: keychain.directory, creating: false)
        } catch {
            guard error.code == .missing else { throw error }
            return nil
        }
        keychainID = header.settings.keychainID
        keyID = header.keybag.deviceKeyID
    }

    /// The names of all files that are, or look like, device keys.
    ///
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput`.
    package func names() throws(SystemError) -> [String] {
        try folder.names().filter { $0 == Self.usual || $0.hasPrefix(Self.usual + ".") }
    }

    /// The path of the file `name`.
    package func path(of name: String) -> String { folder.path(of: name) }

    /// Whether the device key with this id is at one of the places where unlocking looks for it.
    ///
    /// - Throws: As ``entry(_:)``.
    package func hasKey(_ keyID: KeyID) throws(SystemError) -> Bool {
        for name in [Self.usual, DeviceSecretSource.name(ofKey: keyID)] {
            if try entry(name) == .inUse(keyID) { return true }
        }
        return false
    }

    /// Whether this library creates files of this name: `device.key`, `device.key.<id>`, and the
    /// temporary names of both.
    package static func isOurs(_ name: String) -> Bool {
        guard name == usual || name.hasPrefix(usual + ".") else { return false }
        let parts = name.dropFirst(usual.count + 1)
            .split(separator: ".", omittingEmptySubsequences: false)
        switch parts.count {
        case 0: return true
        case 1: return name == usual || isKeyID(parts[0]) || isTemporary(parts[0])
        case 2: return isKeyID(parts[0]) && isTemporary(parts[1])
        default: return false
        }
    }

    /// Whether this is the name `device.key.<id>`.
    static func isOfKeyChange(_ name: String) -> Bool {
        name.hasPrefix(usual + ".") && isKeyID(name.dropFirst(usual.count + 1))
    }

    private static func isKeyID(_ part: Substring) -> Bool {
        part.utf8.count == 2 * KeyID.byteCount && part.utf8.allSatisfy(isDigit)
    }

    private static func isTemporary(_ part: Substring) -> Bool {
        let digits = part.dropFirst(PrivateDirectory.temporaryMark.count)
        return part.hasPrefix(PrivateDirectory.temporaryMark) && !digits.isEmpty
            && digits.utf8.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// The kind of the file `name`; nil if there is no such file.
    ///
    /// - Throws: ``SystemError`` if the file cannot be examined now, such as `inputOutput`, or
    ///   `cannotOpen` if too many files are open: then the caller must draw no conclusion.
    package func entry(_ name: String) throws(SystemError) -> Entry? {
        do {
            return try folder.withContents(of: name, maxByteCount: DeviceKeyFile.byteCount) {
                entry(name, $0)
            }
        } catch {
            switch error.code {
            case .missing: return nil
            case .tooLarge: return .strange(DeviceKeyFile.malformed.message)
            case .wrongOwner, .wrongMode, .symbolicLink, .notARegularFile:
                // A second check shows that the fault is not a momentary one.
                return try refusal(name, error)
            case .cannotOpen where error.isDenied: return .strange("it cannot be opened")
            default: throw error
            }
        }
    }

    private func refusal(
        _ name: String, _ first: SystemError
    ) throws(SystemError) -> Entry? {
        do {
            guard try folder.check(file: name) != nil else { return nil }
        } catch {
            guard error.code == first.code else { throw error }
            return .strange(KeychainFailure(error, during: "examine a file").message)
        }
        throw first
    }

    private func entry(_ name: String, _ bytes: Span<UInt8>) -> Entry {
        do {
            let file = try DeviceKeyFile(parsing: bytes)
            let (owner, id) = (file.keychainID, file.secret.id)
            guard let owner, owner != keychainID else {
                return id == keyID ? .inUse(id) : .other(id)
            }
            return .foreign(owner)
        } catch {
            guard !isRemnant(name, bytes) else { return .remnant }
            return .strange(error.message)
        }
    }

    /// Whether the file is what an interrupted erasure leaves, all zeros, or what an interrupted
    /// write leaves, the start of a device key.
    private func isRemnant(_ name: String, _ bytes: Span<UInt8>) -> Bool {
        if bytes.indices.allSatisfy({ bytes[$0] == 0 }) { return true }
        guard name.hasPart("." + PrivateDirectory.temporaryMark),
            bytes.count < DeviceKeyFile.byteCount
        else { return false }
        let start = DeviceKeyFile.start(of: keychainID)
        return (0..<min(start.count, bytes.count)).allSatisfy { bytes[$0] == start[$0] }
    }
}

extension SystemError {
    /// Whether the kernel denied access, which a later try would not change.
    var isDenied: Bool { systemError == EACCES || systemError == EPERM }
}

/// The end of a key change, for device keys: docs/FORMAT.md §4.4, step 5.
extension DeviceKeyFolder {
    /// Gives the device key in use its usual name, unless a foreign file has that name. Then erases
    /// the device keys that it has replaced. Others of this keychain stay: they may be those of a
    /// newer copy.
    ///
    /// The caller holds the writers' lock.
    /// - Parameters:
    ///   - keybag: The keybag of the keychain.
    ///   - former: The ids of the device keys to erase.
    /// - Throws: ``KeychainFailure``: `incomplete` if the device key in use cannot be found:
    ///   then nothing is erased; `inputOutput` for a key that cannot be erased: the others are.
    func tidy(_ keybag: LockedKeybag, erasing former: [KeyID]) throws(KeychainFailure) {
        // Files of these names are never erased, whatever they contain.
        var kept = [DeviceSecretSource.name(ofKey: keybag.deviceKeyID)]
        if keybag.deviceSource == .ownFile { kept.append(try putInPlace(keybag.deviceKeyID)) }
        try translating(erase(former, but: kept), during: OldKeyErasure.erasing)
    }

    private func erase(_ former: [KeyID], but kept: [String]) throws(SystemError) {
        var refusal: SystemError?
        for name in try names() where Self.isOurs(name) && !kept.contains(name) {
            switch try entry(name) {
            case .other(let id): guard former.contains(id) else { continue }
            case .remnant: break
            case .inUse, .foreign, .strange, nil: continue
            }
            do throws(SystemError) {
                try folder.overwriteAndRemove(name)
            } catch {
                if error.code != .missing { refusal = error }
            }
        }
        if let refusal { throw refusal }
    }

    /// - Returns: The name that the file of the device key has after the call.
    private func putInPlace(_ keyID: KeyID) throws(KeychainFailure) -> String {
        let usual = KeychainFile.deviceKey
        let own = DeviceSecretSource.name(ofKey: keyID)
        let inPlace = try translating(entry(usual), during: OldKeyErasure.erasing)
        if inPlace == .inUse(keyID) { return usual }
        try check(own, keyID)
        let isFree = try translating(
            makeWay(for: usual, over: inPlace), during: OldKeyErasure.erasing)
        guard isFree else { return own }
        try translating(
            folder.rename(own, to: usual, replacing: false), during: OldKeyErasure.erasing)
        try check(usual, keyID)
        return usual
    }

    /// - Returns: False if another keychain may be using the file. The device key in use then keeps
    ///   the name that contains its id.
    private func makeWay(for usual: String, over inPlace: Entry?) throws(SystemError) -> Bool {
        switch inPlace {
        case nil: break
        // It contains no key.
        case .remnant: try folder.remove(usual)
        // Renamed, not erased: until the key in use has this place, the old one may be needed.
        case .other(let old), .inUse(let old):
            try folder.rename(usual, to: try unusedName(of: old), replacing: false)
        case .foreign, .strange: return false
        }
        return true
    }

    private func check(_ name: String, _ keyID: KeyID) throws(KeychainFailure) {
        let entry = try translating(entry(name), during: OldKeyErasure.erasing)
        guard entry == .inUse(keyID) else { throw Self.notSeen(folder.path(of: name)) }
    }

    /// The failure if the device key in use is missing: then nothing may be erased.
    static func notSeen(_ path: String) -> KeychainFailure {
        KeychainFailure(
            .incomplete, during: OldKeyErasure.erasing, message: "the device key in use is missing",
            path: path, hint: "put device.key back from a copy")
    }

    private func unusedName(of keyID: KeyID) throws(SystemError) -> String {
        let name = DeviceSecretSource.name(ofKey: keyID)
        return try folder.names().contains(name) ? PrivateDirectory.temporaryName(name) : name
    }
}
