// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Readers and writers, on threads and on connections and keys of their own, beside who changes
/// what is open.
@Suite(.serialized) struct `Beside readers and writers` {
    let keychain = TestKeychain()
    let passcode: Passcode
    static let open = "open"
    static let lockable = "lockable"

    init() throws {
        passcode = try TestKeychain.passcode("the passcode")
    }

    /// Counts of what calls answered.
    private final class Answers: Sendable {
        private let counts = Mutex<[String: Int]>([:])

        func note(_ call: String, _ body: () throws -> String?) {
            let answer: String
            do {
                answer = try body() ?? "nothing"
            } catch {
                answer = (error as? KeychainFailure)?.code.rawValue ?? "\(error)"
            }
            counts.withLock { $0["\(call): \(answer)", default: 0] += 1 }
        }

        /// What was answered, whatever how often.
        var kinds: Set<String> { counts.withLock { Set($0.keys) } }
    }

    private func addItems() throws {
        try keychain.add(.generic(Self.open, [.label: .text("l")], as: .afterFirstUnlock), "v")
        try keychain.add(.generic(Self.lockable, [.label: .text("l")]), "v")
        for number in 0..<200 {
            try keychain.add(.generic("\(number)", service: "others"), "value of \(number)")
        }
    }

    /// Runs four readers, and `changes` beside them.
    private func withReaders(_ changes: () throws -> Void) throws -> Set<String> {
        let answers = Answers()
        let isOver = Atomic<Bool>(false)
        let hasBegun = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        let folder = keychain.folder
        for number in 0..<4 {
            // Every other one has files and keys of its own.
            let path = folder + String(repeating: "/.", count: number % 2 == 0 ? 0 : number)
            let store = ItemStore(KeychainLocation(folder: path))
            // Threads of its own: those of a queue may all be busy elsewhere.
            group.enter()
            Thread.detachNewThread {
                let reader = Reader(store: store, answers: answers)
                reader.read(number)
                hasBegun.signal()
                var round = number
                while !isOver.load(ordering: .relaxed) {
                    round += 1
                    reader.read(round)
                }
                group.leave()
            }
        }
        for _ in 0..<4 { #expect(hasBegun.wait(timeout: .now() + 60) == .success) }
        let result = Result { try changes() }
        isOver.store(true, ordering: .relaxed)
        group.wait()
        try result.get()
        return answers.kinds
    }

    private struct Reader {
        let store: ItemStore
        let answers: Answers
        let caller = Caller(applicationIdentifier: "app", accessGroups: ["one", "two"])

        func read(_ round: Int) {
            answers.note("open by name") { try value(open, .afterFirstUnlock) }
            answers.note("lockable by name") { try value(lockable, .whenUnlocked) }
            answers.note("missing") { try value("missing", .whenUnlocked) }
            switch round % 6 {
            case 0: answers.note("open") { try value(.exact(open)) }
            case 1: answers.note("lockable") { try value(.exact(lockable)) }
            case 2: answers.note("open accounts") { try accounts(.afterFirstUnlock) }
            case 3: answers.note("lockable accounts") { try accounts(.whenUnlocked) }
            case 4: answers.note("label") { try count(.generic([.label: .text("l")])) }
            default: answers.note("others") { try count(.generic([.service: .text("others")])) }
            }
            if round % 97 == 0 { answers.note("status") { "\(try store.keychain.status().state)" } }
        }

        private var open: String { `Beside readers and writers`.open }
        private var lockable: String { `Beside readers and writers`.lockable }

        private func value(_ account: String, _ protection: ProtectionClass) throws -> String? {
            let name = PasswordName(account, in: service(protection))
            return try store.value(of: name, for: caller).map(Self.text)
        }

        private func value(_ query: ItemQuery) throws -> String? {
            try store.value(of: query, for: caller).map(Self.text)
        }

        private static func text(_ value: SecretValue) -> String {
            String(decoding: value.array, as: UTF8.self)
        }

        private func accounts(_ protection: ProtectionClass) throws -> String {
            let found = try store.accounts(of: service(protection), for: caller).parts
            return "\(found.items.count) \(found.damage == nil)"
        }

        private func count(_ query: ItemQuery) throws -> String {
            let found = try store.copy(query, [.attributes, .value], for: caller).parts
            return "\(found.items.count) \(found.damage == nil)"
        }

        private func service(_ protection: ProtectionClass) -> PasswordService {
            PasswordService(
                service: "service", accessGroup: nil, isSynchronizable: false,
                protectionClass: protection)
        }
    }

    private static let whileOpen: Set<String> = [
        "open by name: v", "lockable by name: v", "missing: itemNotFound", "open: v",
        "lockable: v", "open accounts: 1 true", "lockable accounts: 1 true", "label: 2 true",
        "others: 200 true",
    ]
    private static let whileLocked: Set<String> = [
        "lockable by name: locked", "lockable: locked", "lockable accounts: locked",
        "label: locked", "others: locked", "status: locked",
    ]

    @Test func `A concurrent reader distinguishes a lock from an unlock and sees nothing else`()
        throws
    {
        try keychain.store.keychain.setPasscode(passcode)
        try addItems()
        let keychain = keychain
        let kinds = try withReaders {
            for _ in 0..<15 {
                try keychain.store.keychain.lock()
                Thread.sleep(forTimeInterval: 0.01)
                try keychain.store.keychain.unlock(passcode)
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
        let expected = Self.whileOpen.union(Self.whileLocked).union(["status: unlocked"])
        #expect(kinds.subtracting(expected) == [])
        #expect(kinds.isSuperset(of: ["lockable by name: v", "lockable by name: locked"]))
    }

    @Test func `Concurrent readers do not notice new keys`() throws {
        try addItems()
        let keychain = keychain
        let kinds = try withReaders {
            for _ in 0..<4 { try keychain.store.keychain.rotateKeys(nil) }
        }
        #expect(kinds.subtracting(Self.whileOpen.union(["status: noPasscode"])) == [])
        #expect(kinds.isSuperset(of: ["lockable by name: v"]))
        #expect(keychain.damage() == [])
    }

    @Test func `Concurrent readers do not notice a passcode that is set, changed and removed`()
        throws
    {
        try addItems()
        let keychain = keychain
        let kinds = try withReaders {
            for _ in 0..<2 {
                try keychain.store.keychain.setPasscode(passcode)
                try keychain.store.keychain.changePasscode(passcode, to: passcode)
                try keychain.store.keychain.removePasscode(passcode)
            }
        }
        let states: Set<String> = ["status: noPasscode", "status: unlocked"]
        #expect(kinds.subtracting(Self.whileOpen.union(states)) == [])
        #expect(keychain.damage() == [])
    }

    @Test func `Changing the passcode of a locked keychain closes nothing that is open`() throws {
        try keychain.store.keychain.setPasscode(passcode)
        try addItems()
        let keychain = keychain
        let kinds = try withReaders {
            for _ in 0..<4 {
                try keychain.store.keychain.lock()
                try keychain.store.keychain.changePasscode(passcode, to: passcode)
            }
        }
        let expected = Self.whileOpen.union(Self.whileLocked).union(["status: unlocked"])
        #expect(kinds.subtracting(expected) == [])
    }

    @Test func `Every acknowledged write is there after a concurrent key change`() throws {
        try addItems()
        try keychain.store.keychain.setPasscode(passcode)
        let keychain = keychain
        let answers = Answers()
        let isOver = Atomic<Bool>(false)
        let hasBegun = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        let folder = keychain.folder
        let written = Mutex<[String: String]>([:])
        for number in 0..<4 {
            let path = folder + String(repeating: "/.", count: number % 2 == 0 ? 0 : number)
            group.enter()
            Thread.detachNewThread {
                let writer = Writer(
                    number: number, store: ItemStore(KeychainLocation(folder: path)))
                var step = 0
                while !isOver.load(ordering: .relaxed) {
                    answers.note("write") {
                        try writer.write(step)
                        return "done"
                    }
                    step += 1
                    hasBegun.signal()
                }
                written.withLock { $0.merge(writer.items) { $1 } }
                group.leave()
            }
        }
        for _ in 0..<4 { #expect(hasBegun.wait(timeout: .now() + 60) == .success) }
        let result = Result {
            for _ in 0..<4 { try keychain.store.keychain.rotateKeys(passcode) }
        }
        isOver.store(true, ordering: .relaxed)
        group.wait()
        try result.get()
        #expect(answers.kinds == ["write: done"])
        let expected = written.withLock { $0 }
        try check(expected)
    }

    /// Checks that nothing but `expected`, values by account, was written, and all of it.
    private func check(_ expected: [String: String]) throws {
        let found = try keychain.items(.generic([.service: .text("written")]))
        #expect(found.count == expected.count)
        #expect(found.allSatisfy { $0.text == expected[$0.account ?? ""] })
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 0)
        #expect(keychain.damage() == [])
    }

    private final class Writer {
        let number: Int
        let store: ItemStore
        let caller = Caller(applicationIdentifier: "app", accessGroups: ["one", "two"])
        var items: [String: String] = [:]

        init(number: Int, store: ItemStore) {
            self.number = number
            self.store = store
        }

        /// One of the four calls that write, and a read of what was written.
        func write(_ step: Int) throws {
            let account = "\(number)-\(step % 40)"
            let (value, query) = ("\(step)", ItemQuery.exact(account, service: "written"))
            let addition = Addition(
                .generic(account, service: "written", isSynchronizable: false),
                value: .text(value))
            switch (items[account] == nil, step % 3) {
            case (true, 0): _ = try store.add(addition, for: caller)
            case (_, 1): try store.set(addition, for: caller)
            case (false, 2):
                try store.delete(query, for: caller)
                items[account] = nil
                return
            case (true, _): try store.set(addition, for: caller)
            case (false, _):
                _ = try store.update(query, ItemChanges(), value: .text(value), for: caller)
            }
            items[account] = value
            let found = try store.value(of: query, for: caller)
            #expect(found?.array == Array(value.utf8))
        }
    }
}
