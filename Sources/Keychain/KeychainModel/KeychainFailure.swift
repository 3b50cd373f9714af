// SPDX-License-Identifier: Apache-2.0

/// Why a keychain call failed, in full.
///
/// `OSStatus` and Valet's error enum lose the cause. This keeps it: the operation, the path, the
/// system's error and a hint. It never contains a secret.
public struct KeychainFailure: Error, Hashable, Sendable {
    /// What a caller can do about the failure. Modules of this package add codes of their own.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code.
        public let rawValue: String
        /// The `OSStatus` that stands for the code: spec/secitem.md §1.8, §1.9.
        package let status: Int32
        /// The message of a failure without a more specific one.
        package let explanation: String

        package init(_ name: String, status: Int32, _ explanation: String) {
            rawValue = name
            self.status = status
            self.explanation = explanation
        }

        /// The code of this name, if it is one of ``allCases``.
        public init?(rawValue: String) {
            guard let code = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
                return nil
            }
            self = code
        }

        /// Codes are equal if their names are.
        public static func == (one: Code, other: Code) -> Bool { one.rawValue == other.rawValue }

        /// Feeds the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
    }

    /// What a caller can do about it.
    public let code: Code
    /// The operation that failed: "add an item", "open the keychain".
    public private(set) var operation: String
    /// What is wrong, in words: lower case, no full stop, no secret.
    public private(set) var message: String
    /// The file or folder concerned.
    public let path: String?
    /// The `errno` of the system call that failed; 0 when none did.
    public private(set) var systemError: Int32 = 0
    /// What would help, if known.
    public var hint: String? { hint(naming: \.swiftName) }
    package private(set) var advice: Advice?
    /// Whether the call has changed something before it failed. Then nobody repeats it by itself,
    /// as after an unlock: its result would leave that out.
    package private(set) var hasTakenEffect = false
    /// The platform modules' name for the cause; set where a caller has to tell causes apart.
    var causeName: String?

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

    package init(_ failure: KeychainFailure, during operation: String) {
        self = failure
        self.operation = operation
    }

    /// The same failure, with `addition` after its message. The addition also begins in lower case.
    package init(_ failure: KeychainFailure, adding addition: String) {
        self = failure
        message += "; " + addition
    }

    /// The same failure, of a call that has changed something. `effect` says what, and follows the
    /// message.
    package init(_ failure: KeychainFailure, after effect: String) {
        self.init(failure, adding: effect)
        hasTakenEffect = true
    }

    package init(_ failure: KeychainFailure, hint: String) {
        self.init(failure, advice: .text(hint))
    }

    package init(_ failure: KeychainFailure, advice: Advice?) {
        self = failure
        self.advice = advice
    }

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

    /// The `OSStatus` that the SecItem functions return. No other code maps failures to statuses.
    public var status: Int32 { code.status }
}

extension KeychainFailure.Code {
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
}
