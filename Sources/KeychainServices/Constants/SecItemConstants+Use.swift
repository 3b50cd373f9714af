// SPDX-License-Identifier: Apache-2.0

// How a call is done.

/// The items to use; refused by every call.
public let kSecUseItemList: CFString = "u_ItemList"
/// What a person is told when asked to authenticate: a string.
public let kSecUseOperationPrompt: CFString = "u_OpPrompt"
/// Whether nobody may be asked; true is `kSecUseAuthenticationUIFail`.
public let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"
/// Whether a person may be asked: one of the values below.
public let kSecUseAuthenticationUI: CFString = "u_AuthUI"
/// A person may be asked: the default.
public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"
/// Nobody may be asked: an item that needs it is `errSecInteractionNotAllowed`.
public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"
/// Nobody may be asked: items that need it are left out; only for searches.
public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"
/// A context that carries what a person has proved already.
public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
/// Whether to use this keychain; accepted without effect, for there is no other.
public let kSecUseDataProtectionKeychain: CFString = "nleg"
/// Whether to use one keychain for all users; accepted without effect.
public let kSecUseUserIndependentKeychain: CFString = "u_UserIndependentKeychain"
/// A keychain file of macOS; refused, as on iOS.
public let kSecUseKeychain: CFString = "u_Keychain"
