// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// The folder of the device keys, from the view of one keychain: docs/FORMAT.md §4.4. The end of a
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
