// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Keybag
internal import KeychainModel
internal import Sealing

/// Device keys that nothing needs, and what else has their names.
extension Engine {
    /// Whether what has that name in the device folder is, or could be, a device key that the
    /// keychain does without.
    func isDispensable(_ name: String, _ facts: KeychainFacts) -> Bool {
        let usual = KeychainLocation.deviceKeyName
        guard name == usual || name.hasPrefix(usual + ".") else { return false }
        let keyID = facts.newest.deviceKeyID
        // Somebody may have named the very file as the one to be used.
        guard !holds(name, keyID) else { return false }
        guard facts.newest.deviceSource == .file else { return true }
        // While the key is nowhere else, what is in its place is all that there is of it.
        return name != usual || holds(DeviceSecretSource.name(ofKey: keyID), keyID)
    }

    /// Whether a file in the device folder is the device key with that id.
    func holds(_ name: String, _ keyID: KeyID) -> Bool {
        guard let file = try? source.given(by: .file, name: name) else { return false }
        return file.secret.id == keyID
    }

    /// What `doctor` says of each of them.
    func strayKeys(_ facts: KeychainFacts) throws -> [Finding] {
        let folder: KeychainDirectory
        do throws(DatabaseError) {
            folder = try KeychainDirectory.open(location.deviceFolder, creating: false)
        } catch {
            guard error.code == .missing else { throw error }
            return []
        }
        // The last one keeps its name until a change of keys has come to its end.
        let isChanging = try facts.older != nil || isErasePending()
        return try folder.names().filter { name in
            isDispensable(name, facts)
                && !(isChanging && name == KeychainLocation.deviceKeyName)
        }.map { Finding(straying: $0, in: folder) }
    }
}

extension Finding {
    fileprivate init(straying name: String, in folder: KeychainDirectory) {
        var (message, hint) = (
            "a device key that nothing needs: a change of keys did not come",
            "`valet rotate` removes it"
        )
        do throws(DatabaseError) {
            _ = try folder.check(file: name)
        } catch {
            let reason = KeychainFailure(error, during: "examine a file").message
            message = "it has the name of a device key and is left alone: \(reason)"
            hint = "move it away; erase it if it may be an old device key (shred -u)"
        }
        self.init(.warning, message, path: folder.path(of: name), hint: hint)
    }
}
