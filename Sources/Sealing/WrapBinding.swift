// SPDX-License-Identifier: Apache-2.0

/// What kind of key is wrapped.
package enum WrapType: String, CaseIterable, Sendable {
    /// The root key.
    case root = "root"
    /// The root key, for recovery.
    case rootRecovery = "root-recovery"
    /// A class key; the parameters name the class.
    case classKey = "class"
    /// The index key.
    case index = "index"
    /// The secret half of a presence pair; the parameters name the pair.
    case presence = "presence"
    /// The key of a backup; the parameters are what stands before it in the file's header.
    case backup = "backup"
}

/// The place that a wrapped key is bound to: moved elsewhere, it does not open.
package struct WrapBinding: Equatable, Sendable {
    /// What kind of key it is.
    package let type: WrapType
    /// The keychain it belongs to.
    package let keychainID: KeychainID
    /// The generation it belongs to.
    package let epoch: Epoch
    /// What else tells it from others of its type, as the type defines; may be empty.
    package let parameters: [UInt8]

    /// Names a place.
    package init(
        _ type: WrapType, keychainID: KeychainID, epoch: Epoch, parameters: [UInt8] = []
    ) {
        self.type = type
        self.keychainID = keychainID
        self.epoch = epoch
        self.parameters = parameters
    }

    /// The associated data of the wrap.
    func associatedData(keyID: KeyID) -> [UInt8] {
        var data = LengthPrefixed(reservingByteCount: 96 + parameters.count)
        data.append(DerivationContext.wrap.rawValue)
        data.append(type.rawValue)
        data.append(keychainID)
        data.append(epoch.rawValue)
        data.append(keyID)
        data.append(parameters)
        return data.bytes
    }
}
