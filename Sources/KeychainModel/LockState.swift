// SPDX-License-Identifier: Apache-2.0

/// How far a keychain can be used at one moment (spec/keys-and-states.md §5).
///
/// Applications know it as `ValetKeychain.LockState`; the command prints its raw values.
@nonexhaustive
public enum LockState: String, CaseIterable, Hashable, Sendable {
    /// There is no keychain yet: the first item that is stored makes it.
    case absent
    /// One of the keychain's two files is missing: nothing can be opened or made.
    case incomplete
    /// The device key cannot be read, or belongs to another keychain. Only the right device key or
    /// the recovery key opens more than is open already.
    case keyUnavailable
    /// There is no passcode: everything is always open.
    case noPasscode
    /// Nobody has unlocked the keychain since the machine started: nothing is open.
    case beforeFirstUnlock
    /// Everything is open.
    case unlocked
    /// Items of the accessibilities `afterFirstUnlock…` are open, others are not.
    case locked
}
