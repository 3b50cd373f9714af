// SPDX-License-Identifier: Apache-2.0

/// The error of the module, which turns keys, contexts and plaintexts into sealed bytes that only
/// the same keys open.
///
/// It has no underlying error, because libsodium gives no reasons.
package struct SealingError: Error, Equatable, Sendable {
    /// What went wrong, by what the caller should do about it.
    package enum Code: Equatable, Sendable {
        /// Another key sealed this: look for that key.
        case wrongKey
        /// The key is right, but the sealed bytes or what they are bound to have changed: damage.
        case tampered
        /// The bytes have the wrong form: a wrong length, a value out of bounds.
        case malformed
        /// A newer version of the format: upgrade.
        case unsupported
        /// There is not enough memory: the cost is too high for this machine.
        case outOfMemory
    }

    /// What was being done.
    package enum Operation: String, Equatable, Sendable {
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

    /// What went wrong.
    package let code: Code
    /// What was being done.
    package let operation: Operation
    /// What it was done to, in words that hold no secret: `key`, `root`.
    package let subject: String

    /// Makes an error. `subject` must hold no secret.
    package init(_ code: Code, during operation: Operation, of subject: String) {
        self.code = code
        self.operation = operation
        self.subject = subject
    }
}

extension SealingError: CustomStringConvertible {
    /// The operation and the cause, in lower case and without a full stop.
    package var description: String { "\(operation.rawValue) \(subject): \(cause)" }

    private var cause: String {
        switch code {
        case .wrongKey: "another key is needed"
        case .tampered: "it has been changed"
        case .malformed: "not of the right form"
        case .unsupported: "made by a newer version"
        case .outOfMemory: "not enough memory"
        }
    }
}
