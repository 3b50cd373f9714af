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
    /// Bytes of a fixed length were being read.
    case parse
    /// Sealed data was being opened.
    case open
    /// A wrapped key was being unwrapped.
    case unwrap
    /// Padding was being removed.
    case unpad
    /// A secret was being agreed on with a public key.
    case agree
    /// A passphrase was being stretched.
    case stretch
}

extension SystemError {
    /// An error of sealing. `subject` must hold no secret: `key`, `root`.
    package static func sealing(
        _ code: Code, during operation: SealingOperation, of subject: String
    ) -> SystemError {
        SystemError(code, during: "\(operation.rawValue) \(subject)")
    }
}
