// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// How a call is done.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecUseItemList = "u_ItemList"
@_disfavoredOverload public let kSecUseOperationPrompt = "u_OpPrompt"
@_disfavoredOverload public let kSecUseNoAuthenticationUI = "u_NoAuthUI"
@_disfavoredOverload public let kSecUseAuthenticationUI = "u_AuthUI"
@_disfavoredOverload public let kSecUseAuthenticationUIAllow = "u_AuthUIA"
@_disfavoredOverload public let kSecUseAuthenticationUIFail = "u_AuthUIF"
@_disfavoredOverload public let kSecUseAuthenticationUISkip = "u_AuthUIS"
@_disfavoredOverload public let kSecUseAuthenticationContext = "u_AuthCtx"
@_disfavoredOverload public let kSecUseDataProtectionKeychain = "nleg"
@_disfavoredOverload public let kSecUseUserIndependentKeychain = "u_UserIndependentKeychain"
@_disfavoredOverload public let kSecUseKeychain = "u_Keychain"
