// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetSecItem

// The classes, attributes and keys of requests, as the objects that dictionaries hold.
// Nothing changes these objects, but the compiler cannot know that from their type.

// Classes of items. The strings are those of Apple's systems and part of stored data.

/// The key under which a dictionary names the class of item.
@safe nonisolated(unsafe) public let kSecClass = constant(ValetSecItem.kSecClass)
/// A password of an application: found by service and account.
@safe nonisolated(unsafe) public let kSecClassGenericPassword = constant(
    ValetSecItem.kSecClassGenericPassword)
/// A password of a server: found by server, account, protocol, port and path.
@safe nonisolated(unsafe) public let kSecClassInternetPassword = constant(
    ValetSecItem.kSecClassInternetPassword)
/// A certificate. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassCertificate = constant(
    ValetSecItem.kSecClassCertificate)
/// A cryptographic key. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassKey = constant(ValetSecItem.kSecClassKey)
/// A certificate with its private key. None is kept: searches find nothing, adding is
/// `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassIdentity = constant(ValetSecItem.kSecClassIdentity)

// Attributes of passwords. The strings are those of Apple's systems and part of stored data.

/// When the item may be read: one of the `kSecAttrAccessible…` values.
@safe nonisolated(unsafe) public let kSecAttrAccessible = constant(ValetSecItem.kSecAttrAccessible)
/// The conditions for reading the item: an access control object.
@safe nonisolated(unsafe) public let kSecAttrAccessControl = constant(
    ValetSecItem.kSecAttrAccessControl)
/// The group of applications that share the item: a string.
@safe nonisolated(unsafe) public let kSecAttrAccessGroup = constant(
    ValetSecItem.kSecAttrAccessGroup)
/// Whether the item is synchronized: a boolean, or in searches `kSecAttrSynchronizableAny`. The
/// devices of a circle share synchronized items, see `valet sync`; without a circle, they stay on
/// this machine.
@safe nonisolated(unsafe) public let kSecAttrSynchronizable = constant(
    ValetSecItem.kSecAttrSynchronizable)
/// In a search: local and synchronized items alike.
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny = constant(
    ValetSecItem.kSecAttrSynchronizableAny)
/// When the item was added: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrCreationDate = constant(
    ValetSecItem.kSecAttrCreationDate)
/// When the item was last changed: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrModificationDate = constant(
    ValetSecItem.kSecAttrModificationDate)
/// What kind of item it is, for people to read.
@safe nonisolated(unsafe) public let kSecAttrDescription = constant(
    ValetSecItem.kSecAttrDescription)
/// A comment of the user's.
@safe nonisolated(unsafe) public let kSecAttrComment = constant(ValetSecItem.kSecAttrComment)
/// The creator of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrCreator = constant(ValetSecItem.kSecAttrCreator)
/// The type of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrType = constant(ValetSecItem.kSecAttrType)
/// The name of the item that people see.
@safe nonisolated(unsafe) public let kSecAttrLabel = constant(ValetSecItem.kSecAttrLabel)
/// Whether people should not see the item; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsInvisible = constant(
    ValetSecItem.kSecAttrIsInvisible)
/// Whether no password is wanted here; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsNegative = constant(ValetSecItem.kSecAttrIsNegative)
/// The account's name; part of what makes a password unique.
@safe nonisolated(unsafe) public let kSecAttrAccount = constant(ValetSecItem.kSecAttrAccount)
/// The service a generic password is for; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrService = constant(ValetSecItem.kSecAttrService)
/// Anything the application wants to keep with a generic password.
@safe nonisolated(unsafe) public let kSecAttrGeneric = constant(ValetSecItem.kSecAttrGeneric)
/// The security domain of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain = constant(
    ValetSecItem.kSecAttrSecurityDomain)
/// The server of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrServer = constant(ValetSecItem.kSecAttrServer)
/// The protocol of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrProtocol = constant(ValetSecItem.kSecAttrProtocol)
/// How the server authenticates; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType = constant(
    ValetSecItem.kSecAttrAuthenticationType)
/// The port of an internet password: a number; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrPort = constant(ValetSecItem.kSecAttrPort)
/// The path on the server; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrPath = constant(ValetSecItem.kSecAttrPath)
/// Another name of the item.
@safe nonisolated(unsafe) public let kSecAttrAlias = constant(ValetSecItem.kSecAttrAlias)
/// The script of the item's texts: a number.
@safe nonisolated(unsafe) public let kSecAttrScriptCode = constant(ValetSecItem.kSecAttrScriptCode)
/// Whether the item has an icon of its own; stored as 0 or 1.
@safe nonisolated(unsafe) public let kSecAttrHasCustomIcon = constant(
    ValetSecItem.kSecAttrHasCustomIcon)
/// The view in which the item is synchronized.
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint = constant(
    ValetSecItem.kSecAttrSyncViewHint)
/// The token that holds the item.
@safe nonisolated(unsafe) public let kSecAttrTokenID = constant(ValetSecItem.kSecAttrTokenID)
/// The token identifier of the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave = constant(
    ValetSecItem.kSecAttrTokenIDSecureEnclave)
/// The token identifier of the store of keys.
@safe nonisolated(unsafe) public let kSecAttrTokenIDAppleKeyStore = constant(
    ValetSecItem.kSecAttrTokenIDAppleKeyStore)
/// The token identifier of the Secure Element.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureElement = constant(
    ValetSecItem.kSecAttrTokenIDSecureElement)
/// The access group of tokens; no password can be stored in it.
@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken = constant(
    ValetSecItem.kSecAttrAccessGroupToken)

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

/// Public, private or symmetric.
@safe nonisolated(unsafe) public let kSecAttrKeyClass = constant(ValetSecItem.kSecAttrKeyClass)
/// A hash that identifies the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel = constant(
    ValetSecItem.kSecAttrApplicationLabel)
/// The application's own name for the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationTag = constant(
    ValetSecItem.kSecAttrApplicationTag)
/// Whether the key is stored.
@safe nonisolated(unsafe) public let kSecAttrIsPermanent = constant(
    ValetSecItem.kSecAttrIsPermanent)
/// Whether the key is private.
@safe nonisolated(unsafe) public let kSecAttrIsPrivate = constant(ValetSecItem.kSecAttrIsPrivate)
/// Whether the key can be changed.
@safe nonisolated(unsafe) public let kSecAttrIsModifiable = constant(
    ValetSecItem.kSecAttrIsModifiable)
/// The creator of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyCreator = constant(ValetSecItem.kSecAttrKeyCreator)
/// The algorithm of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyType = constant(ValetSecItem.kSecAttrKeyType)
/// The size of the key in bits.
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits = constant(
    ValetSecItem.kSecAttrKeySizeInBits)
/// The size of the key that counts, in bits.
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize = constant(
    ValetSecItem.kSecAttrEffectiveKeySize)
/// When the key becomes valid.
@safe nonisolated(unsafe) public let kSecAttrStartDate = constant(ValetSecItem.kSecAttrStartDate)
/// When the key stops being valid.
@safe nonisolated(unsafe) public let kSecAttrEndDate = constant(ValetSecItem.kSecAttrEndDate)
/// Whether the key leaves only wrapped.
@safe nonisolated(unsafe) public let kSecAttrIsSensitive = constant(
    ValetSecItem.kSecAttrIsSensitive)
/// Whether the key has always been sensitive.
@safe nonisolated(unsafe) public let kSecAttrWasAlwaysSensitive = constant(
    ValetSecItem.kSecAttrWasAlwaysSensitive)
/// Whether the key can be exported.
@safe nonisolated(unsafe) public let kSecAttrIsExtractable = constant(
    ValetSecItem.kSecAttrIsExtractable)
/// Whether the key could never be exported.
@safe nonisolated(unsafe) public let kSecAttrWasNeverExtractable = constant(
    ValetSecItem.kSecAttrWasNeverExtractable)
/// Whether the key encrypts.
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt = constant(ValetSecItem.kSecAttrCanEncrypt)
/// Whether the key decrypts.
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt = constant(ValetSecItem.kSecAttrCanDecrypt)
/// Whether keys can be derived from the key.
@safe nonisolated(unsafe) public let kSecAttrCanDerive = constant(ValetSecItem.kSecAttrCanDerive)
/// Whether the key signs.
@safe nonisolated(unsafe) public let kSecAttrCanSign = constant(ValetSecItem.kSecAttrCanSign)
/// Whether the key verifies.
@safe nonisolated(unsafe) public let kSecAttrCanVerify = constant(ValetSecItem.kSecAttrCanVerify)
/// Whether the key signs with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanSignRecover = constant(
    ValetSecItem.kSecAttrCanSignRecover)
/// Whether the key verifies with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanVerifyRecover = constant(
    ValetSecItem.kSecAttrCanVerifyRecover)
/// Whether the key wraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanWrap = constant(ValetSecItem.kSecAttrCanWrap)
/// Whether the key unwraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap = constant(ValetSecItem.kSecAttrCanUnwrap)
/// The type of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateType = constant(
    ValetSecItem.kSecAttrCertificateType)
/// The encoding of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding = constant(
    ValetSecItem.kSecAttrCertificateEncoding)
/// The subject of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubject = constant(ValetSecItem.kSecAttrSubject)
/// The issuer of a certificate.
@safe nonisolated(unsafe) public let kSecAttrIssuer = constant(ValetSecItem.kSecAttrIssuer)
/// The serial number of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSerialNumber = constant(
    ValetSecItem.kSecAttrSerialNumber)
/// The key identifier of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID = constant(
    ValetSecItem.kSecAttrSubjectKeyID)
/// A hash of the public key of a certificate.
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash = constant(
    ValetSecItem.kSecAttrPublicKeyHash)
/// A macOS access object.
@safe nonisolated(unsafe) public let kSecAttrAccess = constant(ValetSecItem.kSecAttrAccess)
/// The pseudo-random function of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrPRF = constant(ValetSecItem.kSecAttrPRF)
/// The salt of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrSalt = constant(ValetSecItem.kSecAttrSalt)
/// The number of rounds of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrRounds = constant(ValetSecItem.kSecAttrRounds)
/// The token's identifier of the key.
@safe nonisolated(unsafe) public let kSecAttrTokenOID = constant(ValetSecItem.kSecAttrTokenOID)
/// `kSecAttrTokenOID` by its older name.
@safe nonisolated(unsafe) public let kSecAttrSecureEnclaveKeyBlob = constant(
    ValetSecItem.kSecAttrSecureEnclaveKeyBlob)
/// Attributes of the private key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPrivateKeyAttrs = constant(
    ValetSecItem.kSecPrivateKeyAttrs)
/// Attributes of the public key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPublicKeyAttrs = constant(ValetSecItem.kSecPublicKeyAttrs)

// What a search matches and returns, and where values are. Those of certificates have no effect.

/// How many items to return: a number, `kSecMatchLimitOne` or `kSecMatchLimitAll`.
@safe nonisolated(unsafe) public let kSecMatchLimit = constant(ValetSecItem.kSecMatchLimit)
/// One item: the default.
@safe nonisolated(unsafe) public let kSecMatchLimitOne = constant(ValetSecItem.kSecMatchLimitOne)
/// All items, as an array.
@safe nonisolated(unsafe) public let kSecMatchLimitAll = constant(ValetSecItem.kSecMatchLimitAll)
/// Finds internet passwords of a host and of the domains above it: a string.
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost = constant(
    ValetSecItem.kSecMatchHostOrSubdomainOfHost)
/// A policy that certificates must satisfy; refused for passwords.
@safe nonisolated(unsafe) public let kSecMatchPolicy = constant(ValetSecItem.kSecMatchPolicy)
/// The items to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchItemList = constant(ValetSecItem.kSecMatchItemList)
/// The keychains to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchSearchList = constant(
    ValetSecItem.kSecMatchSearchList)
/// Issuers of certificates; `errSecUnimplemented` for passwords.
@safe nonisolated(unsafe) public let kSecMatchIssuers = constant(ValetSecItem.kSecMatchIssuers)
/// An address in certificates: a string, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent = constant(
    ValetSecItem.kSecMatchEmailAddressIfPresent)
/// Text in the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectContains = constant(
    ValetSecItem.kSecMatchSubjectContains)
/// Text at the start of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith = constant(
    ValetSecItem.kSecMatchSubjectStartsWith)
/// Text at the end of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith = constant(
    ValetSecItem.kSecMatchSubjectEndsWith)
/// The whole subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString = constant(
    ValetSecItem.kSecMatchSubjectWholeString)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive = constant(
    ValetSecItem.kSecMatchCaseInsensitive)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive = constant(
    ValetSecItem.kSecMatchDiacriticInsensitive)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive = constant(
    ValetSecItem.kSecMatchWidthInsensitive)
/// Only trusted certificates: a boolean, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly = constant(
    ValetSecItem.kSecMatchTrustedOnly)
/// Only certificates valid then: a date or null, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchValidOnDate = constant(
    ValetSecItem.kSecMatchValidOnDate)
/// Whether to return the value of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnData = constant(ValetSecItem.kSecReturnData)
/// Whether to return the attributes of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnAttributes = constant(
    ValetSecItem.kSecReturnAttributes)
/// Whether to return an object; passwords have none: a boolean.
@safe nonisolated(unsafe) public let kSecReturnRef = constant(ValetSecItem.kSecReturnRef)
/// Whether to return the name of the item that outlives its attributes: a boolean.
@safe nonisolated(unsafe) public let kSecReturnPersistentRef = constant(
    ValetSecItem.kSecReturnPersistentRef)
/// The value of the item: data.
@safe nonisolated(unsafe) public let kSecValueData = constant(ValetSecItem.kSecValueData)
/// A key, certificate or identity object. None exists here, so every value is refused.
@safe nonisolated(unsafe) public let kSecValueRef = constant(ValetSecItem.kSecValueRef)
/// The name of an item that outlives its attributes: 20 bytes of data.
@safe nonisolated(unsafe) public let kSecValuePersistentRef = constant(
    ValetSecItem.kSecValuePersistentRef)

// Options of a call.

/// The items to use; refused by every call.
@safe nonisolated(unsafe) public let kSecUseItemList = constant(ValetSecItem.kSecUseItemList)
/// The application's reason when the user is asked to authenticate: a string.
@safe nonisolated(unsafe) public let kSecUseOperationPrompt = constant(
    ValetSecItem.kSecUseOperationPrompt)
/// Whether questions are forbidden; true is `kSecUseAuthenticationUIFail`.
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI = constant(
    ValetSecItem.kSecUseNoAuthenticationUI)
/// Whether a person may be asked: one of the values below.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI = constant(
    ValetSecItem.kSecUseAuthenticationUI)
/// A person may be asked: the default.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow = constant(
    ValetSecItem.kSecUseAuthenticationUIAllow)
/// Questions are forbidden: an item that needs one is `errSecInteractionNotAllowed`.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail = constant(
    ValetSecItem.kSecUseAuthenticationUIFail)
/// Questions are forbidden: items that need one are left out. Only for searches.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip = constant(
    ValetSecItem.kSecUseAuthenticationUISkip)
/// A context with earlier proofs of the user's presence.
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext = constant(
    ValetSecItem.kSecUseAuthenticationContext)
/// Whether to use this keychain; accepted without effect, for there is no other.
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain = constant(
    ValetSecItem.kSecUseDataProtectionKeychain)
/// Whether to use one keychain for all users; accepted without effect.
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain = constant(
    ValetSecItem.kSecUseUserIndependentKeychain)
/// A keychain file of macOS; refused, as on iOS.
@safe nonisolated(unsafe) public let kSecUseKeychain = constant(ValetSecItem.kSecUseKeychain)
