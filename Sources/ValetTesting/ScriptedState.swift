// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// What failures let a keychain say of itself, when it is asked and when it tells.
///
/// It is the state that the next call would meet: asking is not counted among the calls.
struct ScriptedState {
    /// What was found out, or why nothing was.
    typealias Found = Result<KeychainAvailability, KeychainFailure>

    private let kinds: [ScriptedFailure.Kind]

    /// What `failures` come to now.
    init(_ failures: [ActiveFailure]) {
        kinds = failures.compactMap(\.next)
    }

    /// As a call does it, with the delays that calls have.
    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        for case .slow(let duration) in kinds {
            try ActiveFailure.delay(ItemStore.looking, by: duration, in: session)
        }
        return scripted(try session.store.availability())
    }

    /// `found` in the scripted state. The receiver waits anyway, and is not delayed.
    func changed(_ found: Found, in session: KeychainSession) -> Found {
        for case .slow(session.store.timeLimit...) in kinds {
            return .failure(KeychainFailure(.timedOut, during: ItemStore.looking))
        }
        return found.map(scripted)
    }

    /// The device key is looked for first, then what was opened (spec/keys-and-states.md §5).
    private func scripted(_ found: KeychainAvailability) -> KeychainAvailability {
        var found = found
        if kinds.contains(.keyUnavailable) {
            (found.state, found.openKeys) = (.keyUnavailable, .none)
            found.level = found.level ?? .file
            found.fault = KeychainFailure(.keyUnavailable, during: ItemStore.looking)
        } else if kinds.contains(.beforeFirstUnlock) {
            (found.state, found.openKeys) = (.beforeFirstUnlock, .none)
            found.level = .passcode
        } else if kinds.contains(.locked) {
            (found.state, found.openKeys) = (.locked, .afterFirstUnlock)
            found.level = .passcode
        }
        return found
    }
}
