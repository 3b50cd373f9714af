// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Names that only Apple's own programs use: no password has these attributes
// (`errSecNoSuchAttr`), and no call takes the other keys (`errSecParam`). Names only, so that code
// builds; the two that name an accessibility by another name do what it does.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecClassAppleSharePassword = "apls"
@_disfavoredOverload public let kSecAttrAccessibleAlwaysPrivate = "dk"
@_disfavoredOverload public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate = "dku"
@_disfavoredOverload public let kSecAttrAccessibleUntilReboot = "f"
@_disfavoredOverload public let kSecAttrTombstone = "tomb"
@_disfavoredOverload public let kSecAttrMultiUser = "musr"
@_disfavoredOverload public let kSecAttrUUID = "UUID"
@_disfavoredOverload public let kSecAttrPersistentReference = "persistref"
@_disfavoredOverload public let kSecAttrSysBound = "sysb"
@_disfavoredOverload public let kSecAttrSHA1 = "sha1"
@_disfavoredOverload public let kSecAttrNoLegacy = "nleg"
@_disfavoredOverload public let kSecAttrSharingGroup = "ggrp"
@_disfavoredOverload public let kSecAttrSharingGroupNone = ""
@_disfavoredOverload public let kSecAttrDeriveSyncIDFromItemAttributes = "dspk"
@_disfavoredOverload public let kSecAttrPCSPlaintextServiceIdentifier = "pcss"
@_disfavoredOverload public let kSecAttrPCSPlaintextPublicKey = "pcsk"
@_disfavoredOverload public let kSecAttrPCSPlaintextPublicIdentity = "pcsi"
@_disfavoredOverload public let kSecDataInetExtraNotes = "binn"
@_disfavoredOverload public let kSecDataInetExtraHistory = "bini"
@_disfavoredOverload public let kSecDataInetExtraClientDefined0 = "bin0"
@_disfavoredOverload public let kSecDataInetExtraClientDefined1 = "bin1"
@_disfavoredOverload public let kSecDataInetExtraClientDefined2 = "bin2"
@_disfavoredOverload public let kSecDataInetExtraClientDefined3 = "bin3"
@_disfavoredOverload public let kSecAttrVolume = "volm"
@_disfavoredOverload public let kSecAttrAddress = "addr"
@_disfavoredOverload public let kSecAttrAFPServerSignature = "afps"
@_disfavoredOverload public let kSecAttrCRLType = "crlt"
@_disfavoredOverload public let kSecAttrCRLEncoding = "crle"
@_disfavoredOverload public let kSecSharedPassword = "spwd"
@_disfavoredOverload public let kSecUseTombstones = "u_Tomb"
@_disfavoredOverload public let kSecUseCredentialReference = "u_CredRef"
@_disfavoredOverload public let kSecUseSystemKeychain = "u_SystemKeychain"
@_disfavoredOverload public let kSecUseSystemKeychainAlways = "u_SystemKeychainAlways"
@_disfavoredOverload public let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS =
    "u_SystemKeychainAlways"
@_disfavoredOverload public let kSecUseSyncBubbleKeychain = "u_SyncBubbleKeychain"
@_disfavoredOverload public let kSecUseCallerName = "u_CallerName"
@_disfavoredOverload public let kSecUseTokenRawItems = "u_TokenRawItems"
@_disfavoredOverload public let kSecUseCertificatesWithMatchIssuers = "u_CertWithIssuers"
@_disfavoredOverload public let kSOSInternalAccessGroup = "com.apple.security.sos"
