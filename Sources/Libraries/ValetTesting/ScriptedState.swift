// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// The state that a temporary keychain reports while failures are in effect: the state that the
/// next call would find. Asking for the state is not counted as a call.
struct ScriptedState {
    /// The state, or why it is unknown.
    typealias Found = Result<KeychainAvailability, KeychainFailure>

    private let kinds: [ScriptedFailure.Kind]

    /// The state that `failures` produce now.
    init(_ failures: [ActiveFailure]) {
        kinds = failures.compactMap(\.next)
    }

    /// Looks up the state, with the delays of a call.
    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        for case .slow(let duration) in kinds {
            try ActiveFailure.delay(Keychain.looking, by: duration, in: session)
        }
        return scripted(try session.store.keychain.availability())
    }

    /// `found` with the scripted state. Adds no delay, because the receiver waits anyway.
    func changed(_ found: Found, in session: KeychainSession) -> Found {
        for case .slow(session.store.timeLimit...) in kinds {
            return .failure(KeychainFailure(.timedOut, during: Keychain.looking))
        }
        return found.map(scripted)
    }

    /// The device key counts first, then the opened keys (spec/keys-and-states.md §5).
    private func scripted(_ found: KeychainAvailability) -> KeychainAvailability {
        var found = found
        if kinds.contains(.keyUnavailable) {
            (found.state, found.openKeys) = (.keyUnavailable, [])
            found.level = found.level ?? .file
            found.fault = KeychainFailure(.keyUnavailable, during: Keychain.looking)
        } else if kinds.contains(.beforeFirstUnlock) {
            (found.state, found.openKeys) = (.beforeFirstUnlock, [])
            found.level = .passcode
        } else if kinds.contains(.locked) {
            (found.state, found.openKeys) = (.locked, [.afterFirstUnlock])
            found.level = .passcode
        }
        return found
    }
}
