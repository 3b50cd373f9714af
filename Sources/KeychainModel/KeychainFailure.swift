// SPDX-License-Identifier: Apache-2.0

/// Why a keychain call failed, in full.
///
/// `OSStatus` and Valet's error enum lose the cause. This keeps it: the operation, the path, the
/// system's error and a hint. It never contains a secret.
public struct KeychainFailure: Error, Hashable, Sendable {
    /// What a caller can do about the failure.
    @nonexhaustive
    public enum Code: String, CaseIterable, Hashable, Sendable {
        /// No item matches.
        case itemNotFound
        /// An item with the same primary key exists.
        case duplicateItem
        /// The request contradicts itself or has a value of a wrong type.
        case invalidRequest
        /// The class of the item lacks an attribute that the request names.
        case noSuchAttribute
        /// The request names no class of items that exists.
        case noSuchClass
        /// The request names an access group that the application does not have.
        case missingEntitlement
        /// This kind of item or operation is not offered.
        case unimplemented
        /// The item's protection class is not available while the keychain is locked.
        case locked
        /// A person would have to be asked, which is not allowed or not possible.
        case interactionNotAllowed
        /// The person did not prove who they are.
        case authenticationFailed
        /// The person declined.
        case userCancelled
        /// The protection class exists only while a passcode is set.
        case passcodeNotSet
        /// The device key is missing, or belongs to another keychain.
        case keyUnavailable
        /// One of the keychain's two files is missing.
        case incomplete
        /// The item's row was changed or damaged.
        case damaged
        /// The keychain's database or keybag was changed or damaged.
        case keychainDamaged
        /// A newer version of this library wrote the keychain.
        case newerFormat
        /// Another process kept the keychain busy until the deadline.
        case timedOut
        /// The disk or the quota is full.
        case diskFull
        /// The system could not read or write.
        case inputOutput
        /// The keychain is on a read-only file system or in a read-only folder.
        case readOnly
        /// The value is not what it is read as: text that is not UTF-8, or an empty Boolean.
        case invalidEncoding
        /// The value is larger than 16 MiB.
        case valueTooLarge
        /// A file or folder has a wrong owner, wrong permissions or a link in its place.
        case insecureFiles
        /// The keychain is on a file system that cannot keep it safe.
        case unsupportedFileSystem
        /// The keychain is protected less than this process requires.
        case insufficientProtection
        /// No folder for the keychain can be determined.
        case noHome
        /// There is not enough memory.
        case outOfMemory
        /// A fault of this library.
        case internalFault
    }

    /// What a caller can do about it.
    public let code: Code
    /// The operation that failed: "add an item", "open the keychain".
    public let operation: String
    /// What is wrong, in words: lower case, no full stop, no secret.
    public private(set) var message: String
    /// The file or folder concerned.
    public let path: String?
    /// The `errno` of the system call that failed; 0 when none did.
    public private(set) var systemError: Int32 = 0
    /// What would help, if known.
    public var hint: String? { hint(naming: \.swiftName) }
    /// What would help, in no particular language.
    package private(set) var advice: Advice?

    /// A failure of `operation`.
    public init(
        _ code: Code, during operation: String, message: String? = nil, path: String? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.message = message ?? code.explanation
        self.path = path
        advice = hint.map(Advice.text)
    }

    /// The same failure, with the `errno` of the system call that it comes from; 0 for none.
    public init(_ failure: KeychainFailure, systemError: Int32) {
        self = failure
        self.systemError = systemError
    }

    /// The same failure, with `addition` after its message. The addition also begins in lower case.
    package init(_ failure: KeychainFailure, adding addition: String) {
        self = failure
        message += "; " + addition
    }

    /// The same failure, with another hint.
    package init(_ failure: KeychainFailure, hint: String) {
        self.init(failure, advice: .text(hint))
    }

    /// The same failure, with other advice.
    package init(_ failure: KeychainFailure, advice: Advice?) {
        self = failure
        self.advice = advice
    }
}

extension KeychainFailure {
    /// The failure for an access control that requires a finger, while none is enrolled.
    package static func noFinger(
        during operation: String, _ message: String
    ) -> KeychainFailure {
        KeychainFailure(
            .authenticationFailed, during: operation, message: message,
            hint: "enroll a finger with `fprintd-enroll`, and build the program with the trait "
                + "Fingerprint; or use an access control that accepts the passcode")
    }
}

extension KeychainFailure: CustomStringConvertible {
    /// One line: what failed, why, and where.
    public var description: String {
        let place = path.map { " (\($0))" } ?? ""
        return "could not \(operation): \(message)\(place)"
    }
}

extension KeychainFailure {
    /// The `OSStatus` that the SecItem functions return. No other code maps failures to statuses.
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

    /// The code that is closest to `status`: for statuses from a system's keychain.
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

    /// The raw value of the case of `KeychainError` that stands for this code: the number that the
    /// Objective-C and C interfaces report.
    package var keychainErrorNumber: Int {
        switch self {
        case .userCancelled, .authenticationFailed: 1
        case .itemNotFound: 2
        case .missingEntitlement: 3
        default: 0
        }
    }

    /// The message of a failure without a more specific one.
    package var explanation: String {
        switch self {
        case .itemNotFound: "no item matches"
        case .duplicateItem: "an item with the same primary key exists"
        case .invalidRequest: "the request is not valid"
        case .noSuchAttribute: "items of this class lack an attribute that the request names"
        case .noSuchClass: "there is no such class of items"
        case .missingEntitlement: "the application does not have this access group"
        case .unimplemented: "not supported"
        case .locked: "the keychain is locked"
        case .interactionNotAllowed: "the user would have to be asked, which is not possible here"
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
        case .readOnly: "the keychain is read-only here"
        case .invalidEncoding: "the value has the wrong encoding"
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
