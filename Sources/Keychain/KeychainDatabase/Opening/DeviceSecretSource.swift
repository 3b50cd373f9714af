// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem
internal import ValetTPM

/// Reads the device secret of a keychain: from `device.key`, a systemd credential, a file that the
/// user names, or a TPM (docs/FORMAT.md §3). Opening, unlocking and key changes use it.
package struct DeviceSecretSource {
    private static let operation = "read the device key"

    /// The keychain whose device secret this reads.
    package let location: KeychainLocation
    /// The device secret that a TPM released last.
    let kept = DeviceSecretCache()

    /// The source of the keychain at `location`.
    package init(location: KeychainLocation) {
        self.location = location
    }

    /// The source for a new keychain.
    ///
    /// - Throws: ``KeychainFailure`` if the system does not say whether there is a credential.
    package func preferred() throws(KeychainFailure) -> DeviceKeySource {
        if location.deviceKeyPath != nil { return .keyFile }
        guard let path = location.credentialPath else { return .ownFile }
        let credential = try translating(GivenFile.identity(of: path), during: Self.operation)
        return credential == nil ? .ownFile : .credential
    }

    /// The path of a source, for messages.
    package func path(of source: DeviceKeySource) -> String? {
        switch source {
        case .ownFile: location.deviceFolder + "/" + KeychainFile.deviceKey
        case .credential: location.credentialPath
        case .keyFile: location.deviceKeyPath
        case .tpm: location.tpm.place.path
        }
    }

    /// Whether there is a file `device.key`, or one of a key change, whatever it contains.
    func hasKey() throws(KeychainFailure) -> Bool {
        do {
            let folder = try PrivateDirectory.open(location.deviceFolder, creating: false)
            if try folder.check(file: KeychainFile.deviceKey) != nil { return true }
            return try folder.names().contains(where: DeviceKeyFolder.isOfKeyChange)
        } catch {
            if error.code == .missing { return false }
            throw KeychainFailure(error, during: Self.operation)
        }
    }

    /// Reads the device secret of a keychain. If a TPM holds it, the first read is slow.
    ///
    /// - Throws: ``KeychainFailure``: `incomplete` if `device.key` is missing, `keyUnavailable` if
    ///   another source is missing or the secret is another keychain's, `keychainDamaged`,
    ///   `newerFormat`, `insecureFiles`; with a TPM `timedOut`, `inputOutput`.
    package func secret(
        of header: KeychainHeader, until deadline: Deadline
    ) throws(KeychainFailure) -> DeviceSecret {
        let source = header.keybag.deviceSource
        guard source != .tpm else { return try unsealedSecret(of: header.keybag, until: deadline) }
        let file = try file(of: header.keybag)
        try check(file, isFor: header.settings.keychainID, source)
        return file.intoSecret()
    }

    /// Checks that the device secret of a keychain is available.
    ///
    /// - Throws: As ``secret(of:until:)``; `keyUnavailable` also if the secret has another id.
    package func check(_ header: KeychainHeader, until deadline: Deadline) throws(KeychainFailure) {
        let keyID = header.keybag.deviceKeyID
        // The TPM has released this secret before, so it need not be asked again.
        if header.isBoundToTPM, kept.knows(keyID) { return }
        let secret = try secret(of: header, until: deadline)
        guard secret.id == keyID else {
            throw .wrongDeviceKey(Self.operation, path: path(of: header.keybag.deviceSource))
        }
    }

    /// - Throws: ``KeychainFailure/Code/keyUnavailable`` for a device key of another keychain.
    package func check(
        _ file: borrowing DeviceKeyFile, isFor keychainID: KeychainID, _ source: DeviceKeySource
    ) throws(KeychainFailure) {
        guard file.keychainID == nil || file.keychainID == keychainID else {
            throw KeychainFailure(
                .keyUnavailable, during: Self.operation,
                message: "the device key belongs to another keychain", path: path(of: source),
                hint: "put this keychain's own device key back")
        }
    }

    /// The device key with the id that `keybag` names, or else the one at the usual place.
    private func file(of keybag: LockedKeybag) throws(KeychainFailure) -> DeviceKeyFile {
        guard keybag.deviceSource == .ownFile else { return try given(by: keybag.deviceSource) }
        do {
            let file = try given(by: .ownFile)
            if file.secret.id == keybag.deviceKeyID { return file }
        } catch {
            // A key change may be replacing the file now.
        }
        // An interrupted key change leaves the new device key under a name with its id.
        do {
            return try given(by: .ownFile, name: Self.name(ofKey: keybag.deviceKeyID))
        } catch {
            guard error.code == .incomplete else { throw error }
        }
        // A key change that has just ended has given the file its usual name.
        return try given(by: .ownFile)
    }

    /// The name of a new device key until it replaces the previous one.
    static func name(ofKey keyID: KeyID) -> String {
        "\(KeychainFile.deviceKey).\(keyID)"
    }

    /// Reads a device key, without checking which keychain it belongs to.
    ///
    /// - Throws: As ``secret(of:until:)``.
    package func given(
        by source: DeviceKeySource, name: String = KeychainFile.deviceKey
    ) throws(KeychainFailure) -> DeviceKeyFile {
        let parsed: Result<DeviceKeyFile, KeychainFailure>
        do {
            parsed = try read(source, name)
        } catch {
            throw failure(error, source)
        }
        switch consume parsed {
        case .failure(let flaw): throw failure(flaw, source)
        case .success(let file): return file
        }
    }

    private func read(
        _ source: DeviceKeySource, _ name: String
    ) throws(SystemError) -> Result<DeviceKeyFile, KeychainFailure> {
        if source == .ownFile {
            let folder = try PrivateDirectory.open(location.deviceFolder, creating: false)
            return try folder.withContents(
                of: name, maxByteCount: DeviceKeyFile.byteCount
            ) { bytes in
                Result { () throws(KeychainFailure) in try DeviceKeyFile(parsing: bytes) }
            }
        }
        guard let path = path(of: source) else {
            throw SystemError(.missing, during: Self.operation)
        }
        return try GivenFile.withContents(of: path, maxByteCount: DeviceKeyFile.byteCount) {
            bytes in
            Result { () throws(KeychainFailure) in try DeviceKeyFile.given(bytes) }
        }
    }

    private func failure(_ error: SystemError, _ source: DeviceKeySource) -> KeychainFailure {
        switch (error.code, source) {
        case (.missing, .ownFile):
            KeychainFailure(
                .incomplete, during: Self.operation,
                message: "the keychain's device key is missing", path: path(of: source),
                hint: "put device.key back from a copy, or run `valet recovery use` with a "
                    + "recovery key")
        case (.missing, _):
            KeychainFailure(
                .keyUnavailable, during: Self.operation, path: path(of: source),
                hint: source.remedy)
        case (.tooLarge, _): failure(DeviceKeyFile.malformed, source)
        default: KeychainFailure(error, during: Self.operation)
        }
    }

    private func failure(_ flaw: KeychainFailure, _ source: DeviceKeySource) -> KeychainFailure {
        if flaw.code == .newerFormat {
            return KeychainFailure(.newerFormat, during: Self.operation, path: path(of: source))
        }
        return KeychainFailure(
            source == .ownFile ? .keychainDamaged : .keyUnavailable, during: Self.operation,
            message: flaw.message, path: path(of: source),
            hint: "put the device key back from a copy")
    }
}

extension DeviceKeySource {
    /// The hint if this source has no device key.
    fileprivate var remedy: String {
        switch self {
        case .ownFile: "put device.key back from a copy"
        case .tpm: "make the TPM available, or run `valet recovery use` with a recovery key"
        case .credential:
            "start the program as the service that has the credential valet.device-key"
        case .keyFile: "set VALET_DEVICE_KEY_FILE to the file that the keychain was made with"
        }
    }
}

extension DeviceKeyFile {
    consuming func intoSecret() -> DeviceSecret { secret }
}

extension DeviceSecretSource {
    /// Checks that the file that `$VALET_DEVICE_KEY_FILE` names is not one of the keychain's own
    /// device keys: a move to another source erases those.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` if it is one; other failures if the files
    ///   cannot be examined.
    package func checkGivenFileIsElsewhere() throws(KeychainFailure) {
        let operation = "take the device key from another file"
        guard let path = location.deviceKeyPath else { return }
        let isOwn: Bool
        do {
            isOwn = try isOwnDeviceKey(path)
        } catch {
            throw KeychainFailure(error, during: operation)
        }
        guard !isOwn else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "it is the keychain's own device key, which would be erased", path: path,
                hint: "make another: head -c 32 /dev/urandom, in a file that only you can read")
        }
    }

    private func isOwnDeviceKey(_ path: String) throws(SystemError) -> Bool {
        guard let given = try GivenFile.identity(of: path) else { return false }
        let folder: PrivateDirectory
        do {
            folder = try PrivateDirectory.open(location.deviceFolder, creating: false)
        } catch {
            guard error.code == .missing else { throw error }
            return false
        }
        for name in try folder.names() where name.hasPrefix(KeychainFile.deviceKey) {
            let own = try GivenFile.identity(of: folder.path(of: name))
            if own?.isSameFile(as: given) == true { return true }
        }
        return false
    }
}
