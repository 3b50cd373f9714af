// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension LAError.Code {
    /// Has `catch LAError.userCancel` find errors of that code, whatever type they come as.
    public static func ~= (code: LAError.Code, error: any Error) -> Bool {
        (error as? LAError)?.code == code
    }
}

// What `as?` goes by, from `NSError` and to it: no public protocol does that on Linux.
extension LAError: _ObjectiveCBridgeable {
    // swift-format-ignore: NoLeadingUnderscores
    /// The error as an object.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    // swift-format-ignore: NoLeadingUnderscores
    /// Takes `source`; nil is left in `result` if it is of another domain.
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
    /// Takes `source`; a failure to authenticate, if there is none.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        source.map(LAError.init(_nsError:)) ?? LAError(.authenticationFailed)
    }
}
