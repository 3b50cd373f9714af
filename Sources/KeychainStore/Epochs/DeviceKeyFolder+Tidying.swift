// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

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
        let usual = KeychainLocation.deviceKeyName
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
