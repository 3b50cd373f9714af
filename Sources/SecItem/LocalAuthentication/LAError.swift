// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Why a person is not believed, or was not asked.
///
/// It comes as this type or, through an error pointer, as `NSError` of the domain ``errorDomain``;
/// `as?` turns each into the other. Its `NSUnderlyingErrorKey` holds the `KeychainFailure`, where
/// the keychain was the reason.
public struct LAError: CustomNSError, Hashable, Sendable {
    /// The reasons. The raw values are those of Apple's systems.
    public enum Code: Int, Sendable {
        /// Nobody proved who they are: a wrong finger, or three wrong passcodes.
        case authenticationFailed = -1
        /// The person declined.
        case userCancel = -2
        /// The person wants to do it in the application's own way.
        case userFallback = -3
        /// Nobody answered in time.
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
        /// There is no other device near.
        case companionNotAvailable = -11
        /// The reader is not paired with this machine.
        case biometryNotPaired = -12
        /// The reader is gone.
        case biometryDisconnected = -13
        /// What is to be shown has no room.
        case invalidDimensions = -14
        /// Somebody would have to be asked, which is not allowed or not possible.
        case notInteractive = -1004
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// The error as an object.
    public let _nsError: NSError

    /// The domain of these errors.
    public static var errorDomain: String { LAErrorDomain }

    /// An error with that code; without a text in `userInfo` it gets its own.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let text = [NSLocalizedDescriptionKey: code.explanation]
        _nsError = NSError(
            domain: LAErrorDomain, code: code.rawValue,
            userInfo: userInfo.merging(text) { given, _ in given })
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// The error that an object holds. A code that is not known is a failure to authenticate.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// Whether both have the same code, and say it in the same words.
    public static func == (one: LAError, other: LAError) -> Bool {
        one.code == other.code && one.localizedDescription == other.localizedDescription
    }

    /// Goes by the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// Why.
    public var code: Code { Code(rawValue: _nsError.code) ?? .authenticationFailed }

    /// The raw value of ``code``.
    public var errorCode: Int { code.rawValue }

    /// What else there is to know.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }

    /// What else there is to know.
    public var userInfo: [String: Any] { _nsError.userInfo }

    /// One sentence.
    public var localizedDescription: String { _nsError.localizedDescription }
}
