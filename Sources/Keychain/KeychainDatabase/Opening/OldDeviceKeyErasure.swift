// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// The end of a key change, for device keys: docs/FORMAT.md §4.4, step 5.
extension DeviceKeyFolder {
    /// Erases the device keys that the one in use has replaced. Before that it gives the one in use
    /// its usual name, unless a foreign file has that name. Others of this keychain stay: they may
    /// be those of a newer copy.
    ///
    /// The caller holds the writers' lock.
    /// - Parameters:
    ///   - former: The ids of the device keys to erase.
    ///   - keybag: The keybag of the keychain.
    /// - Throws: ``KeychainFailure``: `incomplete` if the device key in use cannot be found:
    ///   then nothing is erased; `inputOutput` for a key that cannot be erased: the others are.
    func eraseFormer(_ former: [KeyID], under keybag: LockedKeybag) throws(KeychainFailure) {
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
