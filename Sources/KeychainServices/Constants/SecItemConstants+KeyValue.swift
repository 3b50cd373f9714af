// SPDX-License-Identifier: Apache-2.0

// Values of the attributes of keys: names only, so that code builds.

/// A public key.
public let kSecAttrKeyClassPublic: CFString = "0"
/// A private key.
public let kSecAttrKeyClassPrivate: CFString = "1"
/// A symmetric key.
public let kSecAttrKeyClassSymmetric: CFString = "2"
/// RSA.
public let kSecAttrKeyTypeRSA: CFString = "42"
/// DSA.
public let kSecAttrKeyTypeDSA: CFString = "43"
/// Elliptic curves.
public let kSecAttrKeyTypeEC: CFString = "73"
/// Elliptic curves, for signing.
public let kSecAttrKeyTypeECDSA: CFString = "73"
/// Elliptic curves over prime fields.
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// AES.
public let kSecAttrKeyTypeAES: CFString = "2147483649"
/// DES.
public let kSecAttrKeyTypeDES: CFString = "14"
/// Triple DES.
public let kSecAttrKeyType3DES: CFString = "17"
/// RC2.
public let kSecAttrKeyTypeRC2: CFString = "23"
/// RC4.
public let kSecAttrKeyTypeRC4: CFString = "25"
/// CAST.
public let kSecAttrKeyTypeCAST: CFString = "56"
/// ML-KEM.
public let kSecAttrKeyTypeMLKEM: CFString = "110"
/// ML-DSA.
public let kSecAttrKeyTypeMLDSA: CFString = "111"
/// Ed25519.
public let kSecAttrKeyTypeEd25519: CFString = "105"
/// X25519.
public let kSecAttrKeyTypeX25519: CFString = "106"
/// Ed448.
public let kSecAttrKeyTypeEd448: CFString = "107"
/// X448.
public let kSecAttrKeyTypeX448: CFString = "108"
/// Kyber.
public let kSecAttrKeyTypeKyber: CFString = "109"
/// Elliptic curves over prime fields, in the public key accelerator.
public let kSecAttrKeyTypeECSECPrimeRandomPKA: CFString = "2147483678"
/// The key by which a Secure Enclave vouches.
public let kSecAttrKeyTypeSecureEnclaveAttestation: CFString = "2147483679"
/// The key by which a Secure Enclave vouches without a name.
public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation: CFString = "2147483680"
/// Kyber-768.
public let kSecAttrKeySizeKyber768: CFString = "768"
/// Kyber-1024.
public let kSecAttrKeySizeKyber1024: CFString = "1024"
/// ML-KEM-768.
public let kSecAttrKeySizeMLKEM768: CFString = "768"
/// ML-KEM-1024.
public let kSecAttrKeySizeMLKEM1024: CFString = "1024"
/// ML-DSA-65.
public let kSecAttrKeySizeMLDSA65: CFString = "65"
/// ML-DSA-87.
public let kSecAttrKeySizeMLDSA87: CFString = "87"
/// HMAC with SHA-1.
public let kSecAttrPRFHmacAlgSHA1: CFString = "hsha1"
/// HMAC with SHA-224.
public let kSecAttrPRFHmacAlgSHA224: CFString = "hsha224"
/// HMAC with SHA-256.
public let kSecAttrPRFHmacAlgSHA256: CFString = "hsha256"
/// HMAC with SHA-384.
public let kSecAttrPRFHmacAlgSHA384: CFString = "hsha384"
/// HMAC with SHA-512.
public let kSecAttrPRFHmacAlgSHA512: CFString = "hsha512"
