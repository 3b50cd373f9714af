// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import SecItem

// What attributes and keys take, and the names that are not public on Apple's systems, as objects.
// Nothing changes them, which the compiler cannot know of this type.

// Values of kSecAttrAccessible: when an item may be read.

/// While the keychain is unlocked: the default.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked = constant(
    SecItem.kSecAttrAccessibleWhenUnlocked)
/// From the first unlocking after a start of the machine on.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock = constant(
    SecItem.kSecAttrAccessibleAfterFirstUnlock)
/// At any time. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways = constant(
    SecItem.kSecAttrAccessibleAlways)
/// While the keychain is unlocked, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly = constant(
    SecItem.kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
/// From the first unlocking after a start on, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = constant(
    SecItem.kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
/// At any time, and on no other device. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly = constant(
    SecItem.kSecAttrAccessibleAlwaysThisDeviceOnly)
/// While the keychain is unlocked and has a passcode, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly = constant(
    SecItem.kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

/// How the server authenticates: NTLM.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM = constant(
    SecItem.kSecAttrAuthenticationTypeNTLM)
/// How the server authenticates: that of MSN.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN = constant(
    SecItem.kSecAttrAuthenticationTypeMSN)
/// How the server authenticates: distributed password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA = constant(
    SecItem.kSecAttrAuthenticationTypeDPA)
/// How the server authenticates: remote password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA = constant(
    SecItem.kSecAttrAuthenticationTypeRPA)
/// How the server authenticates: HTTP's basic.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic = constant(
    SecItem.kSecAttrAuthenticationTypeHTTPBasic)
/// How the server authenticates: HTTP's digest.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest = constant(
    SecItem.kSecAttrAuthenticationTypeHTTPDigest)
/// How the server authenticates: a form on a page.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm = constant(
    SecItem.kSecAttrAuthenticationTypeHTMLForm)
/// How the server authenticates: whatever the server prefers.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault = constant(
    SecItem.kSecAttrAuthenticationTypeDefault)

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

/// The protocol of an internet password: FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTP = constant(SecItem.kSecAttrProtocolFTP)
/// The protocol of an internet password: an account for FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPAccount = constant(
    SecItem.kSecAttrProtocolFTPAccount)
/// The protocol of an internet password: HTTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTP = constant(SecItem.kSecAttrProtocolHTTP)
/// The protocol of an internet password: IRC.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRC = constant(SecItem.kSecAttrProtocolIRC)
/// The protocol of an internet password: NNTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTP = constant(SecItem.kSecAttrProtocolNNTP)
/// The protocol of an internet password: POP3.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3 = constant(SecItem.kSecAttrProtocolPOP3)
/// The protocol of an internet password: SMTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMTP = constant(SecItem.kSecAttrProtocolSMTP)
/// The protocol of an internet password: SOCKS.
@safe nonisolated(unsafe) public let kSecAttrProtocolSOCKS = constant(SecItem.kSecAttrProtocolSOCKS)
/// The protocol of an internet password: IMAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAP = constant(SecItem.kSecAttrProtocolIMAP)
/// The protocol of an internet password: LDAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAP = constant(SecItem.kSecAttrProtocolLDAP)
/// The protocol of an internet password: AppleTalk.
@safe nonisolated(unsafe) public let kSecAttrProtocolAppleTalk = constant(
    SecItem.kSecAttrProtocolAppleTalk)
/// The protocol of an internet password: AFP.
@safe nonisolated(unsafe) public let kSecAttrProtocolAFP = constant(SecItem.kSecAttrProtocolAFP)
/// The protocol of an internet password: Telnet.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnet = constant(
    SecItem.kSecAttrProtocolTelnet)
/// The protocol of an internet password: SSH.
@safe nonisolated(unsafe) public let kSecAttrProtocolSSH = constant(SecItem.kSecAttrProtocolSSH)
/// The protocol of an internet password: FTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPS = constant(SecItem.kSecAttrProtocolFTPS)
/// The protocol of an internet password: HTTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPS = constant(SecItem.kSecAttrProtocolHTTPS)
/// The protocol of an internet password: an HTTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy = constant(
    SecItem.kSecAttrProtocolHTTPProxy)
/// The protocol of an internet password: an HTTPS proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy = constant(
    SecItem.kSecAttrProtocolHTTPSProxy)
/// The protocol of an internet password: an FTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPProxy = constant(
    SecItem.kSecAttrProtocolFTPProxy)
/// The protocol of an internet password: SMB.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMB = constant(SecItem.kSecAttrProtocolSMB)
/// The protocol of an internet password: RTSP.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSP = constant(SecItem.kSecAttrProtocolRTSP)
/// The protocol of an internet password: an RTSP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy = constant(
    SecItem.kSecAttrProtocolRTSPProxy)
/// The protocol of an internet password: DAAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolDAAP = constant(SecItem.kSecAttrProtocolDAAP)
/// The protocol of an internet password: remote Apple events.
@safe nonisolated(unsafe) public let kSecAttrProtocolEPPC = constant(SecItem.kSecAttrProtocolEPPC)
/// The protocol of an internet password: IPP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIPP = constant(SecItem.kSecAttrProtocolIPP)
/// The protocol of an internet password: NNTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTPS = constant(SecItem.kSecAttrProtocolNNTPS)
/// The protocol of an internet password: LDAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAPS = constant(SecItem.kSecAttrProtocolLDAPS)
/// The protocol of an internet password: Telnet over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnetS = constant(
    SecItem.kSecAttrProtocolTelnetS)
/// The protocol of an internet password: IMAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAPS = constant(SecItem.kSecAttrProtocolIMAPS)
/// The protocol of an internet password: IRC over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRCS = constant(SecItem.kSecAttrProtocolIRCS)
/// The protocol of an internet password: POP3 over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3S = constant(SecItem.kSecAttrProtocolPOP3S)

// Values of the attributes of keys: names only, so that code builds.

/// A public key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic = constant(
    SecItem.kSecAttrKeyClassPublic)
/// A private key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate = constant(
    SecItem.kSecAttrKeyClassPrivate)
/// A symmetric key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric = constant(
    SecItem.kSecAttrKeyClassSymmetric)
/// RSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA = constant(SecItem.kSecAttrKeyTypeRSA)
/// DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA = constant(SecItem.kSecAttrKeyTypeDSA)
/// Elliptic curves.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC = constant(SecItem.kSecAttrKeyTypeEC)
/// Elliptic curves, for signing.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA = constant(SecItem.kSecAttrKeyTypeECDSA)
/// Elliptic curves over prime fields.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom = constant(
    SecItem.kSecAttrKeyTypeECSECPrimeRandom)
/// AES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES = constant(SecItem.kSecAttrKeyTypeAES)
/// DES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES = constant(SecItem.kSecAttrKeyTypeDES)
/// Triple DES.
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES = constant(SecItem.kSecAttrKeyType3DES)
/// RC2.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2 = constant(SecItem.kSecAttrKeyTypeRC2)
/// RC4.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4 = constant(SecItem.kSecAttrKeyTypeRC4)
/// CAST.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST = constant(SecItem.kSecAttrKeyTypeCAST)
/// ML-KEM.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLKEM = constant(SecItem.kSecAttrKeyTypeMLKEM)
/// ML-DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLDSA = constant(SecItem.kSecAttrKeyTypeMLDSA)
/// Ed25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd25519 = constant(
    SecItem.kSecAttrKeyTypeEd25519)
/// X25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX25519 = constant(SecItem.kSecAttrKeyTypeX25519)
/// Ed448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd448 = constant(SecItem.kSecAttrKeyTypeEd448)
/// X448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX448 = constant(SecItem.kSecAttrKeyTypeX448)
/// Kyber.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeKyber = constant(SecItem.kSecAttrKeyTypeKyber)
/// Elliptic curves over prime fields, in the public key accelerator.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandomPKA = constant(
    SecItem.kSecAttrKeyTypeECSECPrimeRandomPKA)
/// The key by which a Secure Enclave vouches.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAttestation = constant(
    SecItem.kSecAttrKeyTypeSecureEnclaveAttestation)
/// The key by which a Secure Enclave vouches without a name.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation = constant(
    SecItem.kSecAttrKeyTypeSecureEnclaveAnonymousAttestation)
/// Kyber-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber768 = constant(
    SecItem.kSecAttrKeySizeKyber768)
/// Kyber-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber1024 = constant(
    SecItem.kSecAttrKeySizeKyber1024)
/// ML-KEM-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM768 = constant(
    SecItem.kSecAttrKeySizeMLKEM768)
/// ML-KEM-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM1024 = constant(
    SecItem.kSecAttrKeySizeMLKEM1024)
/// ML-DSA-65.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA65 = constant(
    SecItem.kSecAttrKeySizeMLDSA65)
/// ML-DSA-87.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA87 = constant(
    SecItem.kSecAttrKeySizeMLDSA87)
/// HMAC with SHA-1.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1 = constant(
    SecItem.kSecAttrPRFHmacAlgSHA1)
/// HMAC with SHA-224.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224 = constant(
    SecItem.kSecAttrPRFHmacAlgSHA224)
/// HMAC with SHA-256.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256 = constant(
    SecItem.kSecAttrPRFHmacAlgSHA256)
/// HMAC with SHA-384.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384 = constant(
    SecItem.kSecAttrPRFHmacAlgSHA384)
/// HMAC with SHA-512.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512 = constant(
    SecItem.kSecAttrPRFHmacAlgSHA512)

// Names that only Apple's own programs use: no password has these attributes
// (`errSecNoSuchAttr`), and no call takes the other keys (`errSecParam`). Names only, so that code
// builds; the two that name an accessibility by another name do what it does.

/// Passwords that people share; no class that a call takes.
@safe nonisolated(unsafe) public let kSecClassAppleSharePassword = constant(
    SecItem.kSecClassAppleSharePassword)
/// ``kSecAttrAccessibleAlways`` by the name that did not become deprecated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysPrivate = constant(
    SecItem.kSecAttrAccessibleAlwaysPrivate)
/// ``kSecAttrAccessibleAlwaysThisDeviceOnly`` by the name that did not become deprecated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate = constant(
    SecItem.kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate)
/// Readable until the machine starts again; no class of items.
@safe nonisolated(unsafe) public let kSecAttrAccessibleUntilReboot = constant(
    SecItem.kSecAttrAccessibleUntilReboot)
/// Whether the row stands for an item that was deleted.
@safe nonisolated(unsafe) public let kSecAttrTombstone = constant(SecItem.kSecAttrTombstone)
/// The user of the machine that the item is for.
@safe nonisolated(unsafe) public let kSecAttrMultiUser = constant(SecItem.kSecAttrMultiUser)
/// What the row is called among devices.
@safe nonisolated(unsafe) public let kSecAttrUUID = constant(SecItem.kSecAttrUUID)
/// The random part of the persistent reference.
@safe nonisolated(unsafe) public let kSecAttrPersistentReference = constant(
    SecItem.kSecAttrPersistentReference)
/// Whether the item is bound to the system.
@safe nonisolated(unsafe) public let kSecAttrSysBound = constant(SecItem.kSecAttrSysBound)
/// A digest of the item.
@safe nonisolated(unsafe) public let kSecAttrSHA1 = constant(SecItem.kSecAttrSHA1)
/// `kSecUseDataProtectionKeychain` by its older name.
@safe nonisolated(unsafe) public let kSecAttrNoLegacy = constant(SecItem.kSecAttrNoLegacy)
/// The group of people that share the item.
@safe nonisolated(unsafe) public let kSecAttrSharingGroup = constant(SecItem.kSecAttrSharingGroup)
/// No such group.
@safe nonisolated(unsafe) public let kSecAttrSharingGroupNone = constant(
    SecItem.kSecAttrSharingGroupNone)
/// Whether the name among devices follows from the attributes.
@safe nonisolated(unsafe) public let kSecAttrDeriveSyncIDFromItemAttributes = constant(
    SecItem.kSecAttrDeriveSyncIDFromItemAttributes)
/// A service's number, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextServiceIdentifier = constant(
    SecItem.kSecAttrPCSPlaintextServiceIdentifier)
/// A service's public key, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicKey = constant(
    SecItem.kSecAttrPCSPlaintextPublicKey)
/// A service's identity, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicIdentity = constant(
    SecItem.kSecAttrPCSPlaintextPublicIdentity)
/// Notes beside an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraNotes = constant(
    SecItem.kSecDataInetExtraNotes)
/// Earlier values of an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraHistory = constant(
    SecItem.kSecDataInetExtraHistory)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined0 = constant(
    SecItem.kSecDataInetExtraClientDefined0)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined1 = constant(
    SecItem.kSecDataInetExtraClientDefined1)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined2 = constant(
    SecItem.kSecDataInetExtraClientDefined2)
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined3 = constant(
    SecItem.kSecDataInetExtraClientDefined3)
/// The volume of a file server.
@safe nonisolated(unsafe) public let kSecAttrVolume = constant(SecItem.kSecAttrVolume)
/// The address of a file server.
@safe nonisolated(unsafe) public let kSecAttrAddress = constant(SecItem.kSecAttrAddress)
/// The signature of a file server.
@safe nonisolated(unsafe) public let kSecAttrAFPServerSignature = constant(
    SecItem.kSecAttrAFPServerSignature)
/// The type of a list of revoked certificates.
@safe nonisolated(unsafe) public let kSecAttrCRLType = constant(SecItem.kSecAttrCRLType)
/// The encoding of a list of revoked certificates.
@safe nonisolated(unsafe) public let kSecAttrCRLEncoding = constant(SecItem.kSecAttrCRLEncoding)
/// A password in what a call about shared web credentials returns.
@safe nonisolated(unsafe) public let kSecSharedPassword = constant(SecItem.kSecSharedPassword)
/// Whether to leave a mark where an item was deleted.
@safe nonisolated(unsafe) public let kSecUseTombstones = constant(SecItem.kSecUseTombstones)
/// What a person has proved already, as bytes.
@safe nonisolated(unsafe) public let kSecUseCredentialReference = constant(
    SecItem.kSecUseCredentialReference)
/// Whether to use the keychain of the system.
@safe nonisolated(unsafe) public let kSecUseSystemKeychain = constant(SecItem.kSecUseSystemKeychain)
/// Whether to use the keychain of the system for every caller.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlways = constant(
    SecItem.kSecUseSystemKeychainAlways)
/// `kSecUseSystemKeychainAlways` by its longer name.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS =
    constant(SecItem.kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS)
/// Whether to use a keychain of those that share a device.
@safe nonisolated(unsafe) public let kSecUseSyncBubbleKeychain = constant(
    SecItem.kSecUseSyncBubbleKeychain)
/// The program that a person is told of.
@safe nonisolated(unsafe) public let kSecUseCallerName = constant(SecItem.kSecUseCallerName)
/// Whether the items of tokens come as they are.
@safe nonisolated(unsafe) public let kSecUseTokenRawItems = constant(SecItem.kSecUseTokenRawItems)
/// Whether certificates come with their issuers.
@safe nonisolated(unsafe) public let kSecUseCertificatesWithMatchIssuers = constant(
    SecItem.kSecUseCertificatesWithMatchIssuers)
/// The access group of those that synchronize items.
@safe nonisolated(unsafe) public let kSOSInternalAccessGroup = constant(
    SecItem.kSOSInternalAccessGroup)

// Keys of calls that import PKCS#12 files. Those calls are not offered.

/// The passphrase of a PKCS#12 file that is imported.
@safe nonisolated(unsafe) public let kSecImportExportPassphrase = constant(
    SecItem.kSecImportExportPassphrase)
/// The label of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemLabel = constant(SecItem.kSecImportItemLabel)
/// The key identifier of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemKeyID = constant(SecItem.kSecImportItemKeyID)
/// The trust object of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemTrust = constant(SecItem.kSecImportItemTrust)
/// The certificates that came with an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemCertChain = constant(
    SecItem.kSecImportItemCertChain)
/// The identity that was imported.
@safe nonisolated(unsafe) public let kSecImportItemIdentity = constant(
    SecItem.kSecImportItemIdentity)
