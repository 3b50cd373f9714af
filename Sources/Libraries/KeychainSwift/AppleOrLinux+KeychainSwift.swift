// SPDX-License-Identifier: Apache-2.0

// The differences between the systems: the only file of `KeychainSwift` that knows its system.
//
// Types of other modules that appear in this module's API are exported, because importers of this
// module could not use their members otherwise under `MemberImportVisibility`.
@_exported public import struct ValetKeychainModel.KeychainFailure

#if !canImport(Darwin)
    // On Apple's systems Foundation declares these two names, so code that compares
    // `lastResultCode` with `noErr` needs no import for them. Here it needs none either.
    @_exported public import let ValetKeychainServices.noErr
    @_exported public import typealias ValetKeychainServices.OSStatus
#endif

/// The full reason why a keychain call failed: code, operation, path, system error, hint.
public typealias KeychainFailure = ValetKeychainModel.KeychainFailure

enum Platform {
    #if canImport(Darwin) || VALET_APPLE_BRANCHES
        static let keychain: any PasswordKeychain = SecItemPasswords()
    #else
        static let keychain: any PasswordKeychain = StorePasswords()
    #endif
}
