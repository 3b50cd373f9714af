// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Device keys that nothing needs, and what else has their names.
extension Engine {
    /// What `doctor` says of each of them.
    func strayKeys(_ facts: KeychainFacts) throws -> [Finding] {
        guard let folder = try DeviceKeyFolder(location, facts) else { return [] }
        let isFile = facts.newest.deviceSource == .ownFile
        // While it is nowhere to be seen, whatever there is may be all that there is of it.
        let isSeen = try !isFile || folder.hasKey(facts.newest.deviceKeyID)
        // The last one keeps its name until a change of keys has come to its end.
        let isChanging = try facts.older != nil || isErasePending()
        return try folder.names().compactMap { name in
            let isUsual = name == KeychainLocation.deviceKeyName
            switch try folder.entry(name) {
            case nil, .inUse: return nil
            case .outdated, .remnant:
                let isWaiting = isUsual && isChanging
                return isSeen && !isWaiting ? Finding(outdated: name, in: folder) : nil
            case .foreign(let owner):
                // Where it lies it is in nobody's way, but for this.
                return Finding(
                    of: owner, at: folder.path(of: name), inTheWay: isUsual && isFile)
            case .strange(let reason):
                return isSeen ? Finding(strange: reason, at: folder.path(of: name)) : nil
            }
        }
    }
}

extension Finding {
    fileprivate init(outdated name: String, in folder: DeviceKeyFolder) {
        let path = folder.path(of: name)
        guard DeviceKeyFolder.isOurs(name) else {
            self.init(
                .warning, "an old device key of this keychain, under a name that somebody gave it",
                path: path,
                hint: "erase it (shred -u), unless a copy of the keychain is to be read with it")
            return
        }
        self.init(
            .warning, "a device key that nothing needs: a change of keys did not come", path: path,
            hint: "`valet rotate` removes it")
    }

    fileprivate init(strange reason: String, at path: String) {
        self.init(
            .warning, "it has the name of a device key and is left alone: \(reason)", path: path,
            hint: "move it away; erase it if it may be an old device key (shred -u)")
    }

    fileprivate init(of owner: KeychainID, at path: String, inTheWay isInTheWay: Bool) {
        let message = "it is the device key of another keychain (\(owner)), and is left alone"
        guard isInTheWay else {
            self.init(.fine, message, path: path)
            return
        }
        self.init(
            .warning, message, path: path,
            hint: "move it to where that keychain looks for it; never erase it unseen")
    }
}
