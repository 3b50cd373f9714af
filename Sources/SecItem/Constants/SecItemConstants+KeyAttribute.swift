// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrKeyClass = "kcls"
@_disfavoredOverload public let kSecAttrApplicationLabel = "klbl"
@_disfavoredOverload public let kSecAttrApplicationTag = "atag"
@_disfavoredOverload public let kSecAttrIsPermanent = "perm"
@_disfavoredOverload public let kSecAttrIsPrivate = "priv"
@_disfavoredOverload public let kSecAttrIsModifiable = "modi"
@_disfavoredOverload public let kSecAttrKeyCreator = "crtr"
@_disfavoredOverload public let kSecAttrKeyType = "type"
@_disfavoredOverload public let kSecAttrKeySizeInBits = "bsiz"
@_disfavoredOverload public let kSecAttrEffectiveKeySize = "esiz"
@_disfavoredOverload public let kSecAttrStartDate = "sdat"
@_disfavoredOverload public let kSecAttrEndDate = "edat"
@_disfavoredOverload public let kSecAttrIsSensitive = "sens"
@_disfavoredOverload public let kSecAttrWasAlwaysSensitive = "asen"
@_disfavoredOverload public let kSecAttrIsExtractable = "extr"
@_disfavoredOverload public let kSecAttrWasNeverExtractable = "next"
@_disfavoredOverload public let kSecAttrCanEncrypt = "encr"
@_disfavoredOverload public let kSecAttrCanDecrypt = "decr"
@_disfavoredOverload public let kSecAttrCanDerive = "drve"
@_disfavoredOverload public let kSecAttrCanSign = "sign"
@_disfavoredOverload public let kSecAttrCanVerify = "vrfy"
@_disfavoredOverload public let kSecAttrCanSignRecover = "snrc"
@_disfavoredOverload public let kSecAttrCanVerifyRecover = "vyrc"
@_disfavoredOverload public let kSecAttrCanWrap = "wrap"
@_disfavoredOverload public let kSecAttrCanUnwrap = "unwp"
@_disfavoredOverload public let kSecAttrCertificateType = "ctyp"
@_disfavoredOverload public let kSecAttrCertificateEncoding = "cenc"
@_disfavoredOverload public let kSecAttrSubject = "subj"
@_disfavoredOverload public let kSecAttrIssuer = "issr"
@_disfavoredOverload public let kSecAttrSerialNumber = "slnr"
@_disfavoredOverload public let kSecAttrSubjectKeyID = "skid"
@_disfavoredOverload public let kSecAttrPublicKeyHash = "pkhh"
@_disfavoredOverload public let kSecAttrAccess = "acls"
@_disfavoredOverload public let kSecAttrPRF = "prf"
@_disfavoredOverload public let kSecAttrSalt = "salt"
@_disfavoredOverload public let kSecAttrRounds = "rounds"
@_disfavoredOverload public let kSecAttrTokenOID = "toid"
@_disfavoredOverload public let kSecAttrSecureEnclaveKeyBlob = "toid"
@_disfavoredOverload public let kSecPrivateKeyAttrs = "private"
@_disfavoredOverload public let kSecPublicKeyAttrs = "public"
