// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainServices

// The `errSec…` codes. `KeychainFailure.Code.status` chooses the code of a failure.

// Codes that the calls return, or that programs compare with (spec/secitem.md §1.9).

/// ``errSecDiskFull`` by its older name.
public let errSecDskFull: OSStatus = -34
/// No error.
public let errSecSuccess: OSStatus = 0
/// This operation is not supported.
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
/// The user declined.
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
/// The key can be exported only when it is wrapped.
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
/// The keychain is read-only.
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
/// The keychain is locked, or the user would have to be asked and cannot be.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The attribute is read-only.
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
/// The user cannot be asked while the display sleeps.
public let errSecInDarkWake: OSStatus = -25320
/// The certificate did not sign this.
public let errSecNotSigner: OSStatus = -26267
/// The data is damaged or not of the expected form.
public let errSecDecode: OSStatus = -26275
/// The application does not have this access group.
public let errSecMissingEntitlement: OSStatus = -34018
/// The application may not use this.
public let errSecRestrictedAPI: OSStatus = -34020

// Codes that no call on passwords returns. Only the names exist, so that code compiles.

/// The service is not available.
public let errSecServiceNotAvailable: OSStatus = -67585
/// The client's identity does not suffice.
public let errSecInsufficientClientID: OSStatus = -67586
/// The device was reset.
public let errSecDeviceReset: OSStatus = -67587
/// The device failed.
public let errSecDeviceFailed: OSStatus = -67588
/// The value could not be converted.
public let errSecConversionError: OSStatus = -67594
/// The quota is used up.
public let errSecQuotaExceeded: OSStatus = -67596
/// The file is too large.
public let errSecFileTooBig: OSStatus = -67597
/// A blob of the database is not valid.
public let errSecInvalidDatabaseBlob: OSStatus = -67598
/// A key blob is not valid.
public let errSecInvalidKeyBlob: OSStatus = -67599
/// There is no more data.
public let errSecEndOfData: OSStatus = -67634
/// The network failed.
public let errSecNetworkFailure: OSStatus = -67636
/// Another process changed the record.
public let errSecRecordModified: OSStatus = -67638
/// The function was not initialised.
public let errSecNotInitialized: OSStatus = -67667
/// An internal fault.
public let errSecInternalError: OSStatus = -67671
/// There is not enough memory.
public let errSecMemoryError: OSStatus = -67672
/// The data is not valid.
public let errSecInvalidData: OSStatus = -67673
/// The pointer is not valid.
public let errSecInvalidPointer: OSStatus = -67675
/// The function failed.
public let errSecFunctionFailed: OSStatus = -67677
/// The handle is not valid.
public let errSecInvalidHandle: OSStatus = -67680
/// The name is not valid.
public let errSecInvalidName: OSStatus = -67689
/// The certificate reference is not valid.
public let errSecInvalidCertificateRef: OSStatus = -67690
/// The group of certificates is not valid.
public let errSecInvalidCertificateGroup: OSStatus = -67691
/// The query is not valid.
public let errSecInvalidQuery: OSStatus = -67693
/// The value is not valid.
public let errSecInvalidValue: OSStatus = -67694
/// The credentials are not valid.
public let errSecInvalidAccessCredentials: OSStatus = -67700
/// The record is not valid.
public let errSecInvalidRecord: OSStatus = -67701
/// The access control list is not valid.
public let errSecInvalidACL: OSStatus = -67702
/// The privilege was not granted.
public let errSecPrivilegeNotGranted: OSStatus = -67705
/// The key reference is not valid.
public let errSecInvalidKeyRef: OSStatus = -67712
/// The input has a wrong length.
public let errSecInputLengthError: OSStatus = -67724
/// The output has a wrong length.
public let errSecOutputLengthError: OSStatus = -67725
/// The privilege is not supported.
public let errSecPrivilegeNotSupported: OSStatus = -67726
/// No user is logged in.
public let errSecNotLoggedIn: OSStatus = -67729
/// The key format is not supported.
public let errSecUnsupportedKeyFormat: OSStatus = -67734
/// The key size is not supported.
public let errSecUnsupportedKeySize: OSStatus = -67735
/// The context is not valid.
public let errSecInvalidContext: OSStatus = -67746
/// The algorithm is not valid.
public let errSecInvalidAlgorithm: OSStatus = -67747
/// The key attribute is not valid.
public let errSecInvalidAttributeKey: OSStatus = -67748
/// The signature does not fit.
public let errSecVerifyFailed: OSStatus = -67808
/// The certificate is no longer valid.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is not valid yet.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate was revoked.
public let errSecCertificateRevoked: OSStatus = -67820
/// The credentials do not suffice.
public let errSecInsufficientCredentials: OSStatus = -67822
/// The action is not valid.
public let errSecInvalidAction: OSStatus = -67823
/// The identity is not valid.
public let errSecInvalidID: OSStatus = -67832
/// The identifier is not valid.
public let errSecInvalidIdentifier: OSStatus = -67833
/// More than one value is not supported.
public let errSecMultipleValuesUnsupported: OSStatus = -67842
/// This is not trusted.
public let errSecNotTrusted: OSStatus = -67843
/// The request was rejected.
public let errSecRequestRejected: OSStatus = -67847
/// The encoding is not valid: text that is not UTF-8. `KeychainSwift` returns this code.
public let errSecInvalidEncoding: OSStatus = -67853
/// The database is locked.
public let errSecDatabaseLocked: OSStatus = -67869
/// The store is open.
public let errSecDatastoreIsOpen: OSStatus = -67870
/// A value is missing.
public let errSecMissingValue: OSStatus = -67871
/// The access request is not valid.
public let errSecInvalidAccessRequest: OSStatus = -67876
/// The new owner is not valid.
public let errSecInvalidNewOwner: OSStatus = -67878

// Codes without a public text, and names for `errSecParam` and others that only Apple's own
// programs use. They exist so that code compiles (spec/secitem.md §1.8, §1.9).

/// An internal fault.
public let errSecInternal: OSStatus = -26276
/// The policy forbids it.
public let errSecPolicyDenied: OSStatus = -26270
/// The user has to authenticate; no caller sees this code.
public let errSecAuthNeeded: OSStatus = -25330
/// The answer comes later; no caller sees this code.
public let errSecWaitForCallback: OSStatus = -34017
/// The keychain is being upgraded; no caller sees this code.
public let errSecUpgradePending: OSStatus = -34019
/// ``errSecUnimplemented`` for an operation.
public let errSecUnsupportedOperation: OSStatus = -4
/// ``errSecDecode`` for a key.
public let errSecInvalidKey: OSStatus = -26275
/// ``errSecDecode`` for a certificate.
public let errSecInvalidCertificate: OSStatus = -26275
/// ``errSecParam`` for a key of a dictionary.
public let errSecItemInvalidKey: OSStatus = -50
/// ``errSecParam`` for the type of a key.
public let errSecItemInvalidKeyType: OSStatus = -50
/// ``errSecParam`` for a value.
public let errSecItemInvalidValue: OSStatus = -50
/// ``errSecParam`` for a class that is missing.
public let errSecItemClassMissing: OSStatus = -50
/// ``errSecParam`` for a match key.
public let errSecItemMatchUnsupported: OSStatus = -50
/// ``errSecParam`` for keys that do not go together.
public let errSecItemIllegalQuery: OSStatus = -50
/// ``errSecParam`` for a list of items.
public let errSecUseItemListUnsupported: OSStatus = -50
/// ``errSecParam`` for `kSecReturnData`.
public let errSecReturnDataUnsupported: OSStatus = -50
/// ``errSecParam`` for `kSecReturnAttributes`.
public let errSecReturnAttributesUnsupported: OSStatus = -50
/// ``errSecParam`` for `kSecReturnRef`.
public let errSecReturnRefUnsupported: OSStatus = -50
/// ``errSecParam`` for `kSecReturnPersistentRef`.
public let errSecReturnPersistentRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a missing pointer to the result.
public let errSecReturnMissingPointer: OSStatus = -50
/// ``errSecParam`` for a limit.
public let errSecMatchLimitUnsupported: OSStatus = -50
/// ``errSecParam`` for an object to search by.
public let errSecValueRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a persistent reference to search by.
public let errSecValuePersistentRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a padding.
public let errSecUnsupportedPadding: OSStatus = -50
