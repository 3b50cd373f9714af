// SPDX-License-Identifier: Apache-2.0

extension KeychainFailure {
    /// The `OSStatus` that the SecItem functions answer with: the one place where it is made.
    public var status: Int32 { code.status }
}

extension KeychainFailure.Code {
    /// spec/secitem.md §1.8, §1.9.
    package var status: Int32 {
        switch self {
        case .itemNotFound: -25300
        case .duplicateItem: -25299
        case .invalidRequest: -50
        case .noSuchAttribute: -25303
        case .noSuchClass: -25306
        case .missingEntitlement: -34018
        case .unimplemented: -4
        case .locked, .interactionNotAllowed: -25308
        case .authenticationFailed: -25293
        case .userCancelled: -128
        case .damaged: -26275
        case .diskFull: -34
        case .inputOutput: -36
        case .readOnly: -25292
        case .valueTooLarge: -25302
        case .outOfMemory: -108
        case .internalFault: -2070
        case .invalidEncoding: -67853
        case .passcodeNotSet, .keyUnavailable, .incomplete, .keychainDamaged, .newerFormat,
            .timedOut, .insecureFiles, .unsupportedFileSystem, .insufficientProtection, .noHome:
            -25291
        }
    }

    /// The code that says most of what `status` says; for statuses made by a system's keychain.
    package init(status: Int32) {
        self =
            switch status {
            case -25300: .itemNotFound
            case -25299: .duplicateItem
            case -50: .invalidRequest
            case -25303: .noSuchAttribute
            case -25306: .noSuchClass
            case -34018: .missingEntitlement
            case -4: .unimplemented
            case -25308: .interactionNotAllowed
            case -25293: .authenticationFailed
            case -128: .userCancelled
            case -26275: .damaged
            case -34: .diskFull
            case -36: .inputOutput
            case -25292: .readOnly
            case -25302: .valueTooLarge
            case -108: .outOfMemory
            case -25291: .keyUnavailable
            case -67853: .invalidEncoding
            default: .internalFault
            }
    }

    /// The sentence for a failure that has no better one.
    package var explanation: String {
        switch self {
        case .itemNotFound: "no item matches"
        case .duplicateItem: "an item with the same primary key exists"
        case .invalidRequest: "the request is not valid"
        case .noSuchAttribute: "items of this class lack an attribute that the request names"
        case .noSuchClass: "there is no such class of items"
        case .missingEntitlement: "the application does not have this access group"
        case .unimplemented: "this is not offered"
        case .locked: "the keychain is locked"
        case .interactionNotAllowed: "a person would have to be asked, which is not possible here"
        case .authenticationFailed: "authentication failed"
        case .userCancelled: "cancelled"
        case .passcodeNotSet: "this protection class needs a passcode, and none is set"
        case .keyUnavailable: "the device key is not available"
        case .incomplete: "one of the keychain's two files is missing"
        case .damaged: "the item is damaged"
        case .keychainDamaged: "the keychain is damaged"
        case .newerFormat: "the keychain was written by a newer version"
        case .timedOut: "the keychain stayed busy"
        case .diskFull: "the disk is full"
        case .inputOutput: "the system could not read or write"
        case .readOnly: "the keychain can only be read here"
        case .invalidEncoding: "the value is not what it is read as"
        case .valueTooLarge: "the value is larger than 16 MiB"
        case .insecureFiles: "owner, permissions or kind of a file are not safe"
        case .unsupportedFileSystem: "the file system cannot keep a keychain safe"
        case .insufficientProtection: "the keychain is protected less than the process requires"
        case .noHome: "no folder for the keychain is known"
        case .outOfMemory: "out of memory"
        case .internalFault: "internal fault"
        }
    }
}
