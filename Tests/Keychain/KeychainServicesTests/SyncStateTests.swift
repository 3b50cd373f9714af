// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSyncAgent
import ValetTestSupport

@testable import ValetKeychainServices

extension TestKeychain {
    fileprivate var syncChanges: ValetKeychain.SyncStateChanges {
        ValetKeychain.SyncStateChanges { [session] () throws(KeychainFailure) in session }
    }

    /// Leaves notes as the agent does.
    fileprivate func note(_ notes: [Keychain.SyncNote: [UInt8]?]) throws {
        try SyncedKeychain(store).update("test") { (update) throws(KeychainFailure) in
            for (name, bytes) in notes { try update.set(NoteName(name.rawValue), bytes) }
        }
    }

    fileprivate func enterCircle(_ passcode: Passcode? = nil) throws {
        try store.keychain.setSyncSecrets(.random(), .random(), passcode: passcode)
        try note([.circle: [1]])
    }
}

@Suite(.timeLimit(.minutes(20))) struct `The state of sync` {
    private let keychain = TestKeychain()

    private func state() throws -> SyncState { try keychain.store.keychain.syncState() }

    @Test func `Sync is off without a keychain, and in no circle`() throws {
        #expect(try state() == .off)
        try keychain.add("a")
        #expect(try state() == .off)
    }

    @Test func `The state of sync is the one that the agent has noted`() throws {
        try keychain.add("a")
        try keychain.enterCircle()
        #expect(try state() == .waiting)
        for state in SyncState.allCases {
            try keychain.note([.report: [state.rawValue, 1, 2, 3]])
            #expect(try self.state() == state)
        }
        try keychain.note([.paused: []])
        #expect(try state() == .paused)
        try keychain.note([.circle: nil, .paused: nil])
        #expect(try state() == .off)
    }

    @Test func `A shared item that changes after a round makes sync wait, and no other item does`()
        throws
    {
        try keychain.enterCircle()
        try keychain.note([.report: [SyncState.current.rawValue]])
        try keychain.add("a")
        #expect(try state() == .current)
        let shared = NewItem(
            .genericPassword, attributes: [.account: .text("b"), .service: .text("service")],
            isSynchronizable: true)
        try keychain.session.add(shared, value: .text("value of b"))
        #expect(try state() == .waiting)
        try keychain.note([.report: [SyncState.unavailable.rawValue]])
        #expect(try state() == .unavailable)
    }

    @Test func `The state of sync is known while locked, and closed before the first unlock`()
        throws
    {
        let keychain = try TestKeychain.withItemsAndPasscode()
        let passcode = try Passcode(.text(TestKeychain.passcode))
        try keychain.store.keychain.lock(all: true)
        #expect(try keychain.store.keychain.syncState() == .off)
        try keychain.unlock()
        try keychain.enterCircle(passcode)
        try keychain.note([.report: [SyncState.current.rawValue]])
        try keychain.store.keychain.lock()
        #expect(try keychain.store.keychain.syncState() == .current)
        try keychain.store.keychain.lock(all: true)
        #expect(try keychain.store.keychain.syncState() == .closed)
    }

    @Test func `The states of sync begin with the present, and report each change`() async throws {
        try keychain.add("a")
        var states = keychain.syncChanges.makeAsyncIterator()
        #expect(try await states.next() == .off)
        try keychain.enterCircle()
        try keychain.note([.report: [SyncState.joining.rawValue]])
        var state = try await states.next()
        if state == .waiting { state = try await states.next() }
        #expect(state == .joining)
        // A report that says the same is no change.
        try keychain.note([.report: [SyncState.joining.rawValue, 1]])
        try keychain.note([.report: [SyncState.current.rawValue]])
        #expect(try await states.next() == .current)
    }

    @Test func `The states of sync end with the task that reads them`() async throws {
        let changes = keychain.syncChanges
        let task = Task {
            var states: [SyncState] = []
            for try await state in changes {
                states.append(state)
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
            return states
        }
        #expect(try await task.value == [.off])
    }
}
