// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

// Turns keys, contexts and plaintexts into sealed bytes that only the same keys open. libsodium
// gives no reasons for a failure, so that no error has one.

/// Reasons why sealed bytes do not open, beside `malformed` (a wrong length, a value out of bounds)
/// and `outOfMemory` (the cost is too high for this machine).
extension SystemError.Code {
    /// Another key sealed this: look for that key.
    package static let wrongKey = Self("wrongKey", "another key is needed")
    /// The key is right, but the sealed bytes or their associated data have changed: damage.
    package static let tampered = Self("tampered", "it has been changed")
    /// A newer version of the format: upgrade.
    package static let unsupported = Self("unsupported", "made by a newer version")
}

/// What was being done to sealed or unsealed bytes.
package enum SealingOperation: String, Equatable, Sendable {
    case parse
    case open
    case unwrap
    case unpad
    case agree
    case stretch
}

extension SystemError {
    /// An error of sealing. `subject` names what is sealed, such as `key` or `root`, and must hold
    /// no secret.
    package static func sealing(
        _ code: Code, during operation: SealingOperation, of subject: String
    ) -> SystemError {
        SystemError(code, during: "\(operation.rawValue) \(subject)")
    }
}
