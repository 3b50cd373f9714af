// SPDX-License-Identifier: Apache-2.0

/// What goes wrong with calls to a temporary keychain, with the codes of a real one.
///
/// A call is one request to the keychain: methods of `Valet` and `KeychainSwift` that look twice
/// make two. `ValetKeychain.lockState`, and what reports or awaits it, has the state that the next
/// call would meet, unless the failure is of one key; asking for it is no call.
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

    /// Whether it is how the keychain is, and not what becomes of some items or of writing.
    var isOfKeychain: Bool {
        guard key == nil else { return false }
        return switch kind {
        case .locked, .beforeFirstUnlock, .keyUnavailable, .slow: true
        case .damaged, .diskFull, .userCancelled: false
        }
    }

    /// The keychain is locked: errSecInteractionNotAllowed (-25308) for what needs an item of a
    /// class that is closed then. Items of the classes "after first unlock" can be used, items
    /// that are not there are not found, and local ones can be deleted.
    public static let locked = ScriptedFailure(kind: .locked)

    /// The keychain was not unlocked since the start of the system:
    /// errSecInteractionNotAllowed (-25308) for every call.
    public static let beforeFirstUnlock = ScriptedFailure(kind: .beforeFirstUnlock)

    /// The device key is another keychain's: errSecNotAvailable (-25291) for every call.
    public static let keyUnavailable = ScriptedFailure(kind: .keyUnavailable)

    /// Items are damaged: errSecDecode (-26275) for reading and changing those that are there.
    /// They can be stored anew and deleted.
    public static let damaged = ScriptedFailure(kind: .damaged)

    /// The disk is full: errSecDiskFull (-34) for every call that writes.
    public static let diskFull = ScriptedFailure(kind: .diskFull)

    /// A person was asked and declined: errSecUserCanceled (-128) for reading values, and changing
    /// items, that are there.
    public static let userCancelled = ScriptedFailure(kind: .userCancelled)

    /// Each call takes that much longer. From five seconds, the deadline of a call, it ends there
    /// with errSecNotAvailable (-25291; `timedOut`) instead.
    public static func slow(_ duration: Duration) -> ScriptedFailure {
        ScriptedFailure(kind: .slow(duration))
    }

    /// The same, for items with that key alone: the account, with the prefix of `KeychainSwift`.
    public func forKey(_ key: String) -> ScriptedFailure {
        var failure = self
        failure.key = key
        return failure
    }

    /// The same, for one call of those that it would meet.
    ///
    /// - Parameter number: 1 for the first.
    public func atCall(_ number: Int) -> ScriptedFailure {
        var failure = self
        failure.calls = .only(number)
        return failure
    }

    /// The same, from one call on of those that it would meet.
    ///
    /// - Parameter number: 1 for the first.
    public func fromCall(_ number: Int) -> ScriptedFailure {
        var failure = self
        failure.calls = .from(number)
        return failure
    }
}
