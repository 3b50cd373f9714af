// SPDX-License-Identifier: Apache-2.0

import Foundation
import Keybag
import LockStateSupport
import Sealing
import SecretMemory
import Testing

@testable import LockState

/// A keychain whose keys are in the kernel, and are gone with it.
final class KernelSample {
    static let all = "[ak ck dk aku cku dku akpu]"
    static let first = "[ck dk cku dku]"

    let samples = SampleKeys(.random())
    let clock = TestClock()
    let store: LockStateStore

    init() {
        store = clock.store(of: samples, in: .kernel)
    }

    /// Another store of the same keychain, which remembers nothing.
    func fresh() -> LockStateStore { clock.store(of: samples, in: .kernel) }

    func read(_ store: LockStateStore? = nil, _ epochs: [UInt64] = [1]) throws -> String {
        try samples.text((store ?? self.store).current(expecting: samples.marks(epochs)))
    }

    func publish(
        _ epochs: [UInt64] = [1], for milliseconds: UInt64? = nil, idle: Int? = nil
    ) throws {
        try store.publish(
            samples.epochs(epochs),
            within: UnlockLimits(
                end: clock.moment(after: milliseconds), idle: idle.map { .milliseconds($0) }))
    }

    func name(_ scope: KeyScope) -> String { scope.description(of: samples.keychainID) }

    func serial(_ scope: KeyScope) throws -> KeySerial { try KernelKeyring.find(name(scope)) }

    /// Puts bytes where a payload should be.
    func plant(_ bytes: [UInt8], as scope: KeyScope) throws {
        let key = try makeKey(bytes, scope)
        try KernelKeyring.share(key)
        try KernelKeyring.publish(key)
        try KernelKeyring.dropFromThread(key)
    }

    /// The kernel gives room back with a delay; an ordinary user may have to wait for it.
    private func makeKey(_ bytes: [UInt8], _ scope: KeyScope) throws -> KeySerial {
        for _ in 0..<100 {
            do throws(LockStateError) {
                return try KernelKeyring.makeKey(
                    named: name(scope), payload: SecretBytes(copying: bytes.span))
            } catch {
                guard error.code == .quotaExceeded else { throw error }
                usleep(50_000)
            }
        }
        throw LockStateError(.quotaExceeded, during: .publish)
    }

    deinit {
        do { try store.lock(all: true) } catch { Issue.record("\(error)") }
    }
}

/// One after the other: where the tests run as an ordinary user, one of them uses up the quota.
@Suite(.serialized, .enabled(if: Requirement.keyrings, "the kernel gives no keyrings here"))
enum Kernel {}

extension Kernel {
    @Suite struct `Keys in the kernel` {
        let sample = KernelSample()

        @Test func `are not there before the first unlock`() throws {
            #expect(try sample.read() == "before notUnlocked")
        }

        @Test func `are there once unlocked`() throws {
            try sample.publish()
            for _ in 0..<3 { #expect(try sample.read() == "unlocked 1\(KernelSample.all)") }
            #expect(sample.store.provider.place == .kernel)
        }

        @Test func `have the names and rights that the format gives them`() throws {
            try sample.publish()
            let keychain = sample.samples.keychainID
            #expect(sample.name(.whileUnlocked) == "valet:1:\(keychain):u")
            #expect(sample.name(.afterFirstUnlock) == "valet:1:\(keychain):f")
            for scope in KeyScope.allCases {
                let entry = try keyEntry(sample.serial(scope))
                #expect(entry.contains(" 3f2f0000 "), "\(entry)")
                #expect(entry.contains(" \(sample.name(scope)): "), "\(entry)")
            }
        }

        @Test func `leave nothing in the thread that published them`() throws {
            try sample.publish()
            for scope in KeyScope.allCases {
                let key = try sample.serial(scope)
                let error = #expect(throws: LockStateError.self) {
                    try KernelKeyring.dropFromThread(key)
                }
                #expect(error?.code == .keyNotFound)
            }
        }

        @Test func `are partly gone when locked, for whoever remembers them`() throws {
            let other = sample.fresh()
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            try sample.store.lock(all: false)
            #expect(try sample.read(other) == "locked 1\(KernelSample.first) notUnlocked")
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            try sample.store.lock(all: false)
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
        }

        @Test func `are given up at once by whoever believes the last answer`() throws {
            let other = sample.fresh()
            try sample.publish()
            for _ in 0..<20 {
                let keys = try #require(other.current(expecting: sample.samples.marks([1])).keys)
                for _ in 0..<100 where !other.isUnlocked(with: keys) { Issue.record("locked") }
                try sample.store.lock(all: false)
                #expect(!other.isUnlocked(with: keys))
                try sample.publish()
            }
        }

        @Test func `are all gone when all is locked`() throws {
            let other = sample.fresh()
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            try sample.store.lock(all: true)
            #expect(try sample.read(other) == "before notUnlocked")
            try sample.store.lock(all: true)
            #expect(try sample.read() == "before notUnlocked")
        }

        @Test func `are taken from the kernel by the first who sees their time is over`() throws {
            let other = sample.fresh()
            try sample.publish(for: 100)
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            sample.clock.advance(by: 99)
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            sample.clock.advance(by: 1)
            #expect(try sample.read() == "locked 1\(KernelSample.first) deadlinePassed")
            let error = #expect(throws: LockStateError.self) {
                try sample.serial(.whileUnlocked)
            }
            #expect(error?.code == .keyNotFound)
            #expect(try sample.read(other) == "locked 1\(KernelSample.first) notUnlocked")
        }

        @Test func `expire by the kernel's own clock`() throws {
            try sample.publish(for: 60_000)
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            let key = try sample.serial(.whileUnlocked)
            #expect(try !keyEntry(key).contains(" perm "))
            try KernelKeyring.setTimeout(1, of: key)
            while KernelKeyring.isGood(key) { usleep(20_000) }
            #expect(try sample.read() == "locked 1\(KernelSample.first) deadlinePassed")
        }

        @Test func `are not renewed or replaced once they are locked`() throws {
            try sample.publish(idle: 800)
            let key = try sample.serial(.whileUnlocked)
            sample.clock.advance(by: 700)
            try sample.store.lock(all: false)
            try sample.store.renew()
            let error = #expect(throws: LockStateError.self) {
                try sample.store.replaceKeys(with: sample.samples.epochs([1, 2]))
            }
            #expect(error?.code == .notUnlocked)
            // Even who found the key before the lock cannot bring it back.
            let late = #expect(throws: LockStateError.self) {
                try KernelKeyring.update(key, payload: SecretBytes(byteCount: 1))
            }
            #expect(late?.meansGone == true)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
        }

        @Test func `give way to those of another epoch while unlocked`() throws {
            let other = sample.fresh()
            try sample.publish([1], for: 100)
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            try sample.store.replaceKeys(with: sample.samples.epochs([1, 2]))
            let both = "1\(KernelSample.all) 2\(KernelSample.all)"
            // The database still has the old epoch, and then both, and then the new one.
            #expect(try sample.read(other, [1, 2]) == "unlocked \(both)")
            try sample.store.replaceKeys(with: sample.samples.epochs([2]))
            #expect(try sample.read(sample.fresh(), [2]) == "unlocked 2\(KernelSample.all)")
            #expect(try sample.read(sample.fresh(), [1]) == "before otherEpoch")
            sample.clock.advance(by: 100)
            #expect(
                try sample.read(other, [2])
                    == "locked 2\(KernelSample.first) deadlinePassed")
        }

        @Test func `that stay after a lock give way to others, and nothing is unlocked`() throws {
            try sample.publish()
            let other = sample.fresh()
            try sample.store.lock(all: false)
            try sample.store.replaceFirstUnlockKeys(with: sample.samples.epochs([2]))
            for store in [sample.store, other, sample.fresh()] {
                #expect(
                    try sample.read(store, [2]) == "locked 2\(KernelSample.first) notUnlocked")
            }
            let error = #expect(throws: LockStateError.self) {
                _ = try sample.serial(.whileUnlocked)
            }
            #expect(error?.meansGone == true)
        }

        @Test func `that stay after a lock are not brought back by others`() throws {
            try sample.publish()
            try sample.store.lock(all: true)
            let error = #expect(throws: LockStateError.self) {
                try sample.store.replaceFirstUnlockKeys(with: sample.samples.epochs([2]))
            }
            #expect(error?.code == .notUnlocked)
            #expect(try sample.read(nil, [2]) == "before notUnlocked")
        }

        @Test func `are revoked when they are replaced, and nobody takes that for a lock`() throws {
            let other = sample.fresh()
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            let old = try sample.serial(.whileUnlocked)
            try sample.publish()
            #expect(try sample.serial(.whileUnlocked) != old)
            #expect(!KernelKeyring.isGood(old))
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
        }

        @Test func `are all lost with those that stay from the first unlock on`() throws {
            try sample.publish()
            let key = try sample.serial(.whileUnlocked)
            try KernelKeyring.unlink(sample.serial(.afterFirstUnlock))
            #expect(try sample.read(sample.fresh()) == "before firstUnlockKeysLost")
            #expect(!KernelKeyring.isGood(key))
            #expect(try sample.read() == "before notUnlocked")
        }

        /// Who looked at the database before an epoch ended must not lock those who look later.
        @Test func `are left alone by who asks for an epoch that is over`() throws {
            try sample.publish([1, 2])
            let first = try KeyPayload(
                .afterFirstUnlock, of: sample.samples.keychainID,
                from: sample.samples.epochs([2]), period: .unlimited)
            try sample.plant(first.bytes, as: .afterFirstUnlock)
            #expect(try sample.read(sample.fresh(), [1, 2]) == "before otherEpoch")
            #expect(try sample.read(sample.fresh(), [2]) == "unlocked 2\(KernelSample.all)")
        }

        @Test func `are half there, and locked, when an unlock was killed in the middle`() throws {
            let first = try KeyPayload(
                .afterFirstUnlock, of: sample.samples.keychainID,
                from: sample.samples.epochs([1]), period: .unlimited)
            try sample.plant(first.bytes, as: .afterFirstUnlock)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        @Test func `are gone when a lock was killed between its two steps`() throws {
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            try KernelKeyring.revoke(sample.serial(.whileUnlocked))
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            try sample.store.lock(all: false)
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        @Test func `are those of one keychain only`() throws {
            let other = KernelSample()
            try sample.publish()
            #expect(try other.read() == "before notUnlocked")
            try other.publish()
            try sample.store.lock(all: true)
            #expect(try sample.read() == "before notUnlocked")
            #expect(try other.read() == "unlocked 1\(KernelSample.all)")
        }
    }
}

/// The line of /proc/keys about a key.
func keyEntry(_ key: KeySerial) throws -> String {
    let number = String(key.rawValue, radix: 16)
    let name = String(repeating: "0", count: 8 - number.count) + number
    let file = try #require(FileHandle(forReadingAtPath: "/proc/keys"))
    let keys = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
    return try #require(
        keys.split(separator: "\n").first { $0.hasPrefix(name) }.map(String.init), "\(keys)")
}
