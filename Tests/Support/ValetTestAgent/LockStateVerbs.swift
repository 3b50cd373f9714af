// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import ValetCLinux
import ValetKeyTestSupport
import ValetKeychainModel
import ValetKeys
import ValetSealing

/// Locks, unlocks and reads keychains, for the tests of the module `LockState`: the program
/// `ValetTestAgent lock-state` reads a line of words and prints a line of answer, again and again.
struct LockStateVerbs {
    struct Mistake: Error {}

    private var stores: [String: LockStateStore] = [:]

    static func run() {
        var agent = LockStateVerbs()
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            let answer: String
            do {
                answer = try agent.perform(words)
            } catch let error as KeychainFailure {
                answer = "error \(error.code)"
            } catch {
                answer = "mistake \(error)"
            }
            FileHandle.standardOutput.write(Data((answer + "\n").utf8))
        }
    }

    private mutating func perform(_ words: [String]) throws -> String {
        switch words[0] {
        case "session": return try Self.joinFreshSession()
        case "fill": return Self.fill()
        case "fillbytes": return Self.fillBytes()
        case "lockevery":
            try LockStateStore.lockEveryKeychain(
                all: words.last == "all", in: Self.places(try Self.keychainID(words[1])))
            return "ok"
        case "serial": return Self.read(serial: words[1])
        case "revoke": return "\(valet_keyctl(KEYCTL_REVOKE, Int32(words[1]) ?? 0, 0))"
        default: break
        }
        let keychainID = try Self.keychainID(words[1])
        let store = store(keychainID, words[1])
        let samples = SampleKeys(keychainID)
        let number = words.dropFirst(2).first.flatMap { UInt64($0) } ?? 0
        switch words[0] {
        case "publish":
            try store.publish(samples.epoch(number), within: Self.limits(words.last))
            return store.provider.place.rawValue
        case "replace":
            try store.replaceKeys(
                of: samples.mark(number - 1), by: samples.epoch(number), unlockingSince: nil)
            if let reason = store.reasonOthersAreLocked { return "locked \(reason.code)" }
        case "use":
            store.noteUse()
            guard store.isRenewalDue else { return "early" }
            try store.renew()
        case "place": return store.provider.place.rawValue
        case "lock": try store.lock(all: words.last == "all")
        case "read": return try samples.text(store.current(expecting: samples.mark(number)))
        case "threads": return try Self.readOnThreads(store, samples, number)
        case "tally": return try Self.tally(store, samples, number, words[3])
        default: throw Mistake()
        }
        return "ok"
    }

    private mutating func store(_ keychainID: KeychainID, _ name: String) -> LockStateStore {
        if let store = stores[name] { return store }
        let store = LockStateStore(keychainID: keychainID, places: Self.places(keychainID)) {
            var process = LockStateProvider.Circumstances()
            process.setting = "kernel"
            return LockStateProvider(for: process)
        }
        stores[name] = store
        return store
    }

    private static func places(_ keychainID: KeychainID) -> SharingPlaces {
        let variables = ProcessInfo.processInfo.environment
        return SamplePlaces.places(of: keychainID, in: variables["VALET_TEST_FOLDER"] ?? "/nowhere")
    }

    /// `-` for none, milliseconds from now, or `idle` and the milliseconds.
    private static func limits(_ word: String?) -> UnlockLimits {
        guard let word, word.hasPrefix("idle") else {
            let end = word.flatMap { Int($0) }.map { BootTime.now.advanced(by: .milliseconds($0)) }
            return UnlockLimits(end: end)
        }
        return UnlockLimits(idle: Int(word.dropFirst(4)).map { .milliseconds($0) })
    }

    private static func keychainID(_ word: String) throws -> KeychainID {
        let digits = Array(word)
        return try KeychainID(
            stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0..<min($0 + 2, digits.count)]), radix: 16)
            })
    }

    private static func joinFreshSession() throws -> String {
        guard valet_keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0) > 0 else { throw Mistake() }
        return "ok"
    }

    /// Uses up the user's quota of keys; what it made goes when this process ends.
    private static func fill() -> String {
        var count = 0
        while unsafe valet_add_thread_key("valet-test:\(count)", "x", 1) > 0, count < 100_000 {
            count += 1
        }
        return "\(count)"
    }

    /// Uses up the user's quota of bytes, and leaves room for keys; what it made goes when this
    /// process ends.
    private static func fillBytes() -> String {
        var count = 0
        for size in [2_000, 200, 1] {
            let bytes = [UInt8](repeating: 1, count: size)
            while unsafe valet_add_thread_key("valet-test:\(count)", bytes, size) > 0, count < 150 {
                count += 1
            }
        }
        return "\(count)"
    }

    /// How many bytes a key gives to this process, or the error number, negative.
    private static func read(serial: String) -> String {
        "\(valet_read_key(Int32(serial) ?? 0, nil, 0))"
    }

    private static func readOnThreads(
        _ store: LockStateStore, _ samples: SampleKeys, _ number: UInt64
    ) throws -> String {
        let answers = Mutex<Set<String>>([])
        DispatchQueue.concurrentPerform(iterations: 64) { _ in
            let reading = store.current(expecting: samples.mark(number))
            let text = (try? samples.text(reading)) ?? "mistake"
            answers.withLock { _ = $0.insert(text) }
        }
        return answers.withLock { $0.sorted().joined(separator: " | ") }
    }

    /// Reads so many times; tells each kind of answer that there was.
    private static func tally(
        _ store: LockStateStore, _ samples: SampleKeys, _ number: UInt64, _ count: String
    ) throws -> String {
        var answers: Set<String> = []
        for _ in 0..<(Int(count) ?? 0) {
            answers.insert(try samples.text(store.current(expecting: samples.mark(number))))
        }
        return answers.sorted().joined(separator: " | ")
    }
}
