// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of the attributes of keys: names only, so that code builds.

// For the parser alone: CoreFoundationNames has the objects that programs use.

@_disfavoredOverload package let kSecAttrKeyClassPublic = "0"
@_disfavoredOverload package let kSecAttrKeyClassPrivate = "1"
@_disfavoredOverload package let kSecAttrKeyClassSymmetric = "2"
@_disfavoredOverload package let kSecAttrKeyTypeRSA = "42"
@_disfavoredOverload package let kSecAttrKeyTypeDSA = "43"
@_disfavoredOverload package let kSecAttrKeyTypeEC = "73"
@_disfavoredOverload package let kSecAttrKeyTypeECDSA = "73"
@_disfavoredOverload package let kSecAttrKeyTypeECSECPrimeRandom = "73"
@_disfavoredOverload package let kSecAttrKeyTypeAES = "2147483649"
@_disfavoredOverload package let kSecAttrKeyTypeDES = "14"
@_disfavoredOverload package let kSecAttrKeyType3DES = "17"
@_disfavoredOverload package let kSecAttrKeyTypeRC2 = "23"
@_disfavoredOverload package let kSecAttrKeyTypeRC4 = "25"
@_disfavoredOverload package let kSecAttrKeyTypeCAST = "56"
@_disfavoredOverload package let kSecAttrKeyTypeMLKEM = "110"
@_disfavoredOverload package let kSecAttrKeyTypeMLDSA = "111"
@_disfavoredOverload package let kSecAttrKeyTypeEd25519 = "105"
@_disfavoredOverload package let kSecAttrKeyTypeX25519 = "106"
@_disfavoredOverload package let kSecAttrKeyTypeEd448 = "107"
@_disfavoredOverload package let kSecAttrKeyTypeX448 = "108"
@_disfavoredOverload package let kSecAttrKeyTypeKyber = "109"
@_disfavoredOverload package let kSecAttrKeyTypeECSECPrimeRandomPKA = "2147483678"
@_disfavoredOverload package let kSecAttrKeyTypeSecureEnclaveAttestation = "2147483679"
@_disfavoredOverload package let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation = "2147483680"
@_disfavoredOverload package let kSecAttrKeySizeKyber768 = "768"
@_disfavoredOverload package let kSecAttrKeySizeKyber1024 = "1024"
@_disfavoredOverload package let kSecAttrKeySizeMLKEM768 = "768"
@_disfavoredOverload package let kSecAttrKeySizeMLKEM1024 = "1024"
@_disfavoredOverload package let kSecAttrKeySizeMLDSA65 = "65"
@_disfavoredOverload package let kSecAttrKeySizeMLDSA87 = "87"
@_disfavoredOverload package let kSecAttrPRFHmacAlgSHA1 = "hsha1"
@_disfavoredOverload package let kSecAttrPRFHmacAlgSHA224 = "hsha224"
@_disfavoredOverload package let kSecAttrPRFHmacAlgSHA256 = "hsha256"
@_disfavoredOverload package let kSecAttrPRFHmacAlgSHA384 = "hsha384"
@_disfavoredOverload package let kSecAttrPRFHmacAlgSHA512 = "hsha512"
