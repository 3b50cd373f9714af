// SPDX-License-Identifier: Apache-2.0

// Exported, so that importers of this module have the members of the type that it shows, too,
// under `MemberImportVisibility`.
@_exported public import struct ValetKeychainModel.KeychainFailure

#if !canImport(Darwin)
    // Foundation has these two names on Apple's systems: code that compares `lastResultCode` with
    // `noErr` imports nothing for them.
    @_exported public import let ValetKeychainServices.noErr
    @_exported public import typealias ValetKeychainServices.OSStatus
#endif

/// Why a keychain call failed, in full: code, operation, path, system error, hint.
public typealias KeychainFailure = ValetKeychainModel.KeychainFailure

/// What differs between the systems.
enum Platform {
    #if canImport(Darwin) || VALET_APPLE_BRANCHES
        /// The keychain of this system.
        static let keychain: any PasswordKeychain = SecItemPasswords()
    #else
        /// The keychain of this system.
        static let keychain: any PasswordKeychain = StorePasswords()
    #endif
}
