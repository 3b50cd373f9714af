// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

extension DeviceSecretSource {
    /// Makes sure that the file which `$VALET_DEVICE_KEY_FILE` names is not one of our own: those
    /// are erased when the device secret comes from somewhere else.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` if it is; what keeps it from being told.
    func checkGivenFileIsElsewhere() throws(KeychainFailure) {
        let operation = "take the device key from another file"
        guard let path = location.deviceKeyPath else { return }
        let isOwn: Bool
        do throws(SystemError) {
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
        do throws(SystemError) {
            folder = try PrivateDirectory.open(location.deviceFolder, creating: false)
        } catch {
            guard error.code == .missing else { throw error }
            return false
        }
        for name in try folder.names() where name.hasPrefix(KeychainLocation.deviceKeyName) {
            let own = try GivenFile.identity(of: folder.path(of: name))
            if own?.isSameFile(as: given) == true { return true }
        }
        return false
    }
}
