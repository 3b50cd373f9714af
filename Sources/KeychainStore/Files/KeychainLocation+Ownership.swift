// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// What nobody but the keychain itself may write, or even open.
extension KeychainLocation {
    /// Refuses a file in one of the keychain's folders, whatever its name.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest``.
    func refuseOwnFolder(_ path: String, during operation: String) throws(KeychainFailure) {
        guard let folder = FileIdentity(of: Self.folder(of: path)) else { return }
        for own in [self.folder, deviceFolder] {
            guard FileIdentity(of: own)?.isSameFile(as: folder) != true else {
                throw KeychainFailure(
                    .invalidRequest, during: operation,
                    message: "the folder is the keychain's own", path: path,
                    hint: "choose another folder, better on another disk")
            }
        }
    }

    /// Refuses the keychain's own files: to open and close one drops the locks of this process.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest``.
    func refuseOwnFile(_ path: String, during operation: String) throws(KeychainFailure) {
        guard let file = FileIdentity(of: path) else { return }
        let names = ["", "-wal", "-shm"].map { Self.databaseName + $0 } + [Self.lockName]
        for name in names where FileIdentity(of: folder + "/" + name)?.isSameFile(as: file) == true
        {
            throw KeychainFailure(
                .invalidRequest, during: operation, message: "the file is the keychain's own",
                path: path, hint: "name a file that `valet backup create` has made")
        }
    }

    /// Each folder and file of the keychain with a wrong owner, mode or kind: a person mends them
    /// all at once, and not one after each run.
    func refusedFiles(during operation: String) -> [KeychainFailure] {
        let ofDatabase = PrivateDirectory.refusals(at: folder) {
            $0.hasPrefix(Self.databaseName) || $0 == Self.lockName
        }
        let ofKeys = PrivateDirectory.refusals(
            at: deviceFolder, ofFiles: DeviceKeyFolder.isOurs)
        return (ofDatabase + ofKeys).map { KeychainFailure($0, during: operation) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
