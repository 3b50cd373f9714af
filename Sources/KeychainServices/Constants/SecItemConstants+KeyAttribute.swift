// SPDX-License-Identifier: Apache-2.0

// Attributes of keys and certificates: names only, so that code builds. Passwords have none of
// these (`errSecNoSuchAttr`); keys and certificates are not kept here (`errSecUnimplemented`).

/// Public, private or symmetric.
public let kSecAttrKeyClass: CFString = "kcls"
/// A hash that identifies the key.
public let kSecAttrApplicationLabel: CFString = "klbl"
/// The application's own name for the key.
public let kSecAttrApplicationTag: CFString = "atag"
/// Whether the key is stored.
public let kSecAttrIsPermanent: CFString = "perm"
/// Whether the key is private.
public let kSecAttrIsPrivate: CFString = "priv"
/// Whether the key can be changed.
public let kSecAttrIsModifiable: CFString = "modi"
/// The creator of the key.
public let kSecAttrKeyCreator: CFString = "crtr"
/// The algorithm of the key.
public let kSecAttrKeyType: CFString = "type"
/// The size of the key in bits.
public let kSecAttrKeySizeInBits: CFString = "bsiz"
/// The size of the key that counts, in bits.
public let kSecAttrEffectiveKeySize: CFString = "esiz"
/// When the key becomes valid.
public let kSecAttrStartDate: CFString = "sdat"
/// When the key stops being valid.
public let kSecAttrEndDate: CFString = "edat"
/// Whether the key leaves only wrapped.
public let kSecAttrIsSensitive: CFString = "sens"
/// Whether the key has always been sensitive.
public let kSecAttrWasAlwaysSensitive: CFString = "asen"
/// Whether the key can be exported.
public let kSecAttrIsExtractable: CFString = "extr"
/// Whether the key could never be exported.
public let kSecAttrWasNeverExtractable: CFString = "next"
/// Whether the key encrypts.
public let kSecAttrCanEncrypt: CFString = "encr"
/// Whether the key decrypts.
public let kSecAttrCanDecrypt: CFString = "decr"
/// Whether keys can be derived from the key.
public let kSecAttrCanDerive: CFString = "drve"
/// Whether the key signs.
public let kSecAttrCanSign: CFString = "sign"
/// Whether the key verifies.
public let kSecAttrCanVerify: CFString = "vrfy"
/// Whether the key signs with message recovery.
public let kSecAttrCanSignRecover: CFString = "snrc"
/// Whether the key verifies with message recovery.
public let kSecAttrCanVerifyRecover: CFString = "vyrc"
/// Whether the key wraps other keys.
public let kSecAttrCanWrap: CFString = "wrap"
/// Whether the key unwraps other keys.
public let kSecAttrCanUnwrap: CFString = "unwp"
/// The type of a certificate.
public let kSecAttrCertificateType: CFString = "ctyp"
/// The encoding of a certificate.
public let kSecAttrCertificateEncoding: CFString = "cenc"
/// The subject of a certificate.
public let kSecAttrSubject: CFString = "subj"
/// The issuer of a certificate.
public let kSecAttrIssuer: CFString = "issr"
/// The serial number of a certificate.
public let kSecAttrSerialNumber: CFString = "slnr"
/// The key identifier of a certificate.
public let kSecAttrSubjectKeyID: CFString = "skid"
/// A hash of the public key of a certificate.
public let kSecAttrPublicKeyHash: CFString = "pkhh"
/// A macOS access object.
public let kSecAttrAccess: CFString = "acls"
/// The pseudo-random function of a key derivation.
public let kSecAttrPRF: CFString = "prf"
/// The salt of a key derivation.
public let kSecAttrSalt: CFString = "salt"
/// The number of rounds of a key derivation.
public let kSecAttrRounds: CFString = "rounds"
/// What a token knows the key by.
public let kSecAttrTokenOID: CFString = "toid"
/// `kSecAttrTokenOID` by its older name.
public let kSecAttrSecureEnclaveKeyBlob: CFString = "toid"
/// Attributes of the private key of a pair that is being made.
public let kSecPrivateKeyAttrs: CFString = "private"
/// Attributes of the public key of a pair that is being made.
public let kSecPublicKeyAttrs: CFString = "public"
