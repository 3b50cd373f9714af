// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetCForkSupport
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
    private let time = Atomic<UInt64>(1_000)

    var now: BootTime { BootTime(milliseconds: time.load(ordering: .relaxed)) }

    func advance(by milliseconds: UInt64) {
        time.add(milliseconds, ordering: .relaxed)
    }

    /// The moment after so many milliseconds; nil for never.
    func moment(after milliseconds: UInt64?) -> BootTime? {
        milliseconds.map { BootTime(milliseconds: now.milliseconds + $0) }
    }

    /// A store of a keychain that goes by this clock, and remembers nothing yet.
    func store(
        of samples: SampleKeys, in place: LockStateProvider.Place, runtimeRoot: String? = nil
    ) -> LockStateStore {
        let places = SamplePlaces.places(
            of: samples.keychainID, in: OtherProcess.base, runtimeRoot: runtimeRoot)
        return LockStateStore(
            keychainID: samples.keychainID, places: places,
            provider: { LockStateProvider(place, "test") }, now: { self.now })
    }
}

/// A keychain whose keys stay in this process.
struct ProcessSample {
    let clock = TestClock()
    let samples = SampleKeys(.random())
    let store: LockStateStore

    init() {
        store = clock.store(of: samples, in: .process)
    }

    func read(_ epoch: UInt64 = 1) throws -> String {
        try samples.text(store.current(expecting: samples.mark(epoch)))
    }

    func publish(
        _ epoch: UInt64 = 1, for milliseconds: UInt64? = nil, idle: Int? = nil
    ) throws {
        try store.publish(
            samples.epoch(epoch),
            within: UnlockLimits(
                end: clock.moment(after: milliseconds), idle: idle.map { .milliseconds($0) }))
    }
}

private let forked = ProcessSample()

@Suite struct `Keys in this process` {
    static let all = "1[ak ck dk aku cku dku akpu]"
    static let first = "1[ck dk cku dku]"
    let sample = ProcessSample()

    @Test func `Keys in this process are not there before the first unlock`() throws {
        #expect(try sample.read() == "before notUnlocked")
    }

    @Test func `Keys in this process are there once unlocked`() throws {
        try sample.publish()
        #expect(try sample.read() == "unlocked \(Self.all)")
        #expect(sample.store.provider.place == .process)
    }

    @Test func `Keys in this process are partly gone when locked, and back when unlocked`() throws {
        try sample.publish()
        try sample.store.lock(all: false)
        #expect(try sample.read() == "locked \(Self.first) notUnlocked")
        try sample.store.lock(all: false)
        #expect(try sample.read() == "locked \(Self.first) notUnlocked")
        try sample.publish()
        #expect(try sample.read() == "unlocked \(Self.all)")
    }

    @Test func `Keys in this process are all gone when all is locked`() throws {
        try sample.publish()
        try sample.store.lock(all: true)
        #expect(try sample.read() == "before notUnlocked")
        try sample.store.lock(all: true)
        #expect(try sample.read() == "before notUnlocked")
    }

    @Test func `Keys in this process are partly gone when their time is over`() throws {
        try sample.publish(for: 100)
        sample.clock.advance(by: 99)
        #expect(try sample.read() == "unlocked \(Self.all)")
        sample.clock.advance(by: 1)
        #expect(try sample.read() == "locked \(Self.first) deadlinePassed")
    }

    @Test func `Keys in this process are believed for their own epochs only`() throws {
        try sample.publish(1)
        #expect(try sample.read(2) == "before otherEpoch")
        #expect(try sample.read(1) == "unlocked \(Self.all)")
    }

    @Test func `Keys in this process give way to those of another epoch while unlocked`() throws {
        try sample.publish(1, for: 100)
        try sample.replaceKeys()
        #expect(try sample.read(1) == "before otherEpoch")
        #expect(try sample.read(2) == "unlocked 2[ak ck dk aku cku dku akpu]")
        sample.clock.advance(by: 100)
        #expect(try sample.read(2) == "locked 2[ck dk cku dku] deadlinePassed")
    }

    @Test func `Replacing a process's keys that stay after a lock unlocks nothing`() throws {
        try sample.publish()
        try sample.store.lock(all: false)
        try sample.replaceKeys()
        #expect(try sample.read(2) == "locked 2[ck dk cku dku] notUnlocked")
        #expect(try sample.read(1) == "before notUnlocked")
    }

    @Test func `Keys in this process that stay after a lock are not brought back by others`() throws
    {
        try sample.publish()
        try sample.store.lock(all: true)
        try sample.replaceKeys()
        #expect(try sample.read(2) == "before notUnlocked")
    }

    @Test(arguments: [0, 1] as [Int32])
    func `Keys in this process are not there in a child of fork`(_ byBareClone: Int32) throws {
        try forked.publish()
        let code = run_in_child(byBareClone) {
            (try? forked.read()) == "before notUnlocked" ? 7 : 8
        }
        #expect(code == 7)
        #expect(try forked.read() == "unlocked \(Self.all)")
    }
}
