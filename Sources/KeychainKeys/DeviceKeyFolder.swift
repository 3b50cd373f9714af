// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetKeychainRows
package import ValetSealing
package import ValetSystem

/// The folder that device keys lie in, as one keychain sees it: docs/FORMAT.md §4.4.
///
/// Other keychains of the user may have theirs in it, too.
package struct DeviceKeyFolder {
    /// What has a name that begins with that of the device key.
    package enum Entry: Hashable {
        /// A device key that a keybag of this keychain names.
        case inUse(KeyID)
        /// A device key of this keychain that no keybag names.
        case outdated(KeyID)
        /// What is left of one whose writing or erasing did not come to its end.
        case remnant
        /// The device key of another keychain.
        case foreign(KeychainID)
        /// Something else, and why it is no device key.
        case strange(String)
    }

    private static let usual = KeychainFile.deviceKey

    let folder: PrivateDirectory
    /// The keychain whose device keys are looked for.
    package let keychainID: KeychainID
    /// Of the device keys that its keybags name.
    let keyIDs: [KeyID]

    /// The folder of the keychain that `facts` are of; nil if it does not exist.
    ///
    /// - Throws: ``SystemError``: as ``PrivateDirectory/open(_:creating:fileSystem:)``.
    package init?(_ location: KeychainLocation, _ facts: KeychainHeader) throws(SystemError) {
        do throws(SystemError) {
            folder = try PrivateDirectory.open(location.deviceFolder, creating: false)
        } catch {
            guard error.code == .missing else { throw error }
            return nil
        }
        keychainID = facts.settings.keychainID
        keyIDs = facts.keybags.map(\.deviceKeyID)
    }

    /// The names of all that is, or could be taken for, a device key.
    ///
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput`.
    package func names() throws(SystemError) -> [String] {
        try folder.names().filter { $0 == Self.usual || $0.hasPrefix(Self.usual + ".") }
    }

    /// The path of what has that name.
    package func path(of name: String) -> String { folder.path(of: name) }

    /// Whether the device key with that id is where it is looked for.
    ///
    /// - Throws: As ``entry(_:)``.
    package func hasKey(_ keyID: KeyID) throws(SystemError) -> Bool {
        for name in [Self.usual, DeviceSecretSource.name(ofKey: keyID)] {
            if try entry(name) == .inUse(keyID) { return true }
        }
        return false
    }

    /// Whether it is this library that gives files such a name: `device.key`, `device.key.<id>`,
    /// and what either is called while it is written.
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

    /// What has that name; nil for nothing.
    ///
    /// - Throws: ``SystemError`` if that cannot be told at this moment, such as `inputOutput`, or
    ///   `cannotOpen` where too many files are open: then nothing may be made of it.
    package func entry(_ name: String) throws(SystemError) -> Entry? {
        do throws(SystemError) {
            return try folder.withContents(of: name, maxByteCount: DeviceKeyFile.byteCount) {
                entry(name, $0)
            }
        } catch {
            switch error.code {
            case .missing: return nil
            case .tooLarge: return .strange(DeviceKeyFile.Flaw.malformed.reason)
            case .wrongOwner, .wrongMode, .symbolicLink, .notARegularFile:
                // Seen twice it is so, and not only for a moment.
                return try refusal(name, error)
            case .cannotOpen where error.isDenied: return .strange("it cannot be opened")
            default: throw error
            }
        }
    }

    private func refusal(
        _ name: String, _ first: SystemError
    ) throws(SystemError) -> Entry? {
        do throws(SystemError) {
            guard try folder.check(file: name) != nil else { return nil }
        } catch {
            guard error.code == first.code else { throw error }
            return .strange(KeychainFailure(error, during: "examine a file").message)
        }
        throw first
    }

    private func entry(_ name: String, _ bytes: Span<UInt8>) -> Entry {
        do throws(DeviceKeyFile.Flaw) {
            let file = try DeviceKeyFile(parsing: bytes)
            let (owner, keyID) = (file.keychainID, file.secret.id)
            guard let owner, owner != keychainID else {
                return keyIDs.contains(keyID) ? .inUse(keyID) : .outdated(keyID)
            }
            return .foreign(owner)
        } catch {
            guard !isRemnant(name, bytes) else { return .remnant }
            return .strange(error.reason)
        }
    }

    /// Zeros are what erasing leaves, and no key; a beginning is left where writing ended early.
    private func isRemnant(_ name: String, _ bytes: Span<UInt8>) -> Bool {
        if bytes.indices.allSatisfy({ bytes[$0] == 0 }) { return true }
        guard name.hasPart("." + PrivateDirectory.temporaryMark),
            bytes.count < DeviceKeyFile.byteCount
        else { return false }
        let start = DeviceKeyFile.start(of: keychainID)
        return (0..<min(start.count, bytes.count)).allSatisfy { bytes[$0] == start[$0] }
    }
}

extension DeviceKeyFile.Flaw {
    /// Why a file with the name of a device key is not one.
    fileprivate var reason: String {
        switch self {
        case .malformed: "it is not a device key"
        case .newer: "a newer version of this library wrote it"
        case .damaged: "it is damaged"
        }
    }
}

extension SystemError {
    /// Whether the kernel says that this user may not, and not that it cannot now.
    var isDenied: Bool { systemError == EACCES || systemError == EPERM }
}

/// What happens to device keys at the end of an epoch change: docs/FORMAT.md §4.4, step 5.
extension DeviceKeyFolder {
    /// Gives the device key in use its usual name, if nothing that is not ours has it; then erases
    /// those of this keychain that no keybag names.
    ///
    /// Only the holder of the keychain's lock may do so.
    /// - Parameter keybag: The only one that there is.
    /// - Throws: ``SystemError``, and ``KeychainFailure/Code/incomplete`` if the device key in
    ///   use is not to be seen: nothing is erased then.
    func tidy(_ keybag: LockedKeybag) throws {
        // What these names have is never erased, whatever it looks like.
        var kept = [DeviceSecretSource.name(ofKey: keybag.deviceKeyID)]
        if keybag.deviceSource == .ownFile { kept.append(try putInPlace(keybag.deviceKeyID)) }
        for name in try names() where Self.isOurs(name) && !kept.contains(name) {
            switch try entry(name) {
            case .outdated, .remnant: try erase(name)
            case .inUse, .foreign, .strange, nil: continue
            }
        }
    }

    /// - Returns: The name under which the device key has been seen, and stays.
    private func putInPlace(_ keyID: KeyID) throws -> String {
        let usual = KeychainFile.deviceKey
        let own = DeviceSecretSource.name(ofKey: keyID)
        let inPlace = try entry(usual)
        if inPlace == .inUse(keyID) { return usual }
        try check(own, keyID)
        switch inPlace {
        case nil: break
        // There is no key in it.
        case .remnant: try folder.remove(usual)
        // Found by its id, should that be needed, until the one in use is in its place.
        case .outdated(let old), .inUse(let old):
            try folder.rename(usual, to: try unusedName(of: old), replacing: false)
        // Another keychain may be using it, and ours is found by its id.
        case .foreign, .strange: return own
        }
        try folder.rename(own, to: usual, replacing: false)
        try check(usual, keyID)
        return usual
    }

    private func check(_ name: String, _ keyID: KeyID) throws {
        guard try entry(name) == .inUse(keyID) else { throw Self.notSeen(folder.path(of: name)) }
    }

    /// The device key in use is not where it should be: nothing is to be erased.
    static func notSeen(_ path: String) -> KeychainFailure {
        KeychainFailure(
            .incomplete, during: "erase old keys", message: "the device key in use is not there",
            path: path, hint: "put device.key back from a copy")
    }

    private func unusedName(of keyID: KeyID) throws(SystemError) -> String {
        let name = DeviceSecretSource.name(ofKey: keyID)
        return try folder.names().contains(name) ? PrivateDirectory.temporaryName(name) : name
    }

    private func erase(_ name: String) throws(SystemError) {
        do throws(SystemError) {
            try folder.overwriteAndRemove(name)
        } catch {
            switch error.code {
            case .missing: return
            // `doctor` names what may not be written.
            case .cannotOpen where error.isDenied: return
            default: throw error
            }
        }
    }
}
