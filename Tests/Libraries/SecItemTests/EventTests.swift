// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetSecItem

/// The lines of spec/keys-and-states.md §5 that are about a keychain as a whole.
private enum KeychainEvent: String, CaseIterable {
    case unlock, unlockWrongly, lock, lockAll, setPasscode, changePasscode, removePasscode

    func happen(to fixture: StateFixture) throws {
        let store = fixture.session.store
        let new = try TestKeychain.passcode("the next passcode")
        switch self {
        case .unlock: try fixture.unlock()
        case .unlockWrongly: try store.keychain.unlock(TestKeychain.passcode("another passcode"))
        case .lock: try store.keychain.lock()
        case .lockAll: try store.keychain.lock(all: true)
        case .setPasscode: try store.keychain.setPasscode(new)
        case .changePasscode: try store.keychain.changePasscode(fixture.typedPasscode, to: new)
        case .removePasscode: try store.keychain.removePasscode(fixture.typedPasscode)
        }
    }
}

/// spec/keys-and-states.md §5, event by state. K and I are those of a keychain with a passcode,
/// before its first unlock.
@Suite struct `What happens to a keychain` {
    /// Z, N, B, U, L, K, I: what the call ends with, and the state it leaves.
    private static let table: [KeychainEvent: String] = [
        .unlock: "none/Z ok/N ok/U ok/U ok/U gone/K half/I",
        .unlockWrongly: "none/Z ok/N wrong/B wrong/U wrong/L gone/K half/I",
        .lock: "none/Z no/N ok/B ok/L ok/L ok/K ok/I",
        .lockAll: "none/Z ok/N ok/B ok/B ok/B ok/K ok/I",
        .setPasscode: "ok/U ok/U twice/B twice/U twice/L gone/K half/I",
        .changePasscode: "none/Z no/N ok/U ok/U ok/U gone/K half/I",
        .removePasscode: "none/Z no/N ok/N ok/N ok/N gone/K half/I",
    ]
    private static let codes: [KeychainFailure.Code?: String] = [
        nil: "ok", .itemNotFound: "none", .passcodeNotSet: "no", .authenticationFailed: "wrong",
        .duplicateItem: "twice", .keyUnavailable: "gone", .incomplete: "half",
    ]
    private static let states: [LockState: String] = [
        .absent: "Z", .noPasscode: "N", .beforeFirstUnlock: "B", .unlocked: "U", .locked: "L",
        .keyUnavailable: "K", .incomplete: "I",
    ]

    private func fixture(_ state: TableState) throws -> StateFixture {
        guard [.keyUnavailable, .incomplete].contains(state) else { return try StateFixture(state) }
        let fixture = try StateFixture(.beforeFirstUnlock)
        if state == .incomplete {
            try fixture.removeDeviceKey()
        } else {
            try fixture.replaceDeviceKey()
        }
        return fixture
    }

    @Test(arguments: KeychainEvent.allCases, TableState.allCases)
    fileprivate func `Each event leads a keychain to the state of the table`(
        _ event: KeychainEvent, _ state: TableState
    ) throws {
        let cells = try #require(Self.table[event]).split(separator: " ")
        let fixture = try fixture(state)
        var failure: KeychainFailure?
        do {
            try event.happen(to: fixture)
        } catch {
            failure = try #require(error as? KeychainFailure)
        }
        let code = try #require(Self.codes[failure?.code], "\(failure as Any)")
        let after = try #require(Self.states[fixture.session.store.keychain.status().state])
        #expect("\(code)/\(after)" == cells[state.rawValue], "\(event) \(state)")
    }
}
