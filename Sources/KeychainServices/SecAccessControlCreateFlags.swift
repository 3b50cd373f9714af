// SPDX-License-Identifier: Apache-2.0

/// What a person has to prove before an item can be read (keychain-semantics §10.1).
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits that Apple's systems have for it.
    public let rawValue: CFOptionFlags

    /// A set of these bits, known ones or not.
    public init(rawValue: CFOptionFlags) {
        self.rawValue = rawValue
    }

    /// Biometry or the passcode, whichever the system chooses.
    public static let userPresence = Self(rawValue: 1 << 0)
    /// Any finger that is enrolled, now or later.
    public static let biometryAny = Self(rawValue: 1 << 1)
    /// ``biometryAny`` by its older name.
    public static let touchIDAny = biometryAny
    /// A finger of those that were enrolled when the item was added.
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
    /// ``biometryCurrentSet`` by its older name.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The passcode.
    public static let devicePasscode = Self(rawValue: 1 << 4)
    /// Another device of the person's that is near.
    public static let companion = Self(rawValue: 1 << 5)
    /// ``companion`` by its older name.
    public static let watch = companion
    /// One of the others is enough.
    public static let or = Self(rawValue: 1 << 14)
    /// All of the others are needed.
    public static let and = Self(rawValue: 1 << 15)
    /// Signing and agreeing on keys, instead of reading.
    public static let privateKeyUsage = Self(rawValue: 1 << 30)
    /// A secret of the application's, besides.
    public static let applicationPassword = Self(rawValue: 1 << 31)
}
