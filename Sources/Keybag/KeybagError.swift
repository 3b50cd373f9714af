// SPDX-License-Identifier: Apache-2.0

/// Turns a device secret into the keys of a keychain.
///
/// The hierarchy is that of docs/FORMAT.md §4. The module knows bytes and keys only: where a
/// keybag or a secret is stored is its caller's concern.
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
        /// The keybag asks for a protector that was not offered.
        case needsProtector
        /// The keybag has no key of that protection class.
        case classUnavailable
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
    package var description: String {
        "could not \(operation): \(code)"
    }
}
