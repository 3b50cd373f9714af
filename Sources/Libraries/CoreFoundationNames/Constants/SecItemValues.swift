// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetSecItem

// The values of attributes and keys, and names that are not public on Apple's systems, as objects.
// Nothing changes these objects, but the compiler cannot know that from their type.

// Values of kSecAttrAccessible: when an item may be read.

/// While the keychain is unlocked: the default.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked = constant(
    ValetSecItem.kSecAttrAccessibleWhenUnlocked)
/// From the first unlocking after a start of the machine on.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock = constant(
    ValetSecItem.kSecAttrAccessibleAfterFirstUnlock)
/// At any time. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways = constant(
    ValetSecItem.kSecAttrAccessibleAlways)
/// While the keychain is unlocked, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly = constant(
    ValetSecItem.kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
/// From the first unlocking after a start on, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = constant(
    ValetSecItem.kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
/// At any time, and on no other device. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly = constant(
    ValetSecItem.kSecAttrAccessibleAlwaysThisDeviceOnly)
/// While the keychain is unlocked and has a passcode, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly = constant(
    ValetSecItem.kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

/// How the server authenticates: NTLM.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM = constant(
    ValetSecItem.kSecAttrAuthenticationTypeNTLM)
/// How the server authenticates: MSN.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN = constant(
    ValetSecItem.kSecAttrAuthenticationTypeMSN)
/// How the server authenticates: distributed password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA = constant(
    ValetSecItem.kSecAttrAuthenticationTypeDPA)
/// How the server authenticates: remote password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA = constant(
    ValetSecItem.kSecAttrAuthenticationTypeRPA)
/// How the server authenticates: HTTP Basic.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic = constant(
    ValetSecItem.kSecAttrAuthenticationTypeHTTPBasic)
/// How the server authenticates: HTTP Digest.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest = constant(
    ValetSecItem.kSecAttrAuthenticationTypeHTTPDigest)
/// How the server authenticates: an HTML form.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm = constant(
    ValetSecItem.kSecAttrAuthenticationTypeHTMLForm)
/// How the server authenticates: whatever the server prefers.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault = constant(
    ValetSecItem.kSecAttrAuthenticationTypeDefault)

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

/// The protocol of an internet password: FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTP = constant(
    ValetSecItem.kSecAttrProtocolFTP)
/// The protocol of an internet password: an account for FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPAccount = constant(
    ValetSecItem.kSecAttrProtocolFTPAccount)
/// The protocol of an internet password: HTTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTP = constant(
    ValetSecItem.kSecAttrProtocolHTTP)
/// The protocol of an internet password: IRC.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRC = constant(
    ValetSecItem.kSecAttrProtocolIRC)
/// The protocol of an internet password: NNTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTP = constant(
    ValetSecItem.kSecAttrProtocolNNTP)
/// The protocol of an internet password: POP3.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3 = constant(
    ValetSecItem.kSecAttrProtocolPOP3)
/// The protocol of an internet password: SMTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMTP = constant(
    ValetSecItem.kSecAttrProtocolSMTP)
/// The protocol of an internet password: SOCKS.
@safe nonisolated(unsafe) public let kSecAttrProtocolSOCKS = constant(
    ValetSecItem.kSecAttrProtocolSOCKS)
/// The protocol of an internet password: IMAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAP = constant(
    ValetSecItem.kSecAttrProtocolIMAP)
/// The protocol of an internet password: LDAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAP = constant(
    ValetSecItem.kSecAttrProtocolLDAP)
/// The protocol of an internet password: AppleTalk.
@safe nonisolated(unsafe) public let kSecAttrProtocolAppleTalk = constant(
    ValetSecItem.kSecAttrProtocolAppleTalk)
/// The protocol of an internet password: AFP.
@safe nonisolated(unsafe) public let kSecAttrProtocolAFP = constant(
    ValetSecItem.kSecAttrProtocolAFP)
/// The protocol of an internet password: Telnet.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnet = constant(
    ValetSecItem.kSecAttrProtocolTelnet)
/// The protocol of an internet password: SSH.
@safe nonisolated(unsafe) public let kSecAttrProtocolSSH = constant(
    ValetSecItem.kSecAttrProtocolSSH)
/// The protocol of an internet password: FTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPS = constant(
    ValetSecItem.kSecAttrProtocolFTPS)
/// The protocol of an internet password: HTTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPS = constant(
    ValetSecItem.kSecAttrProtocolHTTPS)
/// The protocol of an internet password: an HTTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy = constant(
    ValetSecItem.kSecAttrProtocolHTTPProxy)
/// The protocol of an internet password: an HTTPS proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy = constant(
    ValetSecItem.kSecAttrProtocolHTTPSProxy)
/// The protocol of an internet password: an FTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPProxy = constant(
    ValetSecItem.kSecAttrProtocolFTPProxy)
/// The protocol of an internet password: SMB.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMB = constant(
    ValetSecItem.kSecAttrProtocolSMB)
/// The protocol of an internet password: RTSP.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSP = constant(
    ValetSecItem.kSecAttrProtocolRTSP)
/// The protocol of an internet password: an RTSP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy = constant(
    ValetSecItem.kSecAttrProtocolRTSPProxy)
/// The protocol of an internet password: DAAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolDAAP = constant(
    ValetSecItem.kSecAttrProtocolDAAP)
/// The protocol of an internet password: remote Apple events.
@safe nonisolated(unsafe) public let kSecAttrProtocolEPPC = constant(
    ValetSecItem.kSecAttrProtocolEPPC)
/// The protocol of an internet password: IPP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIPP = constant(
    ValetSecItem.kSecAttrProtocolIPP)
/// The protocol of an internet password: NNTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTPS = constant(
    ValetSecItem.kSecAttrProtocolNNTPS)
/// The protocol of an internet password: LDAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAPS = constant(
    ValetSecItem.kSecAttrProtocolLDAPS)
/// The protocol of an internet password: Telnet over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnetS = constant(
    ValetSecItem.kSecAttrProtocolTelnetS)
/// The protocol of an internet password: IMAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAPS = constant(
    ValetSecItem.kSecAttrProtocolIMAPS)
/// The protocol of an internet password: IRC over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRCS = constant(
    ValetSecItem.kSecAttrProtocolIRCS)
/// The protocol of an internet password: POP3 over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3S = constant(
    ValetSecItem.kSecAttrProtocolPOP3S)

// Values of the attributes of keys: names only, so that code builds.

/// A public key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic = constant(
    ValetSecItem.kSecAttrKeyClassPublic)
/// A private key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate = constant(
    ValetSecItem.kSecAttrKeyClassPrivate)
/// A symmetric key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric = constant(
    ValetSecItem.kSecAttrKeyClassSymmetric)
/// RSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA = constant(ValetSecItem.kSecAttrKeyTypeRSA)
/// DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA = constant(ValetSecItem.kSecAttrKeyTypeDSA)
/// Elliptic curves.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC = constant(ValetSecItem.kSecAttrKeyTypeEC)
/// Elliptic curves, for signing.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA = constant(
    ValetSecItem.kSecAttrKeyTypeECDSA)
/// Elliptic curves over prime fields.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom = constant(
    ValetSecItem.kSecAttrKeyTypeECSECPrimeRandom)
/// AES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES = constant(ValetSecItem.kSecAttrKeyTypeAES)
/// DES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES = constant(ValetSecItem.kSecAttrKeyTypeDES)
/// Triple DES.
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES = constant(
    ValetSecItem.kSecAttrKeyType3DES)
/// RC2.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2 = constant(ValetSecItem.kSecAttrKeyTypeRC2)
/// RC4.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4 = constant(ValetSecItem.kSecAttrKeyTypeRC4)
/// CAST.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST = constant(
    ValetSecItem.kSecAttrKeyTypeCAST)
/// ML-KEM.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLKEM = constant(
    ValetSecItem.kSecAttrKeyTypeMLKEM)
/// ML-DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLDSA = constant(
    ValetSecItem.kSecAttrKeyTypeMLDSA)
/// Ed25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd25519 = constant(
    ValetSecItem.kSecAttrKeyTypeEd25519)
/// X25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX25519 = constant(
    ValetSecItem.kSecAttrKeyTypeX25519)
/// Ed448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd448 = constant(
    ValetSecItem.kSecAttrKeyTypeEd448)
/// X448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX448 = constant(
    ValetSecItem.kSecAttrKeyTypeX448)
/// Kyber.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeKyber = constant(
    ValetSecItem.kSecAttrKeyTypeKyber)
/// Elliptic curves over prime fields, in the public key accelerator.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandomPKA = constant(
    ValetSecItem.kSecAttrKeyTypeECSECPrimeRandomPKA)
/// The key with which a Secure Enclave attests.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAttestation = constant(
    ValetSecItem.kSecAttrKeyTypeSecureEnclaveAttestation)
/// The key with which a Secure Enclave attests anonymously.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation = constant(
    ValetSecItem.kSecAttrKeyTypeSecureEnclaveAnonymousAttestation)
/// Kyber-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber768 = constant(
    ValetSecItem.kSecAttrKeySizeKyber768)
/// Kyber-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber1024 = constant(
    ValetSecItem.kSecAttrKeySizeKyber1024)
/// ML-KEM-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM768 = constant(
    ValetSecItem.kSecAttrKeySizeMLKEM768)
/// ML-KEM-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM1024 = constant(
    ValetSecItem.kSecAttrKeySizeMLKEM1024)
/// ML-DSA-65.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA65 = constant(
    ValetSecItem.kSecAttrKeySizeMLDSA65)
/// ML-DSA-87.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA87 = constant(
    ValetSecItem.kSecAttrKeySizeMLDSA87)
/// HMAC with SHA-1.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1 = constant(
    ValetSecItem.kSecAttrPRFHmacAlgSHA1)
/// HMAC with SHA-224.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224 = constant(
    ValetSecItem.kSecAttrPRFHmacAlgSHA224)
/// HMAC with SHA-256.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256 = constant(
    ValetSecItem.kSecAttrPRFHmacAlgSHA256)
/// HMAC with SHA-384.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384 = constant(
    ValetSecItem.kSecAttrPRFHmacAlgSHA384)
/// HMAC with SHA-512.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512 = constant(
    ValetSecItem.kSecAttrPRFHmacAlgSHA512)

// Names that only Apple's own programs use, so that code builds. No password has these attributes
// (`errSecNoSuchAttr`), and no call accepts the other keys (`errSecParam`). Only the two
// alternative names of accessibilities have an effect.

/// The class of shared passwords. No call accepts it.
@safe nonisolated(unsafe) public let kSecClassAppleSharePassword = constant(
    ValetSecItem.kSecClassAppleSharePassword)
/// ``kSecAttrAccessibleAlways`` under a name that Apple did not deprecate.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysPrivate = constant(
    ValetSecItem.kSecAttrAccessibleAlwaysPrivate)
/// ``kSecAttrAccessibleAlwaysThisDeviceOnly`` under a name that Apple did not deprecate.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate = constant(
    ValetSecItem.kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate)
/// Readable until the machine starts again; no class of items.
@safe nonisolated(unsafe) public let kSecAttrAccessibleUntilReboot = constant(
    ValetSecItem.kSecAttrAccessibleUntilReboot)
/// Whether the row stands for an item that was deleted.
@safe nonisolated(unsafe) public let kSecAttrTombstone = constant(ValetSecItem.kSecAttrTombstone)
/// The user of the machine that the item is for.
@safe nonisolated(unsafe) public let kSecAttrMultiUser = constant(ValetSecItem.kSecAttrMultiUser)
/// The name of the row among devices.
@safe nonisolated(unsafe) public let kSecAttrUUID = constant(ValetSecItem.kSecAttrUUID)
/// The random part of the persistent reference.
@safe nonisolated(unsafe) public let kSecAttrPersistentReference = constant(
    ValetSecItem.kSecAttrPersistentReference)
/// The random part of the persistent reference, as older headers spell it.
@safe nonisolated(unsafe) public let kSecAttrPersistantReference = kSecAttrPersistentReference
/// Whether the item is bound to the system.
@safe nonisolated(unsafe) public let kSecAttrSysBound = constant(ValetSecItem.kSecAttrSysBound)
/// A digest of the item.
@safe nonisolated(unsafe) public let kSecAttrSHA1 = constant(ValetSecItem.kSecAttrSHA1)
/// `kSecUseDataProtectionKeychain` by its older name.
@safe nonisolated(unsafe) public let kSecAttrNoLegacy = constant(ValetSecItem.kSecAttrNoLegacy)
/// The group of people that share the item.
@safe nonisolated(unsafe) public let kSecAttrSharingGroup = constant(
    ValetSecItem.kSecAttrSharingGroup)
/// No such group.
@safe nonisolated(unsafe) public let kSecAttrSharingGroupNone = constant(
    ValetSecItem.kSecAttrSharingGroupNone)
/// Whether the name among devices follows from the attributes.
@safe nonisolated(unsafe) public let kSecAttrDeriveSyncIDFromItemAttributes = constant(
    ValetSecItem.kSecAttrDeriveSyncIDFromItemAttributes)
/// A service's number, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextServiceIdentifier = constant(
    ValetSecItem.kSecAttrPCSPlaintextServiceIdentifier)
/// A service's public key, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicKey = constant(
    ValetSecItem.kSecAttrPCSPlaintextPublicKey)
/// A service's identity, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicIdentity = constant(
    ValetSecItem.kSecAttrPCSPlaintextPublicIdentity)
/// Notes beside an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraNotes = constant(
    ValetSecItem.kSecDataInetExtraNotes)
/// Earlier values of an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraHistory = constant(
    ValetSecItem.kSecDataInetExtraHistory)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined0 = constant(
    ValetSecItem.kSecDataInetExtraClientDefined0)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined1 = constant(
    ValetSecItem.kSecDataInetExtraClientDefined1)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined2 = constant(
    ValetSecItem.kSecDataInetExtraClientDefined2)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined3 = constant(
    ValetSecItem.kSecDataInetExtraClientDefined3)
/// The volume of a file server.
@safe nonisolated(unsafe) public let kSecAttrVolume = constant(ValetSecItem.kSecAttrVolume)
/// The address of a file server.
@safe nonisolated(unsafe) public let kSecAttrAddress = constant(ValetSecItem.kSecAttrAddress)
/// The signature of a file server.
@safe nonisolated(unsafe) public let kSecAttrAFPServerSignature = constant(
    ValetSecItem.kSecAttrAFPServerSignature)
/// The type of a list of revoked certificates.
@safe nonisolated(unsafe) public let kSecAttrCRLType = constant(ValetSecItem.kSecAttrCRLType)
/// The encoding of a list of revoked certificates.
@safe nonisolated(unsafe) public let kSecAttrCRLEncoding = constant(
    ValetSecItem.kSecAttrCRLEncoding)
/// A password in what a call about shared web credentials returns.
@safe nonisolated(unsafe) public let kSecSharedPassword = constant(ValetSecItem.kSecSharedPassword)
/// Whether to leave a mark where an item was deleted.
@safe nonisolated(unsafe) public let kSecUseTombstones = constant(ValetSecItem.kSecUseTombstones)
/// Earlier proofs of the user's presence, as bytes.
@safe nonisolated(unsafe) public let kSecUseCredentialReference = constant(
    ValetSecItem.kSecUseCredentialReference)
/// Whether to use the keychain of the system.
@safe nonisolated(unsafe) public let kSecUseSystemKeychain = constant(
    ValetSecItem.kSecUseSystemKeychain)
/// Whether to use the keychain of the system for every caller.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlways = constant(
    ValetSecItem.kSecUseSystemKeychainAlways)
/// `kSecUseSystemKeychainAlways` by its longer name.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS =
    constant(ValetSecItem.kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS)
/// Whether to use a keychain of users that share a device.
@safe nonisolated(unsafe) public let kSecUseSyncBubbleKeychain = constant(
    ValetSecItem.kSecUseSyncBubbleKeychain)
/// The program's name in questions to the user.
@safe nonisolated(unsafe) public let kSecUseCallerName = constant(ValetSecItem.kSecUseCallerName)
/// Whether to return the items of tokens unchanged.
@safe nonisolated(unsafe) public let kSecUseTokenRawItems = constant(
    ValetSecItem.kSecUseTokenRawItems)
/// Whether to return certificates with their issuers.
@safe nonisolated(unsafe) public let kSecUseCertificatesWithMatchIssuers = constant(
    ValetSecItem.kSecUseCertificatesWithMatchIssuers)
/// The access group of the programs that synchronize items.
@safe nonisolated(unsafe) public let kSOSInternalAccessGroup = constant(
    ValetSecItem.kSOSInternalAccessGroup)

// Keys of calls that import PKCS#12 files. Those calls are not offered.

/// The passphrase of a PKCS#12 file that is imported.
@safe nonisolated(unsafe) public let kSecImportExportPassphrase = constant(
    ValetSecItem.kSecImportExportPassphrase)
/// The label of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemLabel = constant(
    ValetSecItem.kSecImportItemLabel)
/// The key identifier of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemKeyID = constant(
    ValetSecItem.kSecImportItemKeyID)
/// The trust object of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemTrust = constant(
    ValetSecItem.kSecImportItemTrust)
/// The certificates that came with an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemCertChain = constant(
    ValetSecItem.kSecImportItemCertChain)
/// The identity that was imported.
@safe nonisolated(unsafe) public let kSecImportItemIdentity = constant(
    ValetSecItem.kSecImportItemIdentity)
