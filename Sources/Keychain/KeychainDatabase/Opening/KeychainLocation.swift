// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
package import ValetSystem
package import ValetTPM

/// The paths of a keychain's files (spec/keys-and-states.md §9.1). The environment chooses them.
package final class KeychainLocation: Sendable {
    /// The folder of the database.
    package let folder: String
    /// The folder of `device.key`.
    package let deviceFolder: String
    /// The path of the systemd credential, which need not exist; nil outside a service.
    package let credentialPath: String?
    /// The file that `$VALET_DEVICE_KEY_FILE` names.
    package let deviceKeyPath: String?
    /// The TPM of keychains that are bound to one. Only code can choose another TPM than the
    /// machine's: a hostile environment could name one that records the requests.
    package let tpm: TPMDevice

    /// A keychain in `folder`, with its device key in the folder `device` inside.
    package init(folder: String, tpm: TPMDevice = TPMDevice()) {
        self.folder = folder
        deviceFolder = folder + "/device"
        credentialPath = nil
        deviceKeyPath = nil
        self.tpm = tpm
    }

    /// The same keychain, as if `$VALET_DEVICE_KEY_FILE` named `deviceKeyPath`.
    ///
    /// - Parameter deviceKeyPath: Absolute.
    package init(_ location: KeychainLocation, deviceKeyPath: String) {
        folder = location.folder
        deviceFolder = location.deviceFolder
        credentialPath = location.credentialPath
        self.deviceKeyPath = Self.absolutePath(deviceKeyPath)
        tpm = location.tpm
    }

    /// The same keychain, with another TPM than the machine's.
    package init(_ location: KeychainLocation, tpm: TPMDevice) {
        folder = location.folder
        deviceFolder = location.deviceFolder
        credentialPath = location.credentialPath
        deviceKeyPath = location.deviceKeyPath
        self.tpm = tpm
    }

    /// The keychain that the environment names.
    ///
    /// - Throws: ``KeychainFailure``: `noHome` if no variable names an absolute path, or the value
    ///   of one is not UTF-8; `invalidRequest` if `$VALET_HOME` or
    ///   `$VALET_DEVICE_KEY_FILE` is set to a relative path.
    package static func ofThisProcess(
        _ environment: Environment = .ofProcess
    ) throws(KeychainFailure) -> KeychainLocation {
        try KeychainLocation(environment)
    }

    init(_ environment: Environment) throws(KeychainFailure) {
        try Self.checkVariables(environment)
        let home = try Self.home(environment)
        let valetHome = try Self.chosenPath("VALET_HOME", environment, to: "find the keychain")
        let service = Self.absolutePath(
            environment.value("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init))
        let data = Self.absolutePath(environment.value("XDG_DATA_HOME"))
        let state = Self.absolutePath(environment.value("XDG_STATE_HOME"))
        if let valetHome {
            folder = valetHome
            deviceFolder = valetHome + "/device"
        } else if let service {
            folder = service + "/valet"
            deviceFolder = service + "/valet/device"
        } else if let data = data ?? home.map({ $0 + "/.local/share" }),
            let state = state ?? home.map({ $0 + "/.local/state" })
        {
            folder = data + "/valet"
            deviceFolder = state + "/valet"
        } else {
            throw KeychainFailure(
                .noHome, during: "find the keychain",
                hint: "set HOME, or set VALET_HOME to the folder for the keychain")
        }
        credentialPath = Self.absolutePath(environment.value("CREDENTIALS_DIRECTORY"))
            .map { $0 + "/valet.device-key" }
        deviceKeyPath = try Self.chosenPath(
            "VALET_DEVICE_KEY_FILE", environment, to: "find the device key")
        tpm = TPMDevice()
    }

    /// The absolute path that a variable of this library names; nil if it is not set, or empty.
    ///
    /// A relative path is an error. If it counted as unset, the caller would read, or empty, the
    /// user's real keychain instead of `$VALET_HOME`, and a new keychain would have weaker
    /// protection than `$VALET_DEVICE_KEY_FILE` was meant to give.
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for a relative path.
    private static func chosenPath(
        _ variable: String, _ environment: Environment, to operation: String
    ) throws(KeychainFailure) -> String? {
        guard let path = environment.value(variable), !path.isEmpty else { return nil }
        guard let absolute = absolutePath(path) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "$\(variable) is not an absolute path", path: path,
                hint: "set \(variable) to an absolute path")
        }
        return absolute
    }

    /// Opens the folder of the device keys. Inside the keychain's folder it is that of the open
    /// folder `directory`, wherever that was moved: a device key goes with its database.
    ///
    /// - Throws: The codes of ``PrivateDirectory/open(_:creating:fileSystem:)``.
    func openDeviceFolder(
        of directory: PrivateDirectory, creating isCreating: Bool
    ) throws(SystemError) -> PrivateDirectory {
        guard let name = nameOfInnerDeviceFolder else {
            return try PrivateDirectory.open(deviceFolder, creating: isCreating)
        }
        return try directory.folder(name, creating: isCreating)
    }

    /// The name of the device folder inside ``folder``; nil if it is elsewhere.
    private var nameOfInnerDeviceFolder: String? {
        // By bytes: a slash and a mark beside it are one character.
        let start = (folder + "/").utf8
        guard deviceFolder.utf8.starts(with: start) else { return nil }
        let name = deviceFolder.utf8.dropFirst(start.count)
        return name.isEmpty || name.contains(UInt8(ascii: "/")) ? nil : String(Substring(name))
    }

    private static func checkVariables(_ environment: Environment) throws(KeychainFailure) {
        let names = [
            "VALET_HOME", "STATE_DIRECTORY", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME",
            "CREDENTIALS_DIRECTORY", "VALET_DEVICE_KEY_FILE",
        ]
        guard let name = names.first(where: environment.isMalformed) else { return }
        throw KeychainFailure(
            .noHome, during: "find the keychain", message: "the value of \(name) is not UTF-8",
            hint: "set \(name) to a path in UTF-8")
    }

    /// The user's home: `$HOME`, or the user database's entry if the environment is not trusted.
    private static func home(_ environment: Environment) throws(KeychainFailure) -> String? {
        guard environment.isElevated else { return absolutePath(environment.value("HOME")) }
        do {
            return absolutePath(try Environment.homeFromUserDatabase())
        } catch {
            throw KeychainFailure(error, during: "find the keychain")
        }
    }

    private static func absolutePath(_ path: String?) -> String? {
        guard var path, path.utf8.first == UInt8(ascii: "/") else { return nil }
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }
}

/// Checks of paths: which files and folders only the keychain itself may write or open.
extension KeychainLocation {
    /// Refuses a file in one of the keychain's folders, whatever its name.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest`; others if the folders cannot be examined.
    package func refuseOwnFolder(_ path: String, during operation: String) throws(KeychainFailure) {
        for own in [self.folder, deviceFolder] {
            guard try !Self.isSameFile(Self.folder(of: path), own, operation) else {
                throw KeychainFailure(
                    .invalidRequest, during: operation,
                    message: "the folder is the keychain's own", path: path,
                    hint: "choose another folder, better on another disk")
            }
        }
    }

    /// Refuses the keychain's own files: opening and closing one drops this process's locks on it.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest`; others if the files cannot be examined.
    package func refuseOwnFile(_ path: String, during operation: String) throws(KeychainFailure) {
        let names = ["", "-wal", "-shm"].map { KeychainFile.database + $0 } + [KeychainFile.lock]
        for name in names where try Self.isSameFile(path, folder + "/" + name, operation) {
            throw KeychainFailure(
                .invalidRequest, during: operation, message: "the file is the keychain's own",
                path: path, hint: "name a file that `valet backup create` has made")
        }
    }

    /// Each folder and file of the keychain with a wrong owner, mode or kind, so that the user can
    /// correct all of them at once.
    package func refusedFiles(during operation: String) -> [KeychainFailure] {
        let ofDatabase = PrivateDirectory.refusals(at: folder) {
            $0.hasPrefix(KeychainFile.database) || $0 == KeychainFile.lock
        }
        let ofKeys = PrivateDirectory.refusals(
            at: deviceFolder, ofFiles: DeviceKeyFolder.isOurs)
        return (ofDatabase + ofKeys).map { KeychainFailure($0, during: operation) }
    }

    private static func isSameFile(
        _ path: String, _ own: String, _ operation: String
    ) throws(KeychainFailure) -> Bool {
        try translating(operation) { () throws(SystemError) in
            guard let found = try GivenFile.identity(of: path) else { return false }
            return try GivenFile.identity(of: own)?.isSameFile(as: found) ?? false
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension KeychainLocation: Hashable {
    package static func == (one: KeychainLocation, other: KeychainLocation) -> Bool {
        one === other
            || (one.folder == other.folder && one.deviceFolder == other.deviceFolder
                && one.credentialPath == other.credentialPath
                && one.deviceKeyPath == other.deviceKeyPath && one.tpm == other.tpm)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(folder)
        hasher.combine(deviceKeyPath)
    }
}
