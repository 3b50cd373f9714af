// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Names that only Apple's own programs use: no password has these attributes
// (`errSecNoSuchAttr`), and no call takes the other keys (`errSecParam`). Names only, so that code
// builds; the two that name an accessibility by another name do what it does.

// For the parser alone: CoreFoundationNames has the objects that programs use.

@_disfavoredOverload package let kSecClassAppleSharePassword = "apls"
@_disfavoredOverload package let kSecAttrAccessibleAlwaysPrivate = "dk"
@_disfavoredOverload package let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate = "dku"
@_disfavoredOverload package let kSecAttrAccessibleUntilReboot = "f"
@_disfavoredOverload package let kSecAttrTombstone = "tomb"
@_disfavoredOverload package let kSecAttrMultiUser = "musr"
@_disfavoredOverload package let kSecAttrUUID = "UUID"
@_disfavoredOverload package let kSecAttrPersistentReference = "persistref"
@_disfavoredOverload package let kSecAttrSysBound = "sysb"
@_disfavoredOverload package let kSecAttrSHA1 = "sha1"
@_disfavoredOverload package let kSecAttrNoLegacy = "nleg"
@_disfavoredOverload package let kSecAttrSharingGroup = "ggrp"
@_disfavoredOverload package let kSecAttrSharingGroupNone = ""
@_disfavoredOverload package let kSecAttrDeriveSyncIDFromItemAttributes = "dspk"
@_disfavoredOverload package let kSecAttrPCSPlaintextServiceIdentifier = "pcss"
@_disfavoredOverload package let kSecAttrPCSPlaintextPublicKey = "pcsk"
@_disfavoredOverload package let kSecAttrPCSPlaintextPublicIdentity = "pcsi"
@_disfavoredOverload package let kSecDataInetExtraNotes = "binn"
@_disfavoredOverload package let kSecDataInetExtraHistory = "bini"
@_disfavoredOverload package let kSecDataInetExtraClientDefined0 = "bin0"
@_disfavoredOverload package let kSecDataInetExtraClientDefined1 = "bin1"
@_disfavoredOverload package let kSecDataInetExtraClientDefined2 = "bin2"
@_disfavoredOverload package let kSecDataInetExtraClientDefined3 = "bin3"
@_disfavoredOverload package let kSecAttrVolume = "volm"
@_disfavoredOverload package let kSecAttrAddress = "addr"
@_disfavoredOverload package let kSecAttrAFPServerSignature = "afps"
@_disfavoredOverload package let kSecAttrCRLType = "crlt"
@_disfavoredOverload package let kSecAttrCRLEncoding = "crle"
@_disfavoredOverload package let kSecSharedPassword = "spwd"
@_disfavoredOverload package let kSecUseTombstones = "u_Tomb"
@_disfavoredOverload package let kSecUseCredentialReference = "u_CredRef"
@_disfavoredOverload package let kSecUseSystemKeychain = "u_SystemKeychain"
@_disfavoredOverload package let kSecUseSystemKeychainAlways = "u_SystemKeychainAlways"
@_disfavoredOverload package let kSecUseSystemKeychainAlwaysDarwinOSOnlyUnavailableOnMacOS =
    "u_SystemKeychainAlways"
@_disfavoredOverload package let kSecUseSyncBubbleKeychain = "u_SyncBubbleKeychain"
@_disfavoredOverload package let kSecUseCallerName = "u_CallerName"
@_disfavoredOverload package let kSecUseTokenRawItems = "u_TokenRawItems"
@_disfavoredOverload package let kSecUseCertificatesWithMatchIssuers = "u_CertWithIssuers"
@_disfavoredOverload package let kSOSInternalAccessGroup = "com.apple.security.sos"
