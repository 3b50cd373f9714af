// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import SecItem

// The classes, attributes and keys of requests, as the objects that dictionaries hold.
// Nothing changes them, which the compiler cannot know of this type.

// Classes of items. The strings are those of Apple's systems and part of stored data.

/// The key under which a dictionary names the class of item.
@safe nonisolated(unsafe) public let kSecClass = constant(SecItem.kSecClass)
/// A password of an application: found by service and account.
@safe nonisolated(unsafe) public let kSecClassGenericPassword = constant(
    SecItem.kSecClassGenericPassword)
/// A password of a server: found by server, account, protocol, port and path.
@safe nonisolated(unsafe) public let kSecClassInternetPassword = constant(
    SecItem.kSecClassInternetPassword)
/// A certificate. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassCertificate = constant(SecItem.kSecClassCertificate)
/// A cryptographic key. None is kept: searches find nothing, adding is `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassKey = constant(SecItem.kSecClassKey)
/// A certificate with its private key. None is kept: searches find nothing, adding is
/// `errSecUnimplemented`.
@safe nonisolated(unsafe) public let kSecClassIdentity = constant(SecItem.kSecClassIdentity)

// Attributes of passwords. The strings are those of Apple's systems and part of stored data.

/// When the item may be read: one of the `kSecAttrAccessible…` values.
@safe nonisolated(unsafe) public let kSecAttrAccessible = constant(SecItem.kSecAttrAccessible)
/// What reading the item demands of a person; takes access control objects alone.
@safe nonisolated(unsafe) public let kSecAttrAccessControl = constant(SecItem.kSecAttrAccessControl)
/// The group of applications that share the item: a string.
@safe nonisolated(unsafe) public let kSecAttrAccessGroup = constant(SecItem.kSecAttrAccessGroup)
/// Whether the item is synchronized: a boolean, or in searches `kSecAttrSynchronizableAny`.
@safe nonisolated(unsafe) public let kSecAttrSynchronizable = constant(
    SecItem.kSecAttrSynchronizable)
/// In a search: local and synchronized items alike.
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny = constant(
    SecItem.kSecAttrSynchronizableAny)
/// When the item was added: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrCreationDate = constant(SecItem.kSecAttrCreationDate)
/// When the item was last changed: a date, set by the keychain.
@safe nonisolated(unsafe) public let kSecAttrModificationDate = constant(
    SecItem.kSecAttrModificationDate)
/// What kind of item it is, for people to read.
@safe nonisolated(unsafe) public let kSecAttrDescription = constant(SecItem.kSecAttrDescription)
/// A comment of the user's.
@safe nonisolated(unsafe) public let kSecAttrComment = constant(SecItem.kSecAttrComment)
/// The creator of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrCreator = constant(SecItem.kSecAttrCreator)
/// The type of the item: a number, or a four-character string.
@safe nonisolated(unsafe) public let kSecAttrType = constant(SecItem.kSecAttrType)
/// The name of the item that people see.
@safe nonisolated(unsafe) public let kSecAttrLabel = constant(SecItem.kSecAttrLabel)
/// Whether people should not see the item; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsInvisible = constant(SecItem.kSecAttrIsInvisible)
/// Whether no password is wanted here; stored as 0 or 1, without effect on searches.
@safe nonisolated(unsafe) public let kSecAttrIsNegative = constant(SecItem.kSecAttrIsNegative)
/// The account's name; part of what makes a password unique.
@safe nonisolated(unsafe) public let kSecAttrAccount = constant(SecItem.kSecAttrAccount)
/// The service a generic password is for; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrService = constant(SecItem.kSecAttrService)
/// Anything the application wants to keep with a generic password.
@safe nonisolated(unsafe) public let kSecAttrGeneric = constant(SecItem.kSecAttrGeneric)
/// The security domain of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrSecurityDomain = constant(
    SecItem.kSecAttrSecurityDomain)
/// The server of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrServer = constant(SecItem.kSecAttrServer)
/// The protocol of an internet password; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrProtocol = constant(SecItem.kSecAttrProtocol)
/// How the server authenticates; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationType = constant(
    SecItem.kSecAttrAuthenticationType)
/// The port of an internet password: a number; part of what makes it unique.
@safe nonisolated(unsafe) public let kSecAttrPort = constant(SecItem.kSecAttrPort)
/// The path on the server; part of what makes an internet password unique.
@safe nonisolated(unsafe) public let kSecAttrPath = constant(SecItem.kSecAttrPath)
/// Another name of the item.
@safe nonisolated(unsafe) public let kSecAttrAlias = constant(SecItem.kSecAttrAlias)
/// The script of the item's texts: a number.
@safe nonisolated(unsafe) public let kSecAttrScriptCode = constant(SecItem.kSecAttrScriptCode)
/// Whether the item has an icon of its own; stored as 0 or 1.
@safe nonisolated(unsafe) public let kSecAttrHasCustomIcon = constant(SecItem.kSecAttrHasCustomIcon)
/// The view in which the item is synchronized.
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint = constant(SecItem.kSecAttrSyncViewHint)
/// The token that holds the item.
@safe nonisolated(unsafe) public let kSecAttrTokenID = constant(SecItem.kSecAttrTokenID)
/// The token identifier of the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave = constant(
    SecItem.kSecAttrTokenIDSecureEnclave)
/// The token identifier of the store of keys.
@safe nonisolated(unsafe) public let kSecAttrTokenIDAppleKeyStore = constant(
    SecItem.kSecAttrTokenIDAppleKeyStore)
/// The token identifier of the Secure Element.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureElement = constant(
    SecItem.kSecAttrTokenIDSecureElement)
/// The access group of tokens; no password can be stored in it.
@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken = constant(
    SecItem.kSecAttrAccessGroupToken)

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

/// Public, private or symmetric.
@safe nonisolated(unsafe) public let kSecAttrKeyClass = constant(SecItem.kSecAttrKeyClass)
/// A hash that identifies the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel = constant(
    SecItem.kSecAttrApplicationLabel)
/// The application's own name for the key.
@safe nonisolated(unsafe) public let kSecAttrApplicationTag = constant(
    SecItem.kSecAttrApplicationTag)
/// Whether the key is stored.
@safe nonisolated(unsafe) public let kSecAttrIsPermanent = constant(SecItem.kSecAttrIsPermanent)
/// Whether the key is private.
@safe nonisolated(unsafe) public let kSecAttrIsPrivate = constant(SecItem.kSecAttrIsPrivate)
/// Whether the key can be changed.
@safe nonisolated(unsafe) public let kSecAttrIsModifiable = constant(SecItem.kSecAttrIsModifiable)
/// The creator of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyCreator = constant(SecItem.kSecAttrKeyCreator)
/// The algorithm of the key.
@safe nonisolated(unsafe) public let kSecAttrKeyType = constant(SecItem.kSecAttrKeyType)
/// The size of the key in bits.
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits = constant(SecItem.kSecAttrKeySizeInBits)
/// The size of the key that counts, in bits.
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize = constant(
    SecItem.kSecAttrEffectiveKeySize)
/// When the key becomes valid.
@safe nonisolated(unsafe) public let kSecAttrStartDate = constant(SecItem.kSecAttrStartDate)
/// When the key stops being valid.
@safe nonisolated(unsafe) public let kSecAttrEndDate = constant(SecItem.kSecAttrEndDate)
/// Whether the key leaves only wrapped.
@safe nonisolated(unsafe) public let kSecAttrIsSensitive = constant(SecItem.kSecAttrIsSensitive)
/// Whether the key has always been sensitive.
@safe nonisolated(unsafe) public let kSecAttrWasAlwaysSensitive = constant(
    SecItem.kSecAttrWasAlwaysSensitive)
/// Whether the key can be exported.
@safe nonisolated(unsafe) public let kSecAttrIsExtractable = constant(SecItem.kSecAttrIsExtractable)
/// Whether the key could never be exported.
@safe nonisolated(unsafe) public let kSecAttrWasNeverExtractable = constant(
    SecItem.kSecAttrWasNeverExtractable)
/// Whether the key encrypts.
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt = constant(SecItem.kSecAttrCanEncrypt)
/// Whether the key decrypts.
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt = constant(SecItem.kSecAttrCanDecrypt)
/// Whether keys can be derived from the key.
@safe nonisolated(unsafe) public let kSecAttrCanDerive = constant(SecItem.kSecAttrCanDerive)
/// Whether the key signs.
@safe nonisolated(unsafe) public let kSecAttrCanSign = constant(SecItem.kSecAttrCanSign)
/// Whether the key verifies.
@safe nonisolated(unsafe) public let kSecAttrCanVerify = constant(SecItem.kSecAttrCanVerify)
/// Whether the key signs with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanSignRecover = constant(
    SecItem.kSecAttrCanSignRecover)
/// Whether the key verifies with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanVerifyRecover = constant(
    SecItem.kSecAttrCanVerifyRecover)
/// Whether the key wraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanWrap = constant(SecItem.kSecAttrCanWrap)
/// Whether the key unwraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap = constant(SecItem.kSecAttrCanUnwrap)
/// The type of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateType = constant(
    SecItem.kSecAttrCertificateType)
/// The encoding of a certificate.
@safe nonisolated(unsafe) public let kSecAttrCertificateEncoding = constant(
    SecItem.kSecAttrCertificateEncoding)
/// The subject of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubject = constant(SecItem.kSecAttrSubject)
/// The issuer of a certificate.
@safe nonisolated(unsafe) public let kSecAttrIssuer = constant(SecItem.kSecAttrIssuer)
/// The serial number of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSerialNumber = constant(SecItem.kSecAttrSerialNumber)
/// The key identifier of a certificate.
@safe nonisolated(unsafe) public let kSecAttrSubjectKeyID = constant(SecItem.kSecAttrSubjectKeyID)
/// A hash of the public key of a certificate.
@safe nonisolated(unsafe) public let kSecAttrPublicKeyHash = constant(SecItem.kSecAttrPublicKeyHash)
/// A macOS access object.
@safe nonisolated(unsafe) public let kSecAttrAccess = constant(SecItem.kSecAttrAccess)
/// The pseudo-random function of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrPRF = constant(SecItem.kSecAttrPRF)
/// The salt of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrSalt = constant(SecItem.kSecAttrSalt)
/// The number of rounds of a key derivation.
@safe nonisolated(unsafe) public let kSecAttrRounds = constant(SecItem.kSecAttrRounds)
/// What a token knows the key by.
@safe nonisolated(unsafe) public let kSecAttrTokenOID = constant(SecItem.kSecAttrTokenOID)
/// `kSecAttrTokenOID` by its older name.
@safe nonisolated(unsafe) public let kSecAttrSecureEnclaveKeyBlob = constant(
    SecItem.kSecAttrSecureEnclaveKeyBlob)
/// Attributes of the private key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPrivateKeyAttrs = constant(SecItem.kSecPrivateKeyAttrs)
/// Attributes of the public key of a pair that is being made.
@safe nonisolated(unsafe) public let kSecPublicKeyAttrs = constant(SecItem.kSecPublicKeyAttrs)

// What a search matches and returns, and where values are. Those of certificates have no effect.

/// How many items to return: a number, `kSecMatchLimitOne` or `kSecMatchLimitAll`.
@safe nonisolated(unsafe) public let kSecMatchLimit = constant(SecItem.kSecMatchLimit)
/// One item: the default.
@safe nonisolated(unsafe) public let kSecMatchLimitOne = constant(SecItem.kSecMatchLimitOne)
/// All items, as an array.
@safe nonisolated(unsafe) public let kSecMatchLimitAll = constant(SecItem.kSecMatchLimitAll)
/// Finds internet passwords of a host and of the domains above it: a string.
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost = constant(
    SecItem.kSecMatchHostOrSubdomainOfHost)
/// A policy that certificates must satisfy; refused for passwords.
@safe nonisolated(unsafe) public let kSecMatchPolicy = constant(SecItem.kSecMatchPolicy)
/// The items to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchItemList = constant(SecItem.kSecMatchItemList)
/// The keychains to search; accepted without effect.
@safe nonisolated(unsafe) public let kSecMatchSearchList = constant(SecItem.kSecMatchSearchList)
/// Issuers of certificates; `errSecUnimplemented` for passwords.
@safe nonisolated(unsafe) public let kSecMatchIssuers = constant(SecItem.kSecMatchIssuers)
/// An address in certificates: a string, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent = constant(
    SecItem.kSecMatchEmailAddressIfPresent)
/// Text in the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectContains = constant(
    SecItem.kSecMatchSubjectContains)
/// Text at the start of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith = constant(
    SecItem.kSecMatchSubjectStartsWith)
/// Text at the end of the subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith = constant(
    SecItem.kSecMatchSubjectEndsWith)
/// The whole subject of certificates; without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString = constant(
    SecItem.kSecMatchSubjectWholeString)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive = constant(
    SecItem.kSecMatchCaseInsensitive)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive = constant(
    SecItem.kSecMatchDiacriticInsensitive)
/// Accepted without effect: passwords match byte by byte.
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive = constant(
    SecItem.kSecMatchWidthInsensitive)
/// Only trusted certificates: a boolean, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly = constant(SecItem.kSecMatchTrustedOnly)
/// Only certificates valid then: a date or null, without effect on passwords.
@safe nonisolated(unsafe) public let kSecMatchValidOnDate = constant(SecItem.kSecMatchValidOnDate)
/// Whether to return the value of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnData = constant(SecItem.kSecReturnData)
/// Whether to return the attributes of the item: a boolean.
@safe nonisolated(unsafe) public let kSecReturnAttributes = constant(SecItem.kSecReturnAttributes)
/// Whether to return an object; passwords have none: a boolean.
@safe nonisolated(unsafe) public let kSecReturnRef = constant(SecItem.kSecReturnRef)
/// Whether to return the name of the item that outlives its attributes: a boolean.
@safe nonisolated(unsafe) public let kSecReturnPersistentRef = constant(
    SecItem.kSecReturnPersistentRef)
/// The value of the item: data.
@safe nonisolated(unsafe) public let kSecValueData = constant(SecItem.kSecValueData)
/// A key, certificate or identity object; there are none here, so every value is refused.
@safe nonisolated(unsafe) public let kSecValueRef = constant(SecItem.kSecValueRef)
/// The name of an item that outlives its attributes: 20 bytes of data.
@safe nonisolated(unsafe) public let kSecValuePersistentRef = constant(
    SecItem.kSecValuePersistentRef)

// How a call is done.

/// The items to use; refused by every call.
@safe nonisolated(unsafe) public let kSecUseItemList = constant(SecItem.kSecUseItemList)
/// What a person is told when asked to authenticate: a string.
@safe nonisolated(unsafe) public let kSecUseOperationPrompt = constant(
    SecItem.kSecUseOperationPrompt)
/// Whether nobody may be asked; true is `kSecUseAuthenticationUIFail`.
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI = constant(
    SecItem.kSecUseNoAuthenticationUI)
/// Whether a person may be asked: one of the values below.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI = constant(
    SecItem.kSecUseAuthenticationUI)
/// A person may be asked: the default.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow = constant(
    SecItem.kSecUseAuthenticationUIAllow)
/// Nobody may be asked: an item that needs it is `errSecInteractionNotAllowed`.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail = constant(
    SecItem.kSecUseAuthenticationUIFail)
/// Nobody may be asked: items that need it are left out; only for searches.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip = constant(
    SecItem.kSecUseAuthenticationUISkip)
/// A context that carries what a person has proved already.
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext = constant(
    SecItem.kSecUseAuthenticationContext)
/// Whether to use this keychain; accepted without effect, for there is no other.
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain = constant(
    SecItem.kSecUseDataProtectionKeychain)
/// Whether to use one keychain for all users; accepted without effect.
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain = constant(
    SecItem.kSecUseUserIndependentKeychain)
/// A keychain file of macOS; refused, as on iOS.
@safe nonisolated(unsafe) public let kSecUseKeychain = constant(SecItem.kSecUseKeychain)
