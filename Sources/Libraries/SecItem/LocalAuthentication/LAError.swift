// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices

/// Why the user was not authenticated.
///
/// Calls throw this type or, through an error pointer, set an `NSError` of the domain
/// ``errorDomain``; `as?` converts each to the other. `NSUnderlyingErrorKey` holds the
/// `KeychainFailure` if the keychain was the reason.
public struct LAError: CustomNSError, Hashable, Sendable {
    /// The reasons. The raw values are those of Apple's systems.
    public enum Code: Int, Sendable {
        /// A wrong finger, or three wrong passcodes.
        case authenticationFailed = -1
        /// The user declined.
        case userCancel = -2
        /// The user prefers the application's own way.
        case userFallback = -3
        /// No answer came in time.
        case systemCancel = -4
        /// The keychain has no passcode.
        case passcodeNotSet = -5
        /// There is no reader.
        case biometryNotAvailable = -6
        /// No finger is enrolled.
        case biometryNotEnrolled = -7
        /// There were too many tries.
        case biometryLockout = -8
        /// The application ended the question.
        case appCancel = -9
        /// The context is no longer valid.
        case invalidContext = -10
        /// No other device is near.
        case companionNotAvailable = -11
        /// The reader is not paired with this machine.
        case biometryNotPaired = -12
        /// The reader was disconnected.
        case biometryDisconnected = -13
        /// The question does not fit on the screen.
        case invalidDimensions = -14
        /// The user would have to be asked, which is not allowed or not possible.
        case notInteractive = -1004
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// The error as an object.
    public let _nsError: NSError

    /// The domain of these errors.
    public static var errorDomain: String { LAErrorDomain }

    /// An error with that code. Without a text in `userInfo` it gets the text of the code.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let text = [NSLocalizedDescriptionKey: code.explanation]
        _nsError = NSError(
            domain: LAErrorDomain, code: code.rawValue,
            userInfo: userInfo.merging(text) { given, _ in given })
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// The error that an object holds. An unknown code is a failure to authenticate.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// Whether both have the same code and the same text.
    public static func == (one: LAError, other: LAError) -> Bool {
        one.code == other.code && one.localizedDescription == other.localizedDescription
    }

    /// Hashes the code alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// The reason.
    public var code: Code { Code(rawValue: _nsError.code) ?? .authenticationFailed }

    /// The raw value of ``code``.
    public var errorCode: Int { code.rawValue }

    /// The texts and the underlying error.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }

    /// The texts and the underlying error.
    public var userInfo: [String: Any] { _nsError.userInfo }

    /// One sentence.
    public var localizedDescription: String { _nsError.localizedDescription }

    /// ``Code/authenticationFailed``
    public static var authenticationFailed: Code { .authenticationFailed }
    /// ``Code/userCancel``
    public static var userCancel: Code { .userCancel }
    /// ``Code/userFallback``
    public static var userFallback: Code { .userFallback }
    /// ``Code/systemCancel``
    public static var systemCancel: Code { .systemCancel }
    /// ``Code/passcodeNotSet``
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// ``Code/biometryNotAvailable``
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// ``Code/biometryNotEnrolled``
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// ``Code/biometryLockout``
    public static var biometryLockout: Code { .biometryLockout }
    /// ``Code/appCancel``
    public static var appCancel: Code { .appCancel }
    /// ``Code/invalidContext``
    public static var invalidContext: Code { .invalidContext }
    /// ``Code/companionNotAvailable``
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// ``Code/biometryNotPaired``
    public static var biometryNotPaired: Code { .biometryNotPaired }
    /// ``Code/biometryDisconnected``
    public static var biometryDisconnected: Code { .biometryDisconnected }
    /// ``Code/invalidDimensions``
    public static var invalidDimensions: Code { .invalidDimensions }
    /// ``Code/notInteractive``
    public static var notInteractive: Code { .notInteractive }

    /// The name that older code has for ``biometryNotAvailable``.
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    /// The name that older code has for ``biometryNotEnrolled``.
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    /// The name that older code has for ``biometryLockout``.
    public static var touchIDLockout: Code { .biometryLockout }
    /// The name that older code has for ``companionNotAvailable``.
    public static var watchNotAvailable: Code { .companionNotAvailable }
}

extension LAError.Code {
    /// The name that older code has for ``biometryNotAvailable``.
    public static var touchIDNotAvailable: LAError.Code { .biometryNotAvailable }
    /// The name that older code has for ``biometryNotEnrolled``.
    public static var touchIDNotEnrolled: LAError.Code { .biometryNotEnrolled }
    /// The name that older code has for ``biometryLockout``.
    public static var touchIDLockout: LAError.Code { .biometryLockout }
    /// The name that older code has for ``companionNotAvailable``.
    public static var watchNotAvailable: LAError.Code { .companionNotAvailable }

    var explanation: String {
        switch self {
        case .authenticationFailed: "Authentication failed."
        case .userCancel: "Authentication was cancelled."
        case .userFallback: "Another way to authenticate was chosen."
        case .systemCancel: "No answer came in time."
        case .passcodeNotSet: "The keychain has no passcode."
        case .biometryNotAvailable: "There is no fingerprint reader."
        case .biometryNotEnrolled: "No finger is enrolled."
        case .biometryLockout: "There were too many tries with a wrong finger."
        case .appCancel: "The application ended the authentication."
        case .invalidContext: "The authentication context is no longer valid."
        case .companionNotAvailable: "No other device is near."
        case .biometryNotPaired: "The fingerprint reader is not paired."
        case .biometryDisconnected: "The fingerprint reader is gone."
        case .invalidDimensions: "The question does not fit on the screen."
        case .notInteractive: "The user cannot be asked here."
        }
    }
}

extension LAError.Code {
    /// Lets `catch LAError.userCancel` find errors of that code, whether they are `LAError` or
    /// `NSError`.
    public static func ~= (code: LAError.Code, error: any Error) -> Bool {
        (error as? LAError)?.code == code
    }
}

// `as?` converts to and from `NSError` only through this protocol. Linux has no public one for it.
extension LAError: _ObjectiveCBridgeable {
    // swift-format-ignore: NoLeadingUnderscores
    /// The error as an object.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    // swift-format-ignore: NoLeadingUnderscores
    /// Takes `source`. Leaves `result` as it is if `source` is of another domain, or its code is
    /// not known.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// Takes `source`, unless it is of another domain, or its code is not known.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout LAError?
    ) -> Bool {
        guard source.domain == errorDomain, Code(rawValue: source.code) != nil else {
            return false
        }
        result = LAError(_nsError: source)
        return true
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// Takes `source`. Nil becomes ``Code/authenticationFailed``.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        source.map(LAError.init(_nsError:)) ?? LAError(.authenticationFailed)
    }

    /// The error that a context's calls report where a call for items reports `failure`.
    init(_ failure: KeychainFailure) {
        let code: Code =
            switch failure.cause {
            case .endedByApplication: .appCancel
            case .contextInvalidated: .invalidContext
            case .noAnswer: .systemCancel
            case .passcodePreferred: .userFallback
            case .noPasscode: .passcodeNotSet
            case .biometryNotAvailable: .biometryNotAvailable
            case .biometryNotEnrolled: .biometryNotEnrolled
            case .biometryLockout: .biometryLockout
            case .otherDeviceNeeded: .companionNotAvailable
            default:
                switch failure.code {
                case .userCancelled: .userCancel
                case .interactionNotAllowed: .notInteractive
                case .passcodeNotSet: .passcodeNotSet
                default: .authenticationFailed
                }
            }
        self.init(code, userInfo: [NSUnderlyingErrorKey: failure])
    }
}
