// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainServices

// Codes that no call on passwords answers: names only, so that code builds.

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
/// The record was changed meanwhile.
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
/// Nobody is logged in.
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
/// The encoding is not valid: text that is not UTF-8. What `KeychainSwift` answers.
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
