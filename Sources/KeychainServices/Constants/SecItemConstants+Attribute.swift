// SPDX-License-Identifier: Apache-2.0

// Attributes of passwords. The strings are those of Apple's systems and part of stored data.

/// When the item may be read: one of the `kSecAttrAccessible…` values.
public let kSecAttrAccessible: CFString = "pdmn"
/// What reading the item demands of a person; takes access control objects alone.
public let kSecAttrAccessControl: CFString = "accc"
/// The group of applications that share the item: a string.
public let kSecAttrAccessGroup: CFString = "agrp"
/// Whether the item is synchronized: a boolean, or in searches `kSecAttrSynchronizableAny`.
public let kSecAttrSynchronizable: CFString = "sync"
/// In a search: local and synchronized items alike.
public let kSecAttrSynchronizableAny: CFString = "syna"
/// When the item was added: a date, set by the keychain.
public let kSecAttrCreationDate: CFString = "cdat"
/// When the item was last changed: a date, set by the keychain.
public let kSecAttrModificationDate: CFString = "mdat"
/// What kind of item it is, for people to read.
public let kSecAttrDescription: CFString = "desc"
/// A comment of the user's.
public let kSecAttrComment: CFString = "icmt"
/// The creator of the item: a number, or a four-character string.
public let kSecAttrCreator: CFString = "crtr"
/// The type of the item: a number, or a four-character string.
public let kSecAttrType: CFString = "type"
/// The name of the item that people see.
public let kSecAttrLabel: CFString = "labl"
/// Whether people should not see the item; stored as 0 or 1, without effect on searches.
public let kSecAttrIsInvisible: CFString = "invi"
/// Whether no password is wanted here; stored as 0 or 1, without effect on searches.
public let kSecAttrIsNegative: CFString = "nega"
/// The account's name; part of what makes a password unique.
public let kSecAttrAccount: CFString = "acct"
/// The service a generic password is for; part of what makes it unique.
public let kSecAttrService: CFString = "svce"
/// Anything the application wants to keep with a generic password.
public let kSecAttrGeneric: CFString = "gena"
/// The security domain of an internet password; part of what makes it unique.
public let kSecAttrSecurityDomain: CFString = "sdmn"
/// The server of an internet password; part of what makes it unique.
public let kSecAttrServer: CFString = "srvr"
/// The protocol of an internet password; part of what makes it unique.
public let kSecAttrProtocol: CFString = "ptcl"
/// How the server authenticates; part of what makes an internet password unique.
public let kSecAttrAuthenticationType: CFString = "atyp"
/// The port of an internet password: a number; part of what makes it unique.
public let kSecAttrPort: CFString = "port"
/// The path on the server; part of what makes an internet password unique.
public let kSecAttrPath: CFString = "path"
/// Another name of the item.
public let kSecAttrAlias: CFString = "alis"
/// The script of the item's texts: a number.
public let kSecAttrScriptCode: CFString = "scrp"
/// Whether the item has an icon of its own; stored as 0 or 1.
public let kSecAttrHasCustomIcon: CFString = "cusi"
/// The view in which the item is synchronized.
public let kSecAttrSyncViewHint: CFString = "vwht"
/// The token that holds the item.
public let kSecAttrTokenID: CFString = "tkid"
/// The token identifier of the Secure Enclave.
public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"
/// The token identifier of the store of keys.
public let kSecAttrTokenIDAppleKeyStore: CFString = "com.apple.setoken:aks"
/// The token identifier of the Secure Element.
public let kSecAttrTokenIDSecureElement: CFString = "com.apple.secelemtoken"
/// The access group of tokens; no password can be stored in it.
public let kSecAttrAccessGroupToken: CFString = "com.apple.token"
