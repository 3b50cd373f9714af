// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainServices

// Codes that the calls answer, or that programs compare with (spec/secitem.md §1.9).

/// ``errSecDiskFull`` by its older name.
public let errSecDskFull: OSStatus = -34
/// No error.
public let errSecSuccess: OSStatus = 0
/// This operation is not offered.
public let errSecUnimplemented: OSStatus = -4
/// The disk is full.
public let errSecDiskFull: OSStatus = -34
/// Reading or writing failed.
public let errSecIO: OSStatus = -36
/// The file is already open for writing.
public let errSecOpWr: OSStatus = -49
/// A parameter is missing, contradicts another one or has a wrong type.
public let errSecParam: OSStatus = -50
/// There is no permission to write.
public let errSecWrPerm: OSStatus = -61
/// There is not enough memory.
public let errSecAllocate: OSStatus = -108
/// The person declined.
public let errSecUserCanceled: OSStatus = -128
/// The request is not possible now.
public let errSecBadReq: OSStatus = -909
/// An internal fault.
public let errSecInternalComponent: OSStatus = -2070
/// An unknown fault of a system library.
public let errSecCoreFoundationUnknown: OSStatus = -4960
/// The access control list is not of the simple form.
public let errSecACLNotSimple: OSStatus = -25240
/// There is no such policy.
public let errSecPolicyNotFound: OSStatus = -25241
/// A trust setting is not valid.
public let errSecInvalidTrustSetting: OSStatus = -25242
/// The item has no access control.
public let errSecNoAccessForItem: OSStatus = -25243
/// The owner cannot be changed in this way.
public let errSecInvalidOwnerEdit: OSStatus = -25244
/// No trust results are available.
public let errSecTrustNotAvailable: OSStatus = -25245
/// The format is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The format is unknown.
public let errSecUnknownFormat: OSStatus = -25257
/// The key can leave only when it is wrapped.
public let errSecKeyIsSensitive: OSStatus = -25258
/// There is more than one private key.
public let errSecMultiplePrivKeys: OSStatus = -25259
/// A passphrase is needed.
public let errSecPassphraseRequired: OSStatus = -25260
/// The password reference is not valid.
public let errSecInvalidPasswordRef: OSStatus = -25261
/// The trust settings are not valid.
public let errSecInvalidTrustSettings: OSStatus = -25262
/// There are no trust settings.
public let errSecNoTrustSettings: OSStatus = -25263
/// The PKCS#12 file failed its check: perhaps the password is wrong.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// The keychain is not available.
public let errSecNotAvailable: OSStatus = -25291
/// The keychain can only be read.
public let errSecReadOnly: OSStatus = -25292
/// Authentication failed.
public let errSecAuthFailed: OSStatus = -25293
/// There is no such keychain.
public let errSecNoSuchKeychain: OSStatus = -25294
/// The keychain is not valid.
public let errSecInvalidKeychain: OSStatus = -25295
/// A keychain of this name exists.
public let errSecDuplicateKeychain: OSStatus = -25296
/// The callback is registered already.
public let errSecDuplicateCallback: OSStatus = -25297
/// The callback is not valid.
public let errSecInvalidCallback: OSStatus = -25298
/// An item with the same primary key exists.
public let errSecDuplicateItem: OSStatus = -25299
/// No item matches.
public let errSecItemNotFound: OSStatus = -25300
/// The buffer is too small.
public let errSecBufferTooSmall: OSStatus = -25301
/// The value is too large.
public let errSecDataTooLarge: OSStatus = -25302
/// Items of this class have no such attribute.
public let errSecNoSuchAttr: OSStatus = -25303
/// The item reference is not valid.
public let errSecInvalidItemRef: OSStatus = -25304
/// The search reference is not valid.
public let errSecInvalidSearchRef: OSStatus = -25305
/// There is no such class of items.
public let errSecNoSuchClass: OSStatus = -25306
/// There is no default keychain.
public let errSecNoDefaultKeychain: OSStatus = -25307
/// The keychain is locked, or a person would have to be asked and cannot be.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The attribute can only be read.
public let errSecReadOnlyAttr: OSStatus = -25309
/// The version does not fit.
public let errSecWrongSecVersion: OSStatus = -25310
/// The key size is not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311
/// There is no module for storage.
public let errSecNoStorageModule: OSStatus = -25312
/// There is no module for certificates.
public let errSecNoCertificateModule: OSStatus = -25313
/// There is no module for policies.
public let errSecNoPolicyModule: OSStatus = -25314
/// A person has to be asked.
public let errSecInteractionRequired: OSStatus = -25315
/// The data is not available.
public let errSecDataNotAvailable: OSStatus = -25316
/// The data cannot be changed.
public let errSecDataNotModifiable: OSStatus = -25317
/// No certificate chain could be built.
public let errSecCreateChainFailed: OSStatus = -25318
/// The preferences domain is not valid.
public let errSecInvalidPrefsDomain: OSStatus = -25319
/// Nobody can be asked while the display sleeps.
public let errSecInDarkWake: OSStatus = -25320
/// The certificate did not sign this.
public let errSecNotSigner: OSStatus = -26267
/// The data is damaged or not of the expected form.
public let errSecDecode: OSStatus = -26275
/// The application does not have this access group.
public let errSecMissingEntitlement: OSStatus = -34018
/// The application may not use this.
public let errSecRestrictedAPI: OSStatus = -34020
