// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of the attributes of keys: names only, so that code builds.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrKeyClassPublic = "0"
@_disfavoredOverload public let kSecAttrKeyClassPrivate = "1"
@_disfavoredOverload public let kSecAttrKeyClassSymmetric = "2"
@_disfavoredOverload public let kSecAttrKeyTypeRSA = "42"
@_disfavoredOverload public let kSecAttrKeyTypeDSA = "43"
@_disfavoredOverload public let kSecAttrKeyTypeEC = "73"
@_disfavoredOverload public let kSecAttrKeyTypeECDSA = "73"
@_disfavoredOverload public let kSecAttrKeyTypeECSECPrimeRandom = "73"
@_disfavoredOverload public let kSecAttrKeyTypeAES = "2147483649"
@_disfavoredOverload public let kSecAttrKeyTypeDES = "14"
@_disfavoredOverload public let kSecAttrKeyType3DES = "17"
@_disfavoredOverload public let kSecAttrKeyTypeRC2 = "23"
@_disfavoredOverload public let kSecAttrKeyTypeRC4 = "25"
@_disfavoredOverload public let kSecAttrKeyTypeCAST = "56"
@_disfavoredOverload public let kSecAttrKeyTypeMLKEM = "110"
@_disfavoredOverload public let kSecAttrKeyTypeMLDSA = "111"
@_disfavoredOverload public let kSecAttrKeyTypeEd25519 = "105"
@_disfavoredOverload public let kSecAttrKeyTypeX25519 = "106"
@_disfavoredOverload public let kSecAttrKeyTypeEd448 = "107"
@_disfavoredOverload public let kSecAttrKeyTypeX448 = "108"
@_disfavoredOverload public let kSecAttrKeyTypeKyber = "109"
@_disfavoredOverload public let kSecAttrKeyTypeECSECPrimeRandomPKA = "2147483678"
@_disfavoredOverload public let kSecAttrKeyTypeSecureEnclaveAttestation = "2147483679"
@_disfavoredOverload public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation = "2147483680"
@_disfavoredOverload public let kSecAttrKeySizeKyber768 = "768"
@_disfavoredOverload public let kSecAttrKeySizeKyber1024 = "1024"
@_disfavoredOverload public let kSecAttrKeySizeMLKEM768 = "768"
@_disfavoredOverload public let kSecAttrKeySizeMLKEM1024 = "1024"
@_disfavoredOverload public let kSecAttrKeySizeMLDSA65 = "65"
@_disfavoredOverload public let kSecAttrKeySizeMLDSA87 = "87"
@_disfavoredOverload public let kSecAttrPRFHmacAlgSHA1 = "hsha1"
@_disfavoredOverload public let kSecAttrPRFHmacAlgSHA224 = "hsha224"
@_disfavoredOverload public let kSecAttrPRFHmacAlgSHA256 = "hsha256"
@_disfavoredOverload public let kSecAttrPRFHmacAlgSHA384 = "hsha384"
@_disfavoredOverload public let kSecAttrPRFHmacAlgSHA512 = "hsha512"
