// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeyTestSupport
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Keys that are published for another epoch than the database has: spec/keys-and-states.md §6.
@Suite(.serialized) struct `Keys of an epoch that is about to begin` {
    let keychain = TestKeychain()
    let passcode: Passcode
    static let operation = "test"

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
        try keychain.store.keychain.setPasscode(passcode)
        try keychain.addItems(ProtectionClass.allCases)
        keychain.store.close()
    }

    private struct Published {
        let before: OpenedKeys
        let after: OpenedKeys
        let lockState: LockStateStore
    }

    /// The keys of the keychain as it is, and as it would be in a next epoch.
    private func published(_ keys: KeychainPasscodes) throws -> Published {
        let header = try keys.header()
        let plan = try keys.plan(
            header, .protector(keys.protector(of: header, passcode)),
            to: KeyChangeRequest(passcode: passcode, stretching: .lowest),
            since: keys.moment(of: header))
        let new = try plan.successor(of: header)
        return Published(
            before: header.published(try plan.open(header).0),
            after: new.published(try new.unlock(with: plan.protector)),
            lockState: header.openedKeys)
    }

    /// Lets readers in while `publish` has been done under the lock, and `undo` has not.
    private func readers(
        of names: [String], _ publish: (Published) throws -> Void,
        _ undo: @escaping @Sendable (LockStateStore, OpenedKeys) throws -> Void
    ) throws -> [String: String] {
        let answers = Mutex<[String: String]>([:])
        try keychain.store.tryOnKeys(Self.operation) { keys in
            let published = try published(keys)
            let held = try keys.keychain.pool.lock.acquire(before: Deadline(after: .seconds(5)))
            try publish(published)
            let group = DispatchGroup()
            for name in names {
                // Threads of their own: those of a queue may all be busy elsewhere.
                group.enter()
                Thread.detachNewThread { [store = keychain.store] in
                    defer { group.leave() }
                    let caller = Caller(
                        applicationIdentifier: "app", accessGroups: ["one", "two"])
                    let answer = Result { try store.value(of: .exact(name), for: caller) }
                    answers.withLock {
                        switch answer {
                        case .success(let value):
                            $0[name] = value.map { String(decoding: $0.array, as: UTF8.self) }
                        case .failure(let error):
                            $0[name] = (error as? KeychainFailure)?.code.rawValue
                        }
                    }
                }
            }
            // Whether they have come to it by now or come later, the answer is the same.
            Thread.sleep(forTimeInterval: 0.1)
            try undo(published.lockState, published.before)
            _ = consume held
            group.wait()
        }
        return answers.withLock { $0 }
    }

    @Test func `An unlocked keychain waits for the keys of an epoch that is about to begin`() throws
    {
        let names = ProtectionClass.allCases.map { "\($0)" }
        let answers = try readers(of: names) { published in
            // As a process sees it that remembers nothing.
            try published.lockState.lock(all: true)
            try published.lockState.publish(published.after, within: .none)
        } _: {
            try $0.publish($1, within: .none)
        }
        #expect(answers == Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    }

    @Test func `A locked keychain waits for the keys of an epoch that is about to begin`() throws {
        try keychain.store.keychain.lock()
        let open = ProtectionClass.allCases.filter { !TestKeychain.lockable.contains($0) }
            .map { "\($0)" }
        let answers = try readers(of: open) { published in
            // Unlocking puts one key in place after the other: this is the moment between.
            try published.lockState.publish(published.after, within: .none)
            try published.lockState.lock(all: false)
        } _: {
            try $0.publish($1, within: .none)
        }
        #expect(answers == Dictionary(uniqueKeysWithValues: open.map { ($0, "value of \($0)") }))
    }

    /// What a reader sees began before its passcode was removed, and its keys go meanwhile.
    @Test func `Keys of a new epoch are read twice before they count as locked`() throws {
        let other = ItemStore(KeychainLocation(folder: keychain.folder + "/."))
        let name = "\(ProtectionClass.afterFirstUnlock)"
        try keychain.store.tryOnKeys(Self.operation) { keys in
            var look = RepeatedLook()
            let isBelieved = try keys.read { (store) throws(KeychainFailure) in
                _ = try keys.keychain.currentHeader(store)
                try other.keychain.removePasscode(passcode)
                return try keys.keychain.believed(store, &look) != nil
            }
            #expect(!isBelieved)
        }
        #expect(try keychain.value(name) == "value of \(name)")
    }

    @Test func `Keys of an epoch that never begins count as locked`() throws {
        try keychain.store.tryOnKeys(Self.operation) { keys in
            let published = try published(keys)
            try published.lockState.lock(all: true)
            try published.lockState.publish(published.after, within: .none)
        }
        for protectionClass in ProtectionClass.allCases {
            let name = "\(protectionClass)"
            #expect(failure { _ = try keychain.value(name) } == .locked)
            #expect(failure { _ = try keychain.named(name, as: protectionClass) } == .locked)
            let set = failure { try keychain.set(.generic(name, as: protectionClass), "x") }
            #expect(set == .locked)
        }
        #expect(try keychain.lockState() == .beforeFirstUnlock)
        try keychain.store.keychain.unlock(passcode)
        let names = ProtectionClass.allCases.map { "\($0)" }
        #expect(keychain.readable(of: names) == Set(names))
    }
}
