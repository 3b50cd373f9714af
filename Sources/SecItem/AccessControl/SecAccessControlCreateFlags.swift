// SPDX-License-Identifier: Apache-2.0

/// What a person has to prove before an item is given out (spec/secitem.md §10.1).
///
/// Two constraints without ``or`` and ``and`` have to be met both.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits, as Apple's systems number them.
    public let rawValue: UInt

    /// The flags whose bits are set.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// A fingerprint or the keychain's passcode; goes with no other constraint.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any finger that is enrolled when the item is read.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// A finger, while those are enrolled that were when the item was added.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The keychain's passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// Another device of the person, which there is none of here: met by nobody.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// One of the constraints suffices.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All constraints have to be met.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints are about the use of a private key: not for passwords.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// A password of the application's is needed, too, whatever ``and`` and ``or`` join: that of
    /// the `LAContext` (`setCredential(_:type:)`), else one that a person is asked for.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// The older name of ``biometryAny``.
    public static let touchIDAny = biometryAny
    /// The older name of ``biometryCurrentSet``.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The older name of ``companion``.
    public static let watch = companion
}
