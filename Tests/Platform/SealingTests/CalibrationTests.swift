// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetSystem

@testable import ValetSealing

@Suite struct `Calibrating the cost of a passphrase` {
    /// A machine that takes so many nanoseconds for a pass over a KiB, and has so much memory.
    private final class Machine {
        let speed: Double
        let memoryKiB: UInt32
        var costs: [Argon2Cost] = []

        init(milliseconds: Double, memoryKiB: UInt32 = .max) {
            speed = milliseconds * 1e6 / (65_536 * 3)
            self.memoryKiB = memoryKiB
        }

        func measure(_ cost: Argon2Cost) throws(SystemError) -> Duration {
            costs.append(cost)
            guard cost.memoryKiB <= memoryKiB else {
                throw SystemError.sealing(.outOfMemory, during: .stretch, of: "passphrase")
            }
            return .nanoseconds(Int(speed * Double(cost.memoryKiB) * Double(cost.passes)))
        }

        func calibrate(limitMiB: UInt64 = 1 << 20) throws(SystemError) -> [UInt32] {
            let cost = try PassphraseKDF.calibrate(
                memoryLimitKiB: limitMiB << 10, measure: measure)
            return [cost.memoryKiB >> 10, cost.passes]
        }
    }

    /// By the milliseconds that the lowest cost takes: MiB and passes.
    @Test(
        arguments: [
            (1_000, [64, 3]), (250, [64, 3]), (249, [64, 3]), (200, [80, 3]), (125, [128, 3]),
            (100, [160, 3]), (62, [256, 3]), (31.25, [256, 6]), (20, [256, 9]), (1, [256, 64]),
            (0, [256, 64]), (-5, [256, 64]),
        ] as [(Double, [UInt32])])
    func `Calibrating Argon2's cost raises memory, then passes`(
        _ milliseconds: Double, _ expected: [UInt32]
    ) throws {
        #expect(try Machine(milliseconds: milliseconds).calibrate() == expected)
    }

    @Test(
        arguments: [
            (0, [64, 7]), (63, [64, 7]), (64, [64, 7]), (100, [100, 4]), (192, [160, 3]),
            (1 << 50, [160, 3]),
        ] as [(UInt64, [UInt32])])
    func `Calibrating Argon2's cost heeds the limit, but not below 64 MiB`(
        _ limit: UInt64, _ expected: [UInt32]
    ) throws {
        #expect(try Machine(milliseconds: 100).calibrate(limitMiB: limit) == expected)
    }

    @Test func `Calibrating Argon2's cost does not choose what there is no memory for`() throws {
        let machine = Machine(milliseconds: 50, memoryKiB: 200 << 10)
        #expect(try machine.calibrate() == [64, 3])
        #expect(machine.costs.map(\.memoryKiB) == [64 << 10, 256 << 10])
    }

    @Test func `Calibrating Argon2's cost fails where there is no memory for the lowest`() {
        let error = #expect(throws: SystemError.self) {
            try Machine(milliseconds: 50, memoryKiB: 100).calibrate()
        }
        #expect(error == SystemError.sealing(.outOfMemory, during: .stretch, of: "passphrase"))
    }

    @Test func `Calibrating Argon2's cost passes on any other failure`() {
        let error = #expect(throws: SystemError.self) {
            try PassphraseKDF.calibrate(memoryLimitKiB: 1 << 20) {
                cost throws(SystemError) in
                guard cost == .lowest else {
                    throw SystemError.sealing(.malformed, during: .stretch, of: "passphrase")
                }
                return .milliseconds(1)
            }
        }
        #expect(error?.code == .malformed)
    }

    @Test func `Calibrating Argon2's cost measures once if the lowest is slow, else twice`() throws
    {
        for (milliseconds, count) in [(1_000, 1), (100, 2), (1, 2)] as [(Double, Int)] {
            let machine = Machine(milliseconds: milliseconds)
            _ = try machine.calibrate()
            #expect(machine.costs.count == count)
            #expect(machine.costs[0] == .lowest)
        }
    }

    @Test func `Calibrating Argon2's cost can measure this machine`() throws {
        let cost = Argon2Cost(uncheckedMemoryKiB: 8, passes: 1)
        #expect(try PassphraseKDF.duration(of: cost, on: ContinuousClock()) > .zero)
    }

    /// A clock on which each stretching takes the same time, whatever it really takes.
    private final class SteadyClock: Clock {
        struct Instant: InstantProtocol {
            let time: Duration
            func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
            func duration(to other: Instant) -> Duration { other.time - time }
            static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
        }

        let readings = Mutex(0)
        var now: Instant {
            Instant(
                time: readings.withLock { count in
                    count += 1
                    return .milliseconds(125 * count)
                })
        }
        var minimumResolution: Duration { .milliseconds(125) }
        func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
    }

    @Test func `Calibrating Argon2's cost goes by the clock that it is given`() throws {
        let cost = try PassphraseKDF.calibratedCost(memoryByteCount: 1 << 32, on: SteadyClock())
        #expect(cost.memoryKiB == 128 << 10)
        // The second stretching took as long with twice the memory.
        #expect(cost.passes == 6)
    }
}

@Suite struct `A pair made from a seed` {
    private func pair(_ seed: [UInt8], _ context: DerivationContext = .recovery) -> [UInt8] {
        KeyAgreementPair(seed: SecretBytes(copying: seed.span), context).publicKey.bytes
    }

    @Test func `A pair from a seed is always the same, and another for another seed or context`() {
        #expect(pair([1, 2]) == pair([1, 2]))
        #expect(pair([1, 2]) != pair([1, 3]))
        #expect(pair([1, 2]) != pair([1, 2, 0]))
        #expect(pair([]) != pair([0]))
        #expect(pair([1, 2]) != pair([1, 2], .backup))
    }
}
