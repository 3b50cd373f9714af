// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The classes, attributes and keys of requests, each as the one object that dictionaries hold.
// Texts that `KeychainModel` knows are taken from there, so that each text is written once.
// Nothing changes these objects, but the compiler cannot know that from their type.

// Classes of items. The strings are those of Apple's systems and part of stored data.

/// The key under which a dictionary names the class of item.
@safe nonisolated(unsafe) public let kSecClass = constant(SecItemKey.itemClass)
/// A password of an application: found by service and account.
@safe nonisolated(unsafe) public let kSecClassGenericPassword =
    constant(ItemClass.genericPassword.code)
/// A password of a server: found by server, account, protocol, port and path.
@safe nonisolated(unsafe) public let kSecClassInternetPassword =
    constant(ItemClass.internetPassword.code)
/// A certificate. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassCertificate = constant("cert")
/// A cryptographic key. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassKey = constant("keys")
/// A certificate with its private key. None is kept: searches find nothing, adding is
/// `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassIdentity = constant("idnt")

// Attributes of passwords. The strings are those of Apple's systems and part of stored data.

/// When the item may be read: one of the `kSecAttrAccessible…` values.
@safe nonisolated(unsafe) public let kSecAttrAccessible = constant(.accessible)
/// The conditions for reading the item: an access control object.
@safe nonisolated(unsafe) public let kSecAttrAccessControl = constant(.accessControl)
/// The group of applications that share the item: a string.
@safe nonisolated(unsafe) public let kSecAttrAccessGroup = constant(.accessGroup)
/// Whether the item is synchronized: a boolean, or in searches `kSecAttrSynchronizableAny`. The
/// devices of a circle share synchronized items, see `valet sync`; without a circle, they stay on
/// this machine.
@safe nonisolated(unsafe) public let kSecAttrSynchronizable = constant(.synchronizable)
/// In a search: local and synchronized items alike.
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny =
    constant(SecItemKey.synchronizableAny)
/// When the item was added: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrCreationDate = constant(.creationDate)
/// When the item was last changed: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrModificationDate = constant(.modificationDate)
/// What kind of item it is, for people to read.
@safe nonisolated(unsafe) public let kSecAttrDescription = constant(.itemDescription)
/// A comment of the user's.
@safe nonisolated(unsafe) public let kSecAttrComment = constant(.comment)
/// The creator of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrCreator = constant(.creator)
/// The type of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrType = constant(.type)
/// The name of the item that people see.
@safe nonisolated(unsafe) public let kSecAttrLabel = constant(.label)
/// Whether people should not see the item; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsInvisible = constant(.isInvisible)
/// Whether no password is wanted here; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsNegative = constant(.isNegative)
/// The account's name; part of what makes a password unique.
@safe nonisolated(unsafe) public let kSecAttrAccount = constant(.account)
/// The service a generic password is for; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrService = constant(.service)
/// Anything the application wants to keep with a generic password.
@safe nonisolated(unsafe) public let kSecAttrGeneric = constant(.generic)
/// The security domain of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain = constant(.securityDomain)
/// The server of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrServer = constant(.server)
/// The protocol of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrProtocol = constant(.protocol)
/// How the server authenticates; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType = constant(.authenticationType)
/// The port of an internet password: a number; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrPort = constant(.port)
/// The path on the server; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrPath = constant(.path)
/// Another name of the item.
@safe nonisolated(unsafe) public let kSecAttrAlias = constant(.alias)
/// The script of the item's texts: a number.
@safe nonisolated(unsafe) public let kSecAttrScriptCode = constant(.scriptCode)
/// Whether the item has an icon of its own; stored as 0 or 1.
@safe nonisolated(unsafe) public let kSecAttrHasCustomIcon = constant(.hasCustomIcon)
/// The view in which the item is synchronized.
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint = constant(.syncViewHint)
/// The token that holds the item.
@safe nonisolated(unsafe) public let kSecAttrTokenID = constant(.tokenID)
/// The token identifier of the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave = constant("com.apple.setoken")
/// The token identifier of the store of keys.
@safe nonisolated(unsafe) public let kSecAttrTokenIDAppleKeyStore =
    constant("com.apple.setoken:aks")
/// The token identifier of the Secure Element.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureElement =
    constant("com.apple.secelemtoken")
/// The access group of tokens; no password can be stored in it.
@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken = constant(AccessGroup.token.rawValue)

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

/// Public, private or symmetric.
@safe nonisolated(unsafe) public let kSecAttrKeyClass = constant("kcls")
/// A hash that identifies the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel = constant("klbl")
/// The application's own name for the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationTag = constant("atag")
/// Whether the key is stored.
@safe nonisolated(unsafe) public let kSecAttrIsPermanent = constant("perm")
/// Whether the key is private.
@safe nonisolated(unsafe) public let kSecAttrIsPrivate = constant("priv")
/// Whether the key can be changed.
@safe nonisolated(unsafe) public let kSecAttrIsModifiable = constant("modi")
/// The creator of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyCreator = constant("crtr")
/// The algorithm of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyType = constant("type")
/// The size of the key in bits.
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits = constant("bsiz")
/// The effective size of the key in bits.
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize = constant("esiz")
/// When the key becomes valid.
@safe nonisolated(unsafe) public let kSecAttrStartDate = constant("sdat")
/// When the key stops being valid.
@safe nonisolated(unsafe) public let kSecAttrEndDate = constant("edat")
/// Whether the key can be exported only when it is wrapped.
@safe nonisolated(unsafe) public let kSecAttrIsSensitive = constant("sens")
/// Whether the key has always been sensitive.
@safe nonisolated(unsafe) public let kSecAttrWasAlwaysSensitive = constant("asen")
/// Whether the key can be exported.
@safe nonisolated(unsafe) public let kSecAttrIsExtractable = constant("extr")
/// Whether the key could never be exported.
@safe nonisolated(unsafe) public let kSecAttrWasNeverExtractable = constant("next")
/// Whether the key encrypts.
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt = constant("encr")
/// Whether the key decrypts.
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt = constant("decr")
/// Whether keys can be derived from the key.
@safe nonisolated(unsafe) public let kSecAttrCanDerive = constant("drve")
/// Whether the key signs.
@safe nonisolated(unsafe) public let kSecAttrCanSign = constant("sign")
/// Whether the key verifies.
@safe nonisolated(unsafe) public let kSecAttrCanVerify = constant("vrfy")
/// Whether the key signs with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanSignRecover = constant("snrc")
/// Whether the key verifies with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanVerifyRecover = constant("vyrc")
/// Whether the key wraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanWrap = constant("wrap")
/// Whether the key unwraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap = constant("unwp")
/// The type of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateType = constant("ctyp")
/// The encoding of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding = constant("cenc")
/// The subject of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubject = constant("subj")
/// The issuer of a certificate.
@safe nonisolated(unsafe) public let kSecAttrIssuer = constant("issr")
/// The serial number of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSerialNumber = constant("slnr")
/// The key identifier of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID = constant("skid")
/// A hash of the public key of a certificate.
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash = constant("pkhh")
/// A macOS access object.
@safe nonisolated(unsafe) public let kSecAttrAccess = constant("acls")
/// The pseudo-random function of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrPRF = constant("prf")
/// The salt of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrSalt = constant("salt")
/// The number of rounds of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrRounds = constant("rounds")
/// The token's identifier of the key.
@safe nonisolated(unsafe) public let kSecAttrTokenOID = constant("toid")
/// `kSecAttrTokenOID` by its older name.
@safe nonisolated(unsafe) public let kSecAttrSecureEnclaveKeyBlob = kSecAttrTokenOID
/// Attributes of the private key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPrivateKeyAttrs = constant("private")
/// Attributes of the public key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPublicKeyAttrs = constant("public")

// What a search matches and returns, and where values are.

/// How many items to return: a number, `kSecMatchLimitOne` or `kSecMatchLimitAll`.
@safe nonisolated(unsafe) public let kSecMatchLimit = constant(SecItemKey.limit)
/// One item: the default.
@safe nonisolated(unsafe) public let kSecMatchLimitOne = constant(SecItemKey.limitOne)
/// All items, as an array.
@safe nonisolated(unsafe) public let kSecMatchLimitAll = constant(SecItemKey.limitAll)
/// Finds internet passwords of a host and of its subdomains: a string.
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost =
    constant(SecItemKey.hostOrSubdomainOfHost)
/// A policy that certificates must satisfy; refused for passwords.
@safe nonisolated(unsafe) public let kSecMatchPolicy = constant("m_Policy")
/// The items to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchItemList = constant("m_ItemList")
/// The keychains to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchSearchList = constant("m_SearchList")
/// Issuers of certificates; `errSecUnimplemented` for passwords.
@safe nonisolated(unsafe) public let kSecMatchIssuers = constant("m_Issuers")
/// An address in certificates: a string, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent =
    constant("m_EmailAddressIfPresent")
/// Text in the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectContains = constant("m_SubjectContains")
/// Text at the start of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith = constant("m_SubjectStartsWith")
/// Text at the end of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith = constant("m_SubjectEndsWith")
/// The whole subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString = constant("m_SubjectWholeString")
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive = constant("m_CaseInsensitive")
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive =
    constant("m_DiacriticInsensitive")
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive = constant("m_WidthInsensitive")
/// Only trusted certificates: a boolean, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly = constant("m_TrustedOnly")
/// Only certificates valid then: a date or null, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchValidOnDate = constant("m_ValidOnDate")
/// Whether to return the value of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnData = constant(SecItemKey.returnData)
/// Whether to return the attributes of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnAttributes = constant(SecItemKey.returnAttributes)
/// Whether to return an object; passwords have none: a boolean.
@safe nonisolated(unsafe) public let kSecReturnRef = constant(SecItemKey.returnReference)
/// Whether to return the item's persistent reference, which stays the same when attributes change:
/// a boolean.
@safe nonisolated(unsafe) public let kSecReturnPersistentRef =
    constant(SecItemKey.returnPersistentReference)
/// The value of the item: data.
@safe nonisolated(unsafe) public let kSecValueData = constant(SecItemKey.data)
/// A key, certificate or identity object. None exists here, so every value is refused.
@safe nonisolated(unsafe) public let kSecValueRef = constant("v_Ref")
/// The persistent reference of an item, which stays the same when attributes change: 20 bytes of
/// data.
@safe nonisolated(unsafe) public let kSecValuePersistentRef =
    constant(SecItemKey.persistentReference)

// Options of a call.

/// The items to use; refused by every call.
@safe nonisolated(unsafe) public let kSecUseItemList = constant("u_ItemList")
/// The application's reason when the user is asked to authenticate: a string.
@safe nonisolated(unsafe) public let kSecUseOperationPrompt = constant("u_OpPrompt")
/// Whether questions are forbidden; true is `kSecUseAuthenticationUIFail`.
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI = constant("u_NoAuthUI")
/// Whether a person may be asked: one of the values below.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI = constant(SecItemKey.authenticationUI)
/// A person may be asked: the default.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow = constant("u_AuthUIA")
/// Questions are forbidden: an item that needs one is `errSecInteractionNotAllowed`.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail =
    constant(SecItemKey.authenticationUIFail)
/// Questions are forbidden: items that need one are left out. Only for searches.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip = constant("u_AuthUIS")
/// A context with earlier proofs of the user's presence.
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext =
    constant(SecItemKey.authenticationContext)
/// Whether to use this keychain; accepted without effect, for there is no other.
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain =
    constant(SecItemKey.usesDataProtectionKeychain)
/// Whether to use one keychain for all users; accepted without effect.
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain =
    constant("u_UserIndependentKeychain")
/// A keychain file of macOS; refused, as on iOS.
@safe nonisolated(unsafe) public let kSecUseKeychain = constant("u_Keychain")

package func constant(_ text: String) -> NSString { NSString(string: text) }

private func constant(_ attribute: Attribute) -> NSString { constant(attribute.rawValue) }
