// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Attributes of passwords. The strings are those of Apple's systems and part of stored data.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrAccessible = "pdmn"
@_disfavoredOverload public let kSecAttrAccessControl = "accc"
@_disfavoredOverload public let kSecAttrAccessGroup = "agrp"
@_disfavoredOverload public let kSecAttrSynchronizable = "sync"
@_disfavoredOverload public let kSecAttrSynchronizableAny = "syna"
@_disfavoredOverload public let kSecAttrCreationDate = "cdat"
@_disfavoredOverload public let kSecAttrModificationDate = "mdat"
@_disfavoredOverload public let kSecAttrDescription = "desc"
@_disfavoredOverload public let kSecAttrComment = "icmt"
@_disfavoredOverload public let kSecAttrCreator = "crtr"
@_disfavoredOverload public let kSecAttrType = "type"
@_disfavoredOverload public let kSecAttrLabel = "labl"
@_disfavoredOverload public let kSecAttrIsInvisible = "invi"
@_disfavoredOverload public let kSecAttrIsNegative = "nega"
@_disfavoredOverload public let kSecAttrAccount = "acct"
@_disfavoredOverload public let kSecAttrService = "svce"
@_disfavoredOverload public let kSecAttrGeneric = "gena"
@_disfavoredOverload public let kSecAttrSecurityDomain = "sdmn"
@_disfavoredOverload public let kSecAttrServer = "srvr"
@_disfavoredOverload public let kSecAttrProtocol = "ptcl"
@_disfavoredOverload public let kSecAttrAuthenticationType = "atyp"
@_disfavoredOverload public let kSecAttrPort = "port"
@_disfavoredOverload public let kSecAttrPath = "path"
@_disfavoredOverload public let kSecAttrAlias = "alis"
@_disfavoredOverload public let kSecAttrScriptCode = "scrp"
@_disfavoredOverload public let kSecAttrHasCustomIcon = "cusi"
@_disfavoredOverload public let kSecAttrSyncViewHint = "vwht"
@_disfavoredOverload public let kSecAttrTokenID = "tkid"
@_disfavoredOverload public let kSecAttrTokenIDSecureEnclave = "com.apple.setoken"
@_disfavoredOverload public let kSecAttrTokenIDAppleKeyStore = "com.apple.setoken:aks"
@_disfavoredOverload public let kSecAttrTokenIDSecureElement = "com.apple.secelemtoken"
@_disfavoredOverload public let kSecAttrAccessGroupToken = "com.apple.token"
