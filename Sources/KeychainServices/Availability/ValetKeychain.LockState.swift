// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainModel

/// The names under which applications know how a keychain is locked and protected.
extension ValetKeychain {
    /// How far the keychain can be used at one moment.
    public typealias LockState = ValetKeychainModel.LockState

    /// What a thief of the disk has to overcome: docs/THREAT-MODEL.md says what each level gives.
    public typealias ProtectionLevel = ValetKeychainModel.ProtectionLevel
}
