// SPDX-License-Identifier: Apache-2.0

/// The name under which code written for Apple's systems imports Keychain Services.
@_exported public import ValetCoreFoundationNames
@_exported public import ValetSecItem

@_exported public import struct ValetKeychainModel.KeychainFailure
@_exported public import typealias ValetKeychainServices.OSStatus
@_exported public import let ValetKeychainServices.noErr
