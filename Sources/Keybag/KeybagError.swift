// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// The error of the module, which turns a device secret, a passcode or a recovery key into the keys
/// of a keychain.
///
/// The key hierarchy is that of docs/FORMAT.md §4. The module knows bytes and keys only; its
/// callers store keybags and secrets.
package struct KeybagError: Error, Sendable {
    /// What a caller can do.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The bytes are not a keybag.
        case malformed
        /// A newer version made the keybag.
        case newer
        /// The keybag or the settings beside it were changed.
        case tampered
        /// The device secret is not the one that this keybag was made with.
        case wrongDeviceSecret
        /// The passcode is not the one that this keybag was made with. A changed salt, cost or
        /// commitment looks the same.
        case wrongPasscode
        /// The recovery key is not the one that this keybag was made for.
        case wrongRecoveryKey
        /// No recovery key was made for this keybag.
        case noRecoveryKey
        /// The text is not a recovery key.
        case mistypedRecoveryKey(RecoveryKeyMistake)
        /// A passcode of no bytes.
        case emptyPasscode
        /// A passcode of more than 1,024 bytes.
        case passcodeTooLong
        /// There is not enough memory to stretch the passcode.
        case outOfMemory
        /// The keybag needs a protector of another kind.
        case needsProtector
    }

    /// What a caller can do about it.
    package let code: Code
    /// What was being done: "open the keybag".
    package let operation: String
    /// The error of the layer below, if one led to this.
    package let underlying: (any Error)?

    init(_ code: Code, during operation: String, underlying: (any Error)? = nil) {
        self.code = code
        self.operation = operation
        self.underlying = underlying
    }
}

extension KeybagError: CustomStringConvertible {
    /// One line without secrets.
    package var description: String { "could not \(operation): \(explanation)" }

    /// What is wrong, in words without secrets.
    package var explanation: String {
        switch code {
        case .malformed: "not of the right form"
        case .newer: "made by a newer version"
        case .tampered: "it has been changed"
        case .wrongDeviceSecret: "wrong device key"
        case .wrongPasscode: "wrong passcode"
        case .wrongRecoveryKey: "wrong recovery key"
        case .noRecoveryKey: "there is no recovery key"
        case .mistypedRecoveryKey(let mistake): mistake.description
        case .emptyPasscode: "a passcode cannot be empty"
        case .passcodeTooLong: "a passcode has at most \(Passcode.maximalByteCount) bytes"
        case .outOfMemory: "not enough memory"
        case .needsProtector: "it needs another kind of protector"
        }
    }
}

extension KeybagError {
    /// The error of the keybag for a failed unwrap.
    ///
    /// - Parameter wrongKey: The code if the given key is not the wrapping key. That means a
    ///   changed keybag, unless the user typed the key.
    init(
        _ error: SealingError, during operation: String = "open the keybag",
        wrongKey: Code = .tampered
    ) {
        let code: Code =
            switch error.code {
            case .wrongKey: wrongKey
            case .tampered: .tampered
            case .outOfMemory: .outOfMemory
            case .malformed: .malformed
            case .unsupported: .newer
            }
        self.init(code, during: operation, underlying: error)
    }
}
