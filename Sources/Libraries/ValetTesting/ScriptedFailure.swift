// SPDX-License-Identifier: Apache-2.0

/// A failure of calls to a temporary keychain, with the codes of a real keychain.
///
/// A call is one request to the keychain. Some methods of `Valet` and `KeychainSwift` make two.
/// `ValetKeychain.lockState`, and the calls that report or await it, return the state that the next
/// call would find, unless the failure is for one key; they are not counted as calls.
public struct ScriptedFailure: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case locked, beforeFirstUnlock, keyUnavailable, damaged, diskFull, userCancelled
        case slow(Duration)
    }

    enum Calls: Hashable, Sendable {
        case all
        case only(Int)
        case from(Int)
    }

    let kind: Kind
    var key: String?
    var calls = Calls.all

    /// Whether it is a state of the whole keychain, not a failure of some items or of writing.
    var isOfKeychain: Bool {
        guard key == nil else { return false }
        return switch kind {
        case .locked, .beforeFirstUnlock, .keyUnavailable, .slow: true
        case .damaged, .diskFull, .userCancelled: false
        }
    }

    /// The keychain is locked: errSecInteractionNotAllowed (-25308) for calls that need an item of
    /// a locked class. Items of the classes "after first unlock" can be used, missing items are not
    /// found, and local items can be deleted.
    public static let locked = ScriptedFailure(kind: .locked)

    /// The keychain was never unlocked since the start of the system: errSecInteractionNotAllowed
    /// (-25308) for every call.
    public static let beforeFirstUnlock = ScriptedFailure(kind: .beforeFirstUnlock)

    /// The device key belongs to another keychain: errSecNotAvailable (-25291) for every call.
    public static let keyUnavailable = ScriptedFailure(kind: .keyUnavailable)

    /// Items are damaged: errSecDecode (-26275) for reading and changing existing items. They can
    /// be replaced and deleted.
    public static let damaged = ScriptedFailure(kind: .damaged)

    /// The disk is full: errSecDiskFull (-34) for every call that writes.
    public static let diskFull = ScriptedFailure(kind: .diskFull)

    /// The user was asked and declined: errSecUserCanceled (-128) for reading values of existing
    /// items and for changing existing items.
    public static let userCancelled = ScriptedFailure(kind: .userCancelled)

    /// Each call takes longer by `duration`. If that is five seconds or more, the time limit of a
    /// call, the call fails after five seconds with errSecNotAvailable (-25291; `timedOut`).
    public static func slow(_ duration: Duration) -> ScriptedFailure {
        ScriptedFailure(kind: .slow(duration))
    }

    /// Returns the same failure for items with that key alone. The key is the account, including
    /// the prefix of `KeychainSwift`.
    public func forKey(_ key: String) -> ScriptedFailure {
        var failure = self
        failure.key = key
        return failure
    }

    /// Returns the same failure for one of the calls that it applies to.
    ///
    /// - Parameter number: Which call; 1 is the first.
    public func atCall(_ number: Int) -> ScriptedFailure {
        var failure = self
        failure.calls = .only(number)
        return failure
    }

    /// Returns the same failure for all calls that it applies to, from one of them on.
    ///
    /// - Parameter number: The first call that fails; 1 is the first of all.
    public func fromCall(_ number: Int) -> ScriptedFailure {
        var failure = self
        failure.calls = .from(number)
        return failure
    }
}
