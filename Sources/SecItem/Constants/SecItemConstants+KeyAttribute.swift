// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

// For the parser alone: CoreFoundationNames has the objects that programs use.

@_disfavoredOverload package let kSecAttrKeyClass = "kcls"
@_disfavoredOverload package let kSecAttrApplicationLabel = "klbl"
@_disfavoredOverload package let kSecAttrApplicationTag = "atag"
@_disfavoredOverload package let kSecAttrIsPermanent = "perm"
@_disfavoredOverload package let kSecAttrIsPrivate = "priv"
@_disfavoredOverload package let kSecAttrIsModifiable = "modi"
@_disfavoredOverload package let kSecAttrKeyCreator = "crtr"
@_disfavoredOverload package let kSecAttrKeyType = "type"
@_disfavoredOverload package let kSecAttrKeySizeInBits = "bsiz"
@_disfavoredOverload package let kSecAttrEffectiveKeySize = "esiz"
@_disfavoredOverload package let kSecAttrStartDate = "sdat"
@_disfavoredOverload package let kSecAttrEndDate = "edat"
@_disfavoredOverload package let kSecAttrIsSensitive = "sens"
@_disfavoredOverload package let kSecAttrWasAlwaysSensitive = "asen"
@_disfavoredOverload package let kSecAttrIsExtractable = "extr"
@_disfavoredOverload package let kSecAttrWasNeverExtractable = "next"
@_disfavoredOverload package let kSecAttrCanEncrypt = "encr"
@_disfavoredOverload package let kSecAttrCanDecrypt = "decr"
@_disfavoredOverload package let kSecAttrCanDerive = "drve"
@_disfavoredOverload package let kSecAttrCanSign = "sign"
@_disfavoredOverload package let kSecAttrCanVerify = "vrfy"
@_disfavoredOverload package let kSecAttrCanSignRecover = "snrc"
@_disfavoredOverload package let kSecAttrCanVerifyRecover = "vyrc"
@_disfavoredOverload package let kSecAttrCanWrap = "wrap"
@_disfavoredOverload package let kSecAttrCanUnwrap = "unwp"
@_disfavoredOverload package let kSecAttrCertificateType = "ctyp"
@_disfavoredOverload package let kSecAttrCertificateEncoding = "cenc"
@_disfavoredOverload package let kSecAttrSubject = "subj"
@_disfavoredOverload package let kSecAttrIssuer = "issr"
@_disfavoredOverload package let kSecAttrSerialNumber = "slnr"
@_disfavoredOverload package let kSecAttrSubjectKeyID = "skid"
@_disfavoredOverload package let kSecAttrPublicKeyHash = "pkhh"
@_disfavoredOverload package let kSecAttrAccess = "acls"
@_disfavoredOverload package let kSecAttrPRF = "prf"
@_disfavoredOverload package let kSecAttrSalt = "salt"
@_disfavoredOverload package let kSecAttrRounds = "rounds"
@_disfavoredOverload package let kSecAttrTokenOID = "toid"
@_disfavoredOverload package let kSecAttrSecureEnclaveKeyBlob = "toid"
@_disfavoredOverload package let kSecPrivateKeyAttrs = "private"
@_disfavoredOverload package let kSecPublicKeyAttrs = "public"
