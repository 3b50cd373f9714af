// SPDX-License-Identifier: Apache-2.0

/// What an application can hand to a context in place of a person.
public enum LACredentialType: Int, Sendable {
    /// A password of the application's own, which no item takes here: setting it is refused.
    case applicationPassword = 0
    /// The keychain's passcode, which an application has asked for in its own way. Not on Apple's
    /// systems.
    case passcode = -1
    /// The PIN of a smart card: there is none here, and setting it is refused.
    case smartCardPIN = -3
}
