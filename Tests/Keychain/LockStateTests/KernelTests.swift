// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetSystem

@testable import ValetKeys

/// A keychain whose keys are shared, and are gone with it.
final class KernelSample: Sendable {
    static let all = "[ak ck dk aku cku dku akpu]"
    static let first = "[ck dk cku dku]"

    let samples = SampleKeys(.random())
    let clock = TestClock()
    let store: LockStateStore
    private let runtimeRoot: String?

    convenience init() { self.init(runtimeRoot: nil) }

    /// - Parameter runtimeRoot: Where the runtime folders of users are; nil for nowhere.
    init(runtimeRoot: String?) {
        self.runtimeRoot = runtimeRoot
        store = clock.store(of: samples, in: .kernel, runtimeRoot: runtimeRoot)
    }

    /// Another store of the same keychain, which remembers nothing.
    func fresh() -> LockStateStore {
        clock.store(of: samples, in: .kernel, runtimeRoot: runtimeRoot)
    }

    /// Another store that remembers nothing, and goes by a clock of its own.
    func store(now: @escaping @Sendable () -> BootTime) -> LockStateStore {
        LockStateStore(
            keychainID: samples.keychainID, places: store.shared.places,
            provider: { LockStateProvider(.kernel, "test") }, now: now)
    }

    /// The folder of the keychain.
    var folder: String { store.shared.places.folder }
    /// The path of the file with the marks.
    var pagePath: String { folder + "/keychain.lock" }
    /// The path of the sharing file where there is no runtime folder.
    var filePath: String { "\(folder)/device/sharing.\(samples.keychainID)" }

    func read(_ store: LockStateStore? = nil, _ epoch: UInt64 = 1) throws -> String {
        try samples.text((store ?? self.store).current(expecting: samples.mark(epoch)))
    }

    func publish(
        _ epoch: UInt64 = 1, for milliseconds: UInt64? = nil, idle: Int? = nil
    ) throws {
        try store.publish(
            samples.epoch(epoch),
            within: UnlockLimits(
                end: clock.moment(after: milliseconds), idle: idle.map { .milliseconds($0) }))
    }

    /// What the sharing file says of `scope`.
    func entry(_ scope: KeyScope) throws -> SharingEntry {
        let files = try store.shared.places.files(of: store.shared.binding(), for: .reading)
        guard let entry = files.compactMap({ $0.contents?[scope] }).first else {
            throw KeychainFailure(.keyNotFound, during: .find)
        }
        return entry
    }

    func serial(_ scope: KeyScope) throws -> KeySerial { try entry(scope).serial }

    /// Puts bytes in place of a payload, as any process of the user can.
    func plant(_ bytes: [UInt8], as scope: KeyScope) throws {
        try KernelKeyring.update(serial(scope), payload: bytes.span)
    }

    /// Seals a payload as a holder of the sharing file can.
    func seal(_ payload: KeyPayload, as scope: KeyScope? = nil) throws -> [UInt8] {
        let scope = scope ?? payload.scope
        let page = try #require(try store.shared.page.marks(at: .now))
        let key = try store.shared.binding().payloadKey(entry(scope).key, scope, page[scope])
        return payload.sealed(under: key)
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

        @Test func `Keys in the kernel are not there before the first unlock`() throws {
            #expect(try sample.read() == "before notUnlocked")
        }

        @Test func `Keys in the kernel are there once unlocked`() throws {
            try sample.publish()
            for _ in 0..<3 { #expect(try sample.read() == "unlocked 1\(KernelSample.all)") }
            #expect(sample.store.provider.place == .kernel)
        }

        @Test func `Keys in the kernel have the names and rights that the format gives them`()
            throws
        {
            try sample.publish()
            for (scope, letter) in [(KeyScope.whileUnlocked, "u"), (.afterFirstUnlock, "f")] {
                let entry = try keyEntry(sample.serial(scope))
                #expect(entry.contains(" 3f2f0000 "), "\(entry)")
                let name = "valet:2:\(sample.samples.keychainID):\(letter):"
                #expect(entry.contains(" \(name)"), "\(entry)")
            }
        }

        @Test func `Keys in the kernel have other names and sharing keys after each unlock`() throws
        {
            try sample.publish()
            let before = try KeyScope.allCases.map { try sample.entry($0) }
            try sample.publish()
            for (scope, before) in zip(KeyScope.allCases, before) {
                let entry = try sample.entry(scope)
                let isSame = entry.key.isEqual(to: before.key)
                #expect(!isSame)
                #expect(entry.id != before.id)
                #expect(entry.serial != before.serial)
            }
        }

        @Test func `Keys in the kernel leave nothing in the thread that published them`() throws {
            try sample.publish()
            for scope in KeyScope.allCases {
                let key = try sample.serial(scope)
                KernelKeyring.dropFromThread(key)
                #expect(KernelKeyring.isGood(key))
            }
        }

        // Promise: 7.1
        @Test func `Keys in the kernel are partly gone when locked, for whoever remembers them`()
            throws
        {
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

        @Test func `Keys in the kernel are given up at once by whoever believes the last answer`()
            throws
        {
            let other = sample.fresh()
            try sample.publish()
            for _ in 0..<20 {
                let keys = try #require(other.current(expecting: sample.samples.mark(1)).keys)
                for _ in 0..<100 where !other.isUnlocked(with: keys) { Issue.record("locked") }
                try sample.store.lock(all: false)
                #expect(!other.isUnlocked(with: keys))
                try sample.publish()
            }
        }

        /// An unlock may wait for a writer, or stretch a passcode for a second, after its moment.
        @Test(arguments: [false, true])
        func `A lock after an unlock has begun is not undone by it`(_ all: Bool) throws {
            try sample.publish()
            let moment = try sample.store.moment()
            try sample.fresh().lock(all: all)
            let locked = try sample.read(sample.fresh())
            try sample.store.publish(sample.samples.epoch(1), within: .none, since: moment)
            #expect(try sample.read(sample.fresh()).hasPrefix("unlocked") == false)
            if all { #expect(try sample.read(sample.fresh()) == locked) }
        }

        @Test func `Keys in the kernel are all gone when all is locked`() throws {
            let other = sample.fresh()
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            try sample.store.lock(all: true)
            #expect(try sample.read(other) == "before notUnlocked")
            try sample.store.lock(all: true)
            #expect(try sample.read() == "before notUnlocked")
        }

        // Promise: 7.2
        @Test func `The first process that sees keys past their deadline removes them`() throws {
            let other = sample.fresh()
            try sample.publish(for: 100)
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            sample.clock.advance(by: 99)
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            sample.clock.advance(by: 1)
            #expect(try sample.read() == "locked 1\(KernelSample.first) deadlinePassed")
            #expect(try !KernelKeyring.isGood(sample.serial(.whileUnlocked)))
            #expect(try sample.read(other) == "locked 1\(KernelSample.first) notUnlocked")
        }

        @Test func `Keys in the kernel expire by the kernel's own clock`() throws {
            try sample.publish(for: 60_000)
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            let key = try sample.serial(.whileUnlocked)
            #expect(try !keyEntry(key).contains(" perm "))
            try KernelKeyring.setTimeout(1, of: key)
            while KernelKeyring.isGood(key) { usleep(20_000) }
            #expect(try sample.read() == "locked 1\(KernelSample.first) deadlinePassed")
        }

        // Promise: 7.1
        @Test func `Keys in the kernel are not renewed or replaced once they are locked`() throws {
            try sample.publish(idle: 800)
            let key = try sample.serial(.whileUnlocked)
            sample.clock.advance(by: 700)
            try sample.store.lock(all: false)
            try sample.store.renew()
            // Even who found the key before the lock cannot bring it back.
            let late = #expect(throws: KeychainFailure.self) {
                try KernelKeyring.update(key, payload: [UInt8(1)].span)
            }
            #expect(late != nil)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            try sample.replaceKeys()
            #expect(try sample.read(nil, 2) == "locked 2\(KernelSample.first) notUnlocked")
        }

        @Test func `Keys in the kernel give way to those of another epoch while unlocked`() throws {
            let other = sample.fresh()
            try sample.publish(1, for: 100)
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            try sample.replaceKeys()
            #expect(try sample.read(sample.fresh(), 2) == "unlocked 2\(KernelSample.all)")
            #expect(try sample.read(sample.fresh(), 1) == "before otherEpoch")
            sample.clock.advance(by: 100)
            #expect(
                try sample.read(other, 2)
                    == "locked 2\(KernelSample.first) deadlinePassed")
        }

        @Test func `Replacing the keys that stay after a lock unlocks nothing`() throws {
            try sample.publish()
            let other = sample.fresh()
            try sample.store.lock(all: false)
            try sample.replaceKeys()
            for store in [sample.store, other, sample.fresh()] {
                #expect(
                    try sample.read(store, 2) == "locked 2\(KernelSample.first) notUnlocked")
            }
            let error = #expect(throws: KeychainFailure.self) {
                _ = try sample.serial(.whileUnlocked)
            }
            #expect(error?.code.meansGone == true)
        }

        @Test func `Keys in the kernel that stay after a lock are not brought back by others`()
            throws
        {
            try sample.publish()
            try sample.store.lock(all: true)
            try sample.replaceKeys()
            #expect(sample.store.reasonOthersAreLocked == nil)
            #expect(try sample.read(nil, 2) == "before notUnlocked")
            #expect(try sample.read() == "before notUnlocked")
        }

        @Test func `Replaced keys are revoked, and no process takes that for a lock`() throws {
            let other = sample.fresh()
            try sample.publish()
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            let old = try sample.serial(.whileUnlocked)
            try sample.publish()
            #expect(try sample.serial(.whileUnlocked) != old)
            #expect(!KernelKeyring.isGood(old))
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
        }

        @Test func `Keys in the kernel are all lost with those that stay from the first unlock on`()
            throws
        {
            try sample.publish()
            let key = try sample.serial(.whileUnlocked)
            try KernelKeyring.end(sample.serial(.afterFirstUnlock), always: true)
            #expect(try sample.read(sample.fresh()) == "before firstUnlockKeysLost")
            #expect(!KernelKeyring.isGood(key))
            #expect(try sample.read() == "before notUnlocked")
        }

        /// Who looked at the database before an epoch ended must not lock those who look later.
        @Test func `Keys in the kernel are left alone by who asks for an epoch that is over`()
            throws
        {
            try sample.publish(2)
            let first = try KeyPayload(
                .afterFirstUnlock, of: sample.samples.keychainID,
                from: sample.samples.epoch(2), period: .unlimited)
            try sample.plant(sample.seal(first), as: .afterFirstUnlock)
            #expect(try sample.read(sample.fresh(), 1) == "before otherEpoch")
            #expect(try sample.read(sample.fresh(), 2) == "unlocked 2\(KernelSample.all)")
        }

        @Test func `Keys in the kernel are gone when a lock was killed after its first step`()
            throws
        {
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            let page = try #require(try LockPage.changeable(in: sample.folder, making: false))
            try page.change(all: false, isNew: false)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            #expect(try sample.read(sample.fresh()) == "locked 1\(KernelSample.first) notUnlocked")
            try sample.store.lock(all: false)
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        // Promise: 7.4
        @Test func `Keys in the kernel are those of one keychain only`() throws {
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
