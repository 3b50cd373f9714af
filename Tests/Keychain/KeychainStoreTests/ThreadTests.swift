// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainModel
import ValetSystem
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite(.serialized) struct `Many threads` {
    let keychain = TestKeychain()

    /// Runs `body` on so many threads at once, and says what they threw.
    private func onThreads(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void
    ) -> [KeychainFailure.Code?] {
        let codes = Mutex<[KeychainFailure.Code?]>([])
        DispatchQueue.concurrentPerform(iterations: count) { number in
            do {
                try body(number)
            } catch {
                codes.withLock { $0.append((error as? KeychainFailure)?.code) }
            }
        }
        return codes.withLock { $0 }
    }

    @Test func `Many threads may do everything at once`() throws {
        let keychain = keychain
        let thrown = onThreads(8) { thread in
            var random = SplitMix(seed: UInt64(thread))
            var mine: [String: String] = [:]
            for step in 0..<60 {
                let account = "\(thread)-\(Int.random(in: 0..<6, using: &random))"
                let value = "value \(step) of \(account)"
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1:
                    try keychain.set(.generic(account, [.label: .text("l")]), value)
                    mine[account] = value
                case 2 where mine[account] != nil:
                    try keychain.delete(.exact(account))
                    mine[account] = nil
                case 3 where mine[account] != nil:
                    try keychain.update(.exact(account), ItemChanges(), value)
                    mine[account] = value
                case 4: _ = try keychain.items(.generic([.label: .text("l")]), .attributes)
                default:
                    let found = try? keychain.value(named: account)
                    #expect(found == mine[account])
                }
            }
            for (account, value) in mine {
                #expect(try keychain.value(.exact(account)) == value)
            }
        }
        #expect(thrown == [])
        #expect(keychain.damage() == [])
    }

    @Test func `Many threads may create the keychain at once`() throws {
        let keychain = keychain
        let thrown = onThreads(16) { try keychain.add(.generic("\($0)")) }
        #expect(thrown == [])
        #expect(try keychain.items(.generic()).count == 16)
        #expect(keychain.damage() == [])
    }

    @Test func `Threads that open a keychain at once share one set of connections`() throws {
        try keychain.add(.generic("a"))
        let location = keychain.store.location
        let lease = KeychainRegistry.lease(of: location.folder)
        let slot = lease.slot
        // Two threads that both keep theirs meet in one round of some thousands.
        for _ in 0..<20_000 {
            _ = slot.close()
            let opened = Mutex<[OpenKeychain]>([])
            let thrown = onThreads(4) { _ in
                let call = StoreCall(
                    operation: "test", location: location,
                    deadline: Deadline(after: .seconds(5)), now: Moment(nanoseconds: 0))
                var attempts = try slot.attempts(call)
                guard let keychain = try attempts.next() else { return }
                opened.withLock { $0.append(keychain) }
            }
            #expect(thrown == [])
            let keychains = opened.withLock { $0 }
            #expect(keychains.count == 4)
            #expect(Set(keychains.map(ObjectIdentifier.init)).count == 1)
        }
    }

    // Promise: 13.2
    @Test func `The files stay open while a call is using them`() throws {
        try keychain.add(.generic("a"))
        let store = keychain.store
        let isClosed = try store.writeRows("test") { _ in
            // Another thread closes everything, as at the end of a process.
            let closed = Mutex<[Bool]>([])
            _ = onThreads(2) { index in
                let isClosed = store.slot.close(atExit: index == 0).isClosed
                closed.withLock { $0.append(isClosed) }
            }
            return closed.withLock { $0 }
        }
        #expect(isClosed == [false, false])
        #expect(store.close().isClosed)
        #expect(try keychain.items(.generic()).count == 1)
    }

    // Promise: 13.2
    @Test func `The files stay open while a snapshot of them is held`() throws {
        try keychain.add(.generic("a"))
        let store = keychain.store
        let held = try #require(try store.writeRowsHoldingSnapshot("test") { _ in })
        let snapshot = try #require(held.1)
        #expect(!store.close().isClosed)
        snapshot.close()
        #expect(store.close().isClosed)
    }

    // Promise: 13.2
    @Test func `Calls go on while another thread closes the files again and again`() throws {
        let keychain = keychain
        try keychain.add(.generic("a"))
        let thrown = onThreads(4) { index in
            for round in 0..<200 {
                if index == 0 {
                    keychain.store.close()
                } else {
                    try keychain.add(.generic("\(index).\(round)"))
                }
            }
        }
        #expect(thrown == [])
        #expect(try keychain.items(.generic()).count == 601)
        #expect(keychain.damage() == [])
    }

    @Test func `Of many threads that add the same item one succeeds`() throws {
        let keychain = keychain
        let thrown = onThreads(12) { try keychain.add(.generic("a"), "\($0)") }
        #expect(thrown == [KeychainFailure.Code?](repeating: .duplicateItem, count: 11))
        #expect(try keychain.items(.generic()).count == 1)
    }

    @Test func `Many threads of two processes may work at once`() throws {
        try keychain.add(.generic("shared"), "v")
        let (keychain, other) = (keychain, keychain.otherProcess())
        let caller = keychain.caller
        let thrown = onThreads(8) { thread in
            let store = thread % 2 == 0 ? keychain.store : other
            for step in 0..<15 {
                let item = NewItem.generic("\(thread)")
                try store.set(Addition(item, value: .text("\(step)")), for: caller)
                let value = try store.value(of: .exact("\(thread)"), for: caller)
                #expect(value?.array == Array("\(step)".utf8))
                _ = try store.value(of: .exact("shared"), for: caller)
            }
        }
        #expect(thrown == [])
        #expect(try keychain.items(.generic()).count == 9)
        #expect(keychain.damage() == [])
        other.close()
    }

    @Test func `Reading threads see new settings`() throws {
        try keychain.add(.generic("a"), "v")
        let keychain = keychain
        let thrown = onThreads(6) { thread in
            for step in 0..<20 {
                if thread == 0, step % 4 == 0 { try keychain.rewriteSettings { _ in } }
                #expect(try keychain.value(named: "a") == "v")
                #expect(try keychain.value(.exact("a")) == "v")
            }
        }
        #expect(thrown == [])
    }
}
