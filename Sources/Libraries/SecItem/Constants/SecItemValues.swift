// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

// The values of attributes and keys, and names that are not public on Apple's systems, as objects.
// Nothing changes these objects, but the compiler cannot know that from their type.

// Values of kSecAttrAccessible: when an item may be read.

/// While the keychain is unlocked: the default.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked =
    constant(ProtectionClass.whenUnlocked.code)
/// After the keychain was unlocked once since the machine started.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock =
    constant(ProtectionClass.afterFirstUnlock.code)
/// At any time. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways =
    constant(ProtectionClass.always.code)
/// While the keychain is unlocked, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly =
    constant(ProtectionClass.whenUnlockedThisDeviceOnly.code)
/// After the keychain was unlocked once since the machine started, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly =
    constant(ProtectionClass.afterFirstUnlockThisDeviceOnly.code)
/// At any time, and on no other device. Retired; kept so that its items can be migrated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly =
    constant(ProtectionClass.alwaysThisDeviceOnly.code)
/// While the keychain is unlocked and has a passcode, and on no other device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly =
    constant(ProtectionClass.whenPasscodeSetThisDeviceOnly.code)

// Values of kSecAttrAuthenticationType; four characters each. Others are stored as well.

/// How the server authenticates: NTLM.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM = constant("ntlm")
/// How the server authenticates: MSN.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN = constant("msna")
/// How the server authenticates: distributed password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA = constant("dpaa")
/// How the server authenticates: remote password authentication.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA = constant("rpaa")
/// How the server authenticates: HTTP Basic.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic = constant("http")
/// How the server authenticates: HTTP Digest.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest = constant("httd")
/// How the server authenticates: an HTML form.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm = constant("form")
/// How the server authenticates: whatever the server prefers.
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault = constant("dflt")

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

/// The protocol of an internet password: FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTP = constant("ftp ")
/// The protocol of an internet password: an account for FTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPAccount = constant("ftpa")
/// The protocol of an internet password: HTTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTP = constant("http")
/// The protocol of an internet password: IRC.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRC = constant("irc ")
/// The protocol of an internet password: NNTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTP = constant("nntp")
/// The protocol of an internet password: POP3.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3 = constant("pop3")
/// The protocol of an internet password: SMTP.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMTP = constant("smtp")
/// The protocol of an internet password: SOCKS.
@safe nonisolated(unsafe) public let kSecAttrProtocolSOCKS = constant("sox ")
/// The protocol of an internet password: IMAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAP = constant("imap")
/// The protocol of an internet password: LDAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAP = constant("ldap")
/// The protocol of an internet password: AppleTalk.
@safe nonisolated(unsafe) public let kSecAttrProtocolAppleTalk = constant("atlk")
/// The protocol of an internet password: AFP.
@safe nonisolated(unsafe) public let kSecAttrProtocolAFP = constant("afp ")
/// The protocol of an internet password: Telnet.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnet = constant("teln")
/// The protocol of an internet password: SSH.
@safe nonisolated(unsafe) public let kSecAttrProtocolSSH = constant("ssh ")
/// The protocol of an internet password: FTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPS = constant("ftps")
/// The protocol of an internet password: HTTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPS = constant("htps")
/// The protocol of an internet password: an HTTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy = constant("htpx")
/// The protocol of an internet password: an HTTPS proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy = constant("htsx")
/// The protocol of an internet password: an FTP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPProxy = constant("ftpx")
/// The protocol of an internet password: SMB.
@safe nonisolated(unsafe) public let kSecAttrProtocolSMB = constant("smb ")
/// The protocol of an internet password: RTSP.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSP = constant("rtsp")
/// The protocol of an internet password: an RTSP proxy.
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy = constant("rtsx")
/// The protocol of an internet password: DAAP.
@safe nonisolated(unsafe) public let kSecAttrProtocolDAAP = constant("daap")
/// The protocol of an internet password: remote Apple events.
@safe nonisolated(unsafe) public let kSecAttrProtocolEPPC = constant("eppc")
/// The protocol of an internet password: IPP.
@safe nonisolated(unsafe) public let kSecAttrProtocolIPP = constant("ipp ")
/// The protocol of an internet password: NNTP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTPS = constant("ntps")
/// The protocol of an internet password: LDAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAPS = constant("ldps")
/// The protocol of an internet password: Telnet over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnetS = constant("tels")
/// The protocol of an internet password: IMAP over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAPS = constant("imps")
/// The protocol of an internet password: IRC over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolIRCS = constant("ircs")
/// The protocol of an internet password: POP3 over TLS.
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3S = constant("pops")

// Values of the attributes of keys: names only, so that code builds.

/// A public key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic = constant("0")
/// A private key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate = constant("1")
/// A symmetric key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric = constant("2")
/// RSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA = constant("42")
/// DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA = constant("43")
/// Elliptic curves.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC = constant("73")
/// Elliptic curves, for signing.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA = constant("73")
/// Elliptic curves over prime fields.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom = constant("73")
/// AES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES = constant("2147483649")
/// DES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES = constant("14")
/// Triple DES.
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES = constant("17")
/// RC2.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2 = constant("23")
/// RC4.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4 = constant("25")
/// CAST.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST = constant("56")
/// ML-KEM.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLKEM = constant("110")
/// ML-DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLDSA = constant("111")
/// Ed25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd25519 = constant("105")
/// X25519.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX25519 = constant("106")
/// Ed448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd448 = constant("107")
/// X448.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX448 = constant("108")
/// Kyber.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeKyber = constant("109")
/// Elliptic curves over prime fields, in the public key accelerator.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandomPKA = constant("2147483678")
/// The key with which a Secure Enclave attests.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAttestation =
    constant("2147483679")
/// The key with which a Secure Enclave attests anonymously.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation =
    constant("2147483680")
/// Kyber-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber768 = constant("768")
/// Kyber-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeKyber1024 = constant("1024")
/// ML-KEM-768.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM768 = constant("768")
/// ML-KEM-1024.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLKEM1024 = constant("1024")
/// ML-DSA-65.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA65 = constant("65")
/// ML-DSA-87.
@safe nonisolated(unsafe) public let kSecAttrKeySizeMLDSA87 = constant("87")
/// HMAC with SHA-1.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1 = constant("hsha1")
/// HMAC with SHA-224.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224 = constant("hsha224")
/// HMAC with SHA-256.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256 = constant("hsha256")
/// HMAC with SHA-384.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384 = constant("hsha384")
/// HMAC with SHA-512.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512 = constant("hsha512")

// Names that only Apple's own programs use, so that code builds. No password has these attributes
// (`errSecNoSuchAttr`), and no call accepts the other keys (`errSecParam`). Only the two
// alternative names of accessibilities have an effect.

/// The class of shared passwords. No call accepts it.
@safe nonisolated(unsafe) public let kSecClassAppleSharePassword = constant("apls")
/// ``kSecAttrAccessibleAlways`` under a name that Apple did not deprecate.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysPrivate = kSecAttrAccessibleAlways
/// ``kSecAttrAccessibleAlwaysThisDeviceOnly`` under a name that Apple did not deprecate.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate =
    kSecAttrAccessibleAlwaysThisDeviceOnly
/// Readable until the machine starts again; no class of items.
@safe nonisolated(unsafe) public let kSecAttrAccessibleUntilReboot = constant("f")
/// Whether the row stands for an item that was deleted.
@safe nonisolated(unsafe) public let kSecAttrTombstone = constant("tomb")
/// The user of the machine that the item is for.
@safe nonisolated(unsafe) public let kSecAttrMultiUser = constant("musr")
/// The name of the row among devices.
@safe nonisolated(unsafe) public let kSecAttrUUID = constant("UUID")
/// The random part of the persistent reference.
@safe nonisolated(unsafe) public let kSecAttrPersistentReference = constant("persistref")
/// The random part of the persistent reference, as older headers spell it.
@safe nonisolated(unsafe) public let kSecAttrPersistantReference = kSecAttrPersistentReference
/// Whether the item is bound to the system.
@safe nonisolated(unsafe) public let kSecAttrSysBound = constant("sysb")
/// A digest of the item.
@safe nonisolated(unsafe) public let kSecAttrSHA1 = constant("sha1")
/// `kSecUseDataProtectionKeychain` by its older name.
@safe nonisolated(unsafe) public let kSecAttrNoLegacy = kSecUseDataProtectionKeychain
/// The group of people that share the item.
@safe nonisolated(unsafe) public let kSecAttrSharingGroup = constant("ggrp")
/// The value of ``kSecAttrSharingGroup`` for no group.
@safe nonisolated(unsafe) public let kSecAttrSharingGroupNone = constant("")
/// Whether the name among devices is derived from the attributes.
@safe nonisolated(unsafe) public let kSecAttrDeriveSyncIDFromItemAttributes = constant("dspk")
/// A service's number, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextServiceIdentifier = constant("pcss")
/// A service's public key, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicKey = constant("pcsk")
/// A service's identity, readable by the server.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicIdentity = constant("pcsi")
/// Notes beside an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraNotes = constant("binn")
/// Earlier values of an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraHistory = constant("bini")
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined0 = constant("bin0")
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined1 = constant("bin1")
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined2 = constant("bin2")
/// Whatever else goes with an internet password.
@safe nonisolated(unsafe) public let kSecDataInetExtraClientDefined3 = constant("bin3")
/// The volume of a file server.
@safe nonisolated(unsafe) public let kSecAttrVolume = constant("volm")
/// The address of a file server.
@safe nonisolated(unsafe) public let kSecAttrAddress = constant("addr")
/// The signature of a file server.
@safe nonisolated(unsafe) public let kSecAttrAFPServerSignature = constant("afps")
/// The type of a certificate revocation list.
@safe nonisolated(unsafe) public let kSecAttrCRLType = constant("crlt")
/// The encoding of a certificate revocation list.
@safe nonisolated(unsafe) public let kSecAttrCRLEncoding = constant("crle")
/// The password in the result of a call for shared web credentials.
@safe nonisolated(unsafe) public let kSecSharedPassword = constant("spwd")
/// Whether to leave a mark where an item was deleted.
@safe nonisolated(unsafe) public let kSecUseTombstones = constant("u_Tomb")
/// Earlier proofs of the user's presence, as bytes.
@safe nonisolated(unsafe) public let kSecUseCredentialReference = constant("u_CredRef")
/// Whether to use the keychain of the system.
@safe nonisolated(unsafe) public let kSecUseSystemKeychain = constant("u_SystemKeychain")
/// Whether to use the keychain of the system for every caller.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlways =
    constant("u_SystemKeychainAlways")
/// `kSecUseSystemKeychainAlways` by its longer name.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS =
    kSecUseSystemKeychainAlways
/// Whether to use a keychain of users that share a device.
@safe nonisolated(unsafe) public let kSecUseSyncBubbleKeychain = constant("u_SyncBubbleKeychain")
/// The program's name in questions to the user.
@safe nonisolated(unsafe) public let kSecUseCallerName = constant("u_CallerName")
/// Whether to return the items of tokens unchanged.
@safe nonisolated(unsafe) public let kSecUseTokenRawItems = constant("u_TokenRawItems")
/// Whether to return certificates with their issuers.
@safe nonisolated(unsafe) public let kSecUseCertificatesWithMatchIssuers =
    constant("u_CertWithIssuers")
/// The access group of the programs that synchronize items.
@safe nonisolated(unsafe) public let kSOSInternalAccessGroup = constant("com.apple.security.sos")

// Keys of calls that import PKCS#12 files. Those calls are not offered.

/// The passphrase of a PKCS#12 file that is imported.
@safe nonisolated(unsafe) public let kSecImportExportPassphrase = constant("passphrase")
/// The label of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemLabel = constant("label")
/// The key identifier of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemKeyID = constant("keyid")
/// The trust object of an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemTrust = constant("trust")
/// The certificates that came with an item that was imported.
@safe nonisolated(unsafe) public let kSecImportItemCertChain = constant("chain")
/// The identity that was imported.
@safe nonisolated(unsafe) public let kSecImportItemIdentity = constant("identity")
