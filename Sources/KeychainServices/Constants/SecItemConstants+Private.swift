// SPDX-License-Identifier: Apache-2.0

// Names that only Apple's own programs use: no password has these attributes
// (`errSecNoSuchAttr`), and no call takes the other keys (`errSecParam`). Names only, so that code
// builds; the two that name an accessibility by another name do what it does.

/// Passwords that people share; no class that a call takes.
public let kSecClassAppleSharePassword: CFString = "apls"
/// ``kSecAttrAccessibleAlways`` by the name that did not become deprecated.
public let kSecAttrAccessibleAlwaysPrivate: CFString = "dk"
/// ``kSecAttrAccessibleAlwaysThisDeviceOnly`` by the name that did not become deprecated.
public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate: CFString = "dku"
/// Readable until the machine starts again; no class of items.
public let kSecAttrAccessibleUntilReboot: CFString = "f"
/// Whether the row stands for an item that was deleted.
public let kSecAttrTombstone: CFString = "tomb"
/// The user of the machine that the item is for.
public let kSecAttrMultiUser: CFString = "musr"
/// What the row is called among devices.
public let kSecAttrUUID: CFString = "UUID"
/// The random part of the persistent reference.
public let kSecAttrPersistentReference: CFString = "persistref"
/// Whether the item is bound to the system.
public let kSecAttrSysBound: CFString = "sysb"
/// A digest of the item.
public let kSecAttrSHA1: CFString = "sha1"
/// `kSecUseDataProtectionKeychain` by its older name.
public let kSecAttrNoLegacy: CFString = "nleg"
/// The group of people that share the item.
public let kSecAttrSharingGroup: CFString = "ggrp"
/// No such group.
public let kSecAttrSharingGroupNone: CFString = ""
/// Whether the name among devices follows from the attributes.
public let kSecAttrDeriveSyncIDFromItemAttributes: CFString = "dspk"
/// A service's number, readable by the server.
public let kSecAttrPCSPlaintextServiceIdentifier: CFString = "pcss"
/// A service's public key, readable by the server.
public let kSecAttrPCSPlaintextPublicKey: CFString = "pcsk"
/// A service's identity, readable by the server.
public let kSecAttrPCSPlaintextPublicIdentity: CFString = "pcsi"
/// Notes beside an internet password.
public let kSecDataInetExtraNotes: CFString = "binn"
/// Earlier values of an internet password.
public let kSecDataInetExtraHistory: CFString = "bini"
/// Whatever else goes with an internet password.
public let kSecDataInetExtraClientDefined0: CFString = "bin0"
/// Whatever else goes with an internet password.
public let kSecDataInetExtraClientDefined1: CFString = "bin1"
/// Whatever else goes with an internet password.
public let kSecDataInetExtraClientDefined2: CFString = "bin2"
/// Whatever else goes with an internet password.
public let kSecDataInetExtraClientDefined3: CFString = "bin3"
/// The volume of a file server.
public let kSecAttrVolume: CFString = "volm"
/// The address of a file server.
public let kSecAttrAddress: CFString = "addr"
/// The signature of a file server.
public let kSecAttrAFPServerSignature: CFString = "afps"
/// The type of a list of revoked certificates.
public let kSecAttrCRLType: CFString = "crlt"
/// The encoding of a list of revoked certificates.
public let kSecAttrCRLEncoding: CFString = "crle"
/// A password in what a call about shared web credentials returns.
public let kSecSharedPassword: CFString = "spwd"
/// Whether to leave a mark where an item was deleted.
public let kSecUseTombstones: CFString = "u_Tomb"
/// What a person has proved already, as bytes.
public let kSecUseCredentialReference: CFString = "u_CredRef"
/// Whether to use the keychain of the system.
public let kSecUseSystemKeychain: CFString = "u_SystemKeychain"
/// Whether to use the keychain of the system for every caller.
public let kSecUseSystemKeychainAlways: CFString = "u_SystemKeychainAlways"
/// `kSecUseSystemKeychainAlways` by its longer name.
public let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS: CFString =
    "u_SystemKeychainAlways"
/// Whether to use a keychain of those that share a device.
public let kSecUseSyncBubbleKeychain: CFString = "u_SyncBubbleKeychain"
/// The program that a person is told of.
public let kSecUseCallerName: CFString = "u_CallerName"
/// Whether the items of tokens come as they are.
public let kSecUseTokenRawItems: CFString = "u_TokenRawItems"
/// Whether certificates come with their issuers.
public let kSecUseCertificatesWithMatchIssuers: CFString = "u_CertWithIssuers"
/// The access group of those that synchronize items.
public let kSOSInternalAccessGroup: CFString = "com.apple.security.sos"
