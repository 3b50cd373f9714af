// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `The time for which a keychain is unlocked` {
    private func moment(_ milliseconds: UInt64?) -> BootTime? {
        milliseconds.map(BootTime.init(milliseconds:))
    }

    @Test(
        arguments: [
            (nil, nil, nil), (500, nil, 500), (nil, 80, 180), (150, 80, 150), (500, 80, 180),
            (nil, .max, .max),
        ] as [(UInt64?, UInt64?, UInt64?)])
    func `An unlock period ends at the earlier of its limits`(
        _ end: UInt64?, _ idle: UInt64?, _ deadline: UInt64?
    ) {
        let limits = UnlockLimits(end: moment(end), idleMilliseconds: idle)
        let period = UnlockPeriod(limits, from: BootTime(milliseconds: 100))
        #expect(period.deadline == moment(deadline))
        let numbers = period.numbers
        #expect(UnlockPeriod(deadline: numbers[0], idle: numbers[1], end: numbers[2]) == period)
    }

    @Test(arguments: [.zero, .seconds(-1), .nanoseconds(1)] as [Duration])
    func `An unlock period is never unlimited because it was asked to be short`(_ time: Duration) {
        let limits = UnlockLimits(end: BootTime(milliseconds: 0), idle: time)
        let period = UnlockPeriod(limits, from: BootTime(milliseconds: 5))
        #expect(period.numbers == [1, 1, 1])
        #expect(period.hasEnded(at: BootTime(milliseconds: 5)))
    }

    @Test(
        arguments: [
            (nil, nil, nil), (500, nil, nil), (nil, 80, 111), (150, 80, nil), (181, 80, 111),
            (180, 80, nil), (nil, 1, 101), (nil, 7, 101), (nil, .max, .max / 8 + 1),
        ] as [(UInt64?, UInt64?, UInt64?)])
    func `An unlock period is renewed by a use with less than seven eighths of it left`(
        _ end: UInt64?, _ idle: UInt64?, _ due: UInt64?
    ) {
        let limits = UnlockLimits(end: moment(end), idleMilliseconds: idle)
        let period = UnlockPeriod(limits, from: BootTime(milliseconds: idle == .max ? 0 : 100))
        #expect(period.renewalMoment == moment(due))
    }

    @Test func `An unlock period is renewed up to its end, and never gets shorter`() {
        let limits = UnlockLimits(end: BootTime(milliseconds: 250), idleMilliseconds: 80)
        let period = UnlockPeriod(limits, from: BootTime(milliseconds: 100))
        #expect(period.renewed(at: BootTime(milliseconds: 150)).numbers == [230, 80, 250])
        #expect(period.renewed(at: BootTime(milliseconds: 50)) == period)
        let last = period.renewed(at: BootTime(milliseconds: 179))
        #expect(last.numbers == [250, 80, 250])
        #expect(last.renewalMoment == nil)
        #expect(UnlockPeriod.unlimited.renewed(at: BootTime(milliseconds: 9)) == .unlimited)
    }

    @Test func `An unlock period is not believed if it was renewed in the time to come`() {
        let period = UnlockPeriod(
            UnlockLimits(idle: .milliseconds(80)), from: BootTime(milliseconds: 100))
        #expect(period.isRenewedLater(than: BootTime(milliseconds: 99)))
        #expect(!period.isRenewedLater(than: BootTime(milliseconds: 100)))
        #expect(!UnlockPeriod.unlimited.isRenewedLater(than: BootTime(milliseconds: 0)))
    }
}

/// What the two places have in common.
protocol IdleSample {
    init()
    var clock: TestClock { get }
    var samples: SampleKeys { get }
    var store: LockStateStore { get }
    func publish(_ epoch: UInt64, for milliseconds: UInt64?, idle: Int?) throws
}

extension ProcessSample: IdleSample {}
extension KernelSample: IdleSample {}

extension IdleSample {
    /// A use of the keys, as a call of the store makes it.
    ///
    /// - Returns: Whether the time was renewed.
    func use(_ store: LockStateStore? = nil, of epoch: UInt64 = 1) throws -> Bool {
        let store = store ?? self.store
        guard isUnlocked(store, epoch) else { return false }
        store.noteUse()
        guard store.isRenewalDue else { return false }
        try store.renew()
        return true
    }

    func isUnlocked(_ store: LockStateStore? = nil, _ epoch: UInt64 = 1) -> Bool {
        let reading = (store ?? self.store).current(expecting: samples.mark(epoch))
        if case .unlocked = reading { return true }
        return false
    }

    var numbers: [UInt64]? { store.unlockPeriod?.numbers }

    /// Puts the keys of epoch 2 in the place of those of epoch 1.
    func replaceKeys(unlockingSince moment: LockMoment? = nil) throws {
        try store.replaceKeys(
            of: samples.mark(1), by: samples.epoch(2), unlockingSince: moment)
    }
}

private func expectRenewal(_ sample: some IdleSample) throws {
    try sample.publish(1, for: nil, idle: 800)
    let keys = try #require(sample.store.current(expecting: sample.samples.mark(1)).keys)
    #expect(sample.numbers == [1_800, 800, 0])
    for _ in 0..<5 {
        let before = sample.numbers
        sample.clock.advance(by: 100)
        #expect(try !sample.use())
        #expect(sample.numbers == before)
        sample.clock.advance(by: 600)
        #expect(try sample.use())
        #expect(try !sample.use())
    }
    #expect(sample.numbers == [1_000 + 5 * 700 + 800, 800, 0])
    // The same object: nothing that was made of the keys has to be made again.
    #expect(sample.store.isUnlocked(with: keys))
    #expect(sample.store.current(expecting: sample.samples.mark(1)).keys === keys)
    sample.clock.advance(by: 799)
    #expect(sample.isUnlocked())
    sample.clock.advance(by: 1)
    #expect(!sample.isUnlocked())
    #expect(try !sample.use())
    try sample.store.renew()
    #expect(!sample.isUnlocked())
}

private func expectEnd(_ sample: some IdleSample) throws {
    try sample.publish(1, for: 1_500, idle: 1_000)
    sample.clock.advance(by: 900)
    #expect(try sample.use())
    #expect(sample.numbers == [2_500, 1_000, 2_500])
    sample.clock.advance(by: 599)
    #expect(try !sample.use())
    #expect(sample.isUnlocked())
    sample.clock.advance(by: 1)
    #expect(!sample.isUnlocked())
}

private func expectKeptByAnotherEpoch(_ sample: some IdleSample) throws {
    try sample.publish(1, for: 5_000, idle: 1_000)
    sample.clock.advance(by: 500)
    try sample.replaceKeys()
    #expect(sample.isUnlocked(nil, 2))
    #expect(sample.numbers == [2_000, 1_000, 6_000])
    #expect(try sample.use(of: 2))
    #expect(sample.numbers == [2_500, 1_000, 6_000])
    #expect(sample.isUnlocked(nil, 2))
}

private func expectAskingToRenewNothing(_ sample: some IdleSample) throws {
    try sample.publish(1, for: nil, idle: 800)
    for _ in 0..<799 {
        sample.clock.advance(by: 1)
        #expect(sample.isUnlocked())
        #expect(!sample.store.isRenewalDue)
    }
    sample.clock.advance(by: 1)
    #expect(!sample.isUnlocked())
}

private func expectPostponing(_ sample: some IdleSample) throws {
    try sample.publish(1, for: nil, idle: 6_400)
    #expect(sample.isUnlocked())
    sample.clock.advance(by: 3_000)
    sample.store.noteUse()
    #expect(sample.store.isRenewalDue)
    #expect(!sample.store.isRenewalUrgent)
    sample.store.postponeRenewal()
    #expect(try !sample.use())
    sample.clock.advance(by: 200)
    #expect(sample.store.isRenewalUrgent)
    #expect(try sample.use())
    #expect(sample.numbers == [1_000 + 3_200 + 6_400, 6_400, 0])
}

@Suite struct `Idle time in this process` {
    // Promise: 7.3
    @Test func `In one process the idle time begins anew with each use`() throws {
        try expectRenewal(ProcessSample())
    }

    // Promise: 7.3
    @Test func `In one process the idle time goes no further than the end`() throws {
        try expectEnd(ProcessSample())
    }

    @Test func `Idle time in this process stays with the next epoch`() throws {
        try expectKeptByAnotherEpoch(ProcessSample())
    }

    // Promise: 7.3
    @Test func `In one process the idle time passes while the state is only asked for`() throws {
        try expectAskingToRenewNothing(ProcessSample())
    }

    @Test func `Idle time in this process is renewed later if others are busy`() throws {
        try expectPostponing(ProcessSample())
    }
}

extension Kernel {
    @Suite struct `Idle time in the kernel` {
        let sample = KernelSample()

        // Promise: 7.3
        @Test func `In the kernel the idle time begins anew with each use`() throws {
            try expectRenewal(KernelSample())
        }

        // Promise: 7.3
        @Test func `In the kernel the idle time goes no further than the end`() throws {
            try expectEnd(KernelSample())
        }

        @Test func `Idle time in the kernel stays with the next epoch`() throws {
            try expectKeptByAnotherEpoch(KernelSample())
        }

        // Promise: 7.3
        @Test func `In the kernel the idle time passes while the state is only asked for`() throws {
            try expectAskingToRenewNothing(KernelSample())
        }

        @Test func `Idle time in the kernel is renewed later if others are busy`() throws {
            try expectPostponing(KernelSample())
        }

        @Test func `Idle time in the kernel is that of all who share the keys`() throws {
            let other = sample.fresh()
            try sample.publish(idle: 800)
            let keys = try #require(other.current(expecting: sample.samples.mark(1)).keys)
            for _ in 0..<5 {
                sample.clock.advance(by: 700)
                #expect(try sample.use())
            }
            // Longer than what the other one remembers, and still with the same keys.
            #expect(!other.isUnlocked(with: keys))
            #expect(other.current(expecting: sample.samples.mark(1)).keys === keys)
            #expect(other.isUnlocked(with: keys))
            sample.clock.advance(by: 500)
            #expect(try sample.use(other))
            sample.clock.advance(by: 700)
            #expect(sample.isUnlocked())
            // The second one finds that it was done.
            #expect(try sample.use())
            #expect(try sample.use(other))
            #expect(sample.store.unlockPeriod == other.unlockPeriod)
            sample.clock.advance(by: 800)
            #expect(!sample.isUnlocked())
            #expect(!sample.isUnlocked(other))
        }

        @Test func `Idle time in the kernel has the kernel's own end behind it`() throws {
            try sample.publish(idle: 60_000)
            #expect(try !keyEntry(sample.serial(.whileUnlocked)).contains(" perm "))
            let key = try sample.serial(.whileUnlocked)
            sample.clock.advance(by: 50_000)
            #expect(try sample.use())
            #expect(try sample.serial(.whileUnlocked) == key)
            #expect(try !keyEntry(key).contains(" perm "))
        }

        // Promise: 7.2
        @Test func `The first process that sees idle time end removes the keys from the kernel`()
            throws
        {
            try sample.publish(idle: 800)
            let key = try sample.serial(.whileUnlocked)
            sample.clock.advance(by: 799)
            #expect(sample.isUnlocked())
            #expect(KernelKeyring.isGood(key))
            sample.clock.advance(by: 1)
            #expect(
                try sample.read(sample.fresh()) == "locked 1\(KernelSample.first) deadlinePassed")
            #expect(!KernelKeyring.isGood(key))
        }

        @Test func `Idle time in the kernel that is renewed while somebody reads is not over`()
            throws
        {
            try sample.publish(idle: 800)
            sample.clock.advance(by: 799)
            let sample = sample
            let isFirst = Atomic(true)
            // Asked for after the payload was read.
            let reader = sample.store {
                if isFirst.exchange(false, ordering: .relaxed) {
                    #expect((try? sample.use()) == true)
                    sample.clock.advance(by: 1)
                }
                return sample.clock.now
            }
            #expect(try sample.read(reader) == "unlocked 1\(KernelSample.all)")
            #expect(sample.isUnlocked())
        }

        // Promise: 7.3
        @Test func `Idle time in the kernel is not brought back by a renewal that comes too late`()
            throws
        {
            try sample.publish(idle: 800)
            sample.clock.advance(by: 700)
            let sample = sample
            let count = Atomic(0)
            let locked = "locked 1\(KernelSample.first) deadlinePassed"
            // Looks at the clock in time, and is kept from the rest until others have seen the end.
            let late = sample.store {
                let moment = sample.clock.now
                if count.add(1, ordering: .relaxed).newValue == 3 {
                    sample.clock.advance(by: 100)
                    #expect((try? sample.read(sample.fresh())) == locked)
                }
                return moment
            }
            try late.renew()
            #expect(count.load(ordering: .relaxed) >= 3)
            #expect(try sample.read(sample.fresh()).hasPrefix("locked 1\(KernelSample.first) "))
            #expect(!sample.isUnlocked(late))
        }

        // Promise: 7.3
        @Test func `Idle time in the kernel is over once somebody has locked`() throws {
            let other = sample.fresh()
            try sample.publish(idle: 800)
            #expect(sample.isUnlocked(other))
            sample.clock.advance(by: 700)
            try sample.store.lock(all: false)
            other.noteUse()
            #expect(other.isRenewalDue)
            try other.renew()
            #expect(!other.isRenewalDue)
            #expect(!sample.isUnlocked(other))
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
        }

        // Promise: 7.3
        @Test func `Idle time in the kernel of an earlier unlock does not come back`() throws {
            let other = sample.fresh()
            try sample.publish(idle: 800)
            #expect(sample.isUnlocked(other))
            sample.clock.advance(by: 700)
            try sample.publish()
            other.noteUse()
            try other.renew()
            #expect(sample.isUnlocked(other))
            #expect(other.unlockPeriod == .unlimited)
        }

        @Test func `Idle time in the kernel that was renewed in the time to come is no idle time`()
            throws
        {
            try sample.publish()
            let period = UnlockPeriod(
                UnlockLimits(idle: .milliseconds(800)), from: BootTime(milliseconds: 1_001))
            let payload = try KeyPayload(
                .whileUnlocked, of: sample.samples.keychainID, from: sample.samples.epoch(1),
                period: period)
            try sample.plant(sample.seal(payload), as: .whileUnlocked)
            #expect(try sample.read() == "locked 1\(KernelSample.first) invalid:payloadDamaged")
            sample.clock.advance(by: 1)
            #expect(sample.isUnlocked())
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Idle time in the kernel is renewed by another process`(_ user: User) throws {
            let (owner, other) = (try OtherProcess(user), try OtherProcess(user))
            let keychain = KeychainID.random()
            defer { _ = try? owner("lock \(keychain) all") }
            let all = "unlocked 1[ak ck dk aku cku dku akpu]"
            #expect(try owner("publish \(keychain) 1 idle2000") == "kernel")
            let end = BootTime.now.advanced(by: .seconds(3))
            var renewalCount = 0
            while BootTime.now < end {
                usleep(20_000)
                // Slower than its time, the machine tells nothing.
                guard try other("read \(keychain) 1") == all else { break }
                if try other("use \(keychain)") == "ok" { renewalCount += 1 }
            }
            #expect(renewalCount > 0)
            while try owner("read \(keychain) 1") == all { usleep(20_000) }
            #expect(try other("read \(keychain) 1").hasPrefix("locked 1[ck dk cku dku]"))
        }
    }
}
