// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Stretches typed text into a key: Argon2id, version 1.3, one lane (RFC 9106).
package enum PassphraseKDF {
    /// Stretches `passphrase` byte for byte, with the memory and the passes of `cost`.
    /// - Throws: `outOfMemory` if there is not that much memory.
    package static func stretch(
        _ passphrase: borrowing SecretBytes, salt: Salt, cost: Argon2Cost
    ) throws(SystemError) -> StretchedPasscode {
        try SymmetricKey { (key: inout MutableSpan<UInt8>) throws(SystemError) in
            let isDone = passphrase.withBytes { passphrase in
                salt.withBytes { salt in
                    Sodium.argon2id(passphrase, salt: salt, cost: cost, into: &key)
                }
            }
            guard isDone else {
                throw SystemError.sealing(.outOfMemory, during: .stretch, of: "passphrase")
            }
        }
    }
}

extension PassphraseKDF {
    /// The most memory that calibration chooses, in KiB: 256 MiB. With more, small machines could
    /// not open what large ones made.
    package static let calibratedMemoryKiB: UInt32 = 256 << 10

    /// The cost at which one guess takes about `target` on this machine, and never less than the
    /// lowest: 64 MiB and 3 passes.
    ///
    /// Raises memory first, up to 256 MiB or the limit, then passes: memory is the scarce resource
    /// of guessing in bulk. Calls `measure` once or twice.
    /// - Parameters:
    ///   - memoryLimitKiB: What the caller can spare, in KiB; a limit below 64 MiB counts as 64
    ///     MiB.
    ///   - measure: Measures one stretching: ``duration(of:on:)``.
    /// - Throws: What `measure` throws at the lowest cost. Never chooses a cost that needs more
    ///   memory than there is.
    package static func calibrate(
        memoryLimitKiB: UInt64, target: Duration = .milliseconds(250),
        measure: (Argon2Cost) throws(SystemError) -> Duration
    ) throws(SystemError) -> Argon2Cost {
        let lowest = Argon2Cost.lowest
        let shortest = try measure(lowest)
        guard shortest < target else { return lowest }
        let limit = UInt32(min(memoryLimitKiB, UInt64(calibratedMemoryKiB)))
        let wantedKiB = scaled(
            lowest.memoryKiB, by: target, over: shortest,
            in: lowest.memoryKiB...max(lowest.memoryKiB, limit))
        let memoryKiB = wantedKiB & ~1023  // whole MiB
        let duration: Duration
        do {
            let cost = try Argon2Cost(memoryKiB: memoryKiB, passes: lowest.passes)
            duration = cost == lowest ? shortest : try measure(cost)
        } catch {
            guard error.code == .outOfMemory else { throw error }
            return lowest
        }
        let passes = scaled(
            lowest.passes, by: target, over: duration, in: Argon2Cost.passesBounds)
        return try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
    }

    /// The cost at which one guess takes about 250 ms of this machine's processor, with at most a
    /// quarter of the memory.
    ///
    /// Takes up to a second on an idle machine.
    /// - Parameters:
    ///   - memoryByteCount: How much memory this process may have.
    ///   - clock: The processor time of the calling thread, which does the stretching. With wall
    ///     time, a passcode that is set on a busy machine would be weaker.
    /// - Throws: `outOfMemory` if there is not even 64 MiB.
    package static func calibratedCost(
        memoryByteCount: UInt64, on clock: some Clock<Duration>
    ) throws(SystemError) -> Argon2Cost {
        try calibrate(memoryLimitKiB: memoryByteCount >> 12) { cost throws(SystemError) in
            try duration(of: cost, on: clock)
        }
    }

    /// The time that stretching a passphrase at `cost` takes on `clock`.
    ///
    /// - Throws: `outOfMemory` if there is not that much memory.
    package static func duration(
        of cost: Argon2Cost, on clock: some Clock<Duration>
    ) throws(SystemError) -> Duration {
        let start = clock.now
        _ = try stretch(SecretBytes(byteCount: 8), salt: .random(), cost: cost)
        return start.duration(to: clock.now)
    }

    /// `value * target / duration`, rounded down and brought within `bounds`.
    private static func scaled(
        _ value: UInt32, by target: Duration, over duration: Duration,
        in bounds: ClosedRange<UInt32>
    ) -> UInt32 {
        let wanted = Double(value) * (target / max(duration, .nanoseconds(1)))
        guard wanted < Double(bounds.upperBound) else { return bounds.upperBound }
        return max(bounds.lowerBound, UInt32(wanted))
    }
}

/// The cost of one guess of a passphrase: memory and passes over it.
package struct Argon2Cost: Hashable, Sendable {
    /// From 64 MiB, below which guessing is cheap, to 1 GiB, above which a forged cost would stop a
    /// machine.
    package static let memoryBoundsKiB: ClosedRange<UInt32> = (64 << 10)...(1 << 20)
    /// From 3, as RFC 9106 §4 has it for this much memory, to 64.
    package static let passesBounds: ClosedRange<UInt32> = 3...64
    /// 64 MiB and 3 passes.
    package static let lowest = Argon2Cost(
        uncheckedMemoryKiB: memoryBoundsKiB.lowerBound, passes: passesBounds.lowerBound)
    #if LOWEST_COST
        /// Far below what may be used, for tests that set hundreds of passcodes.
        package static let ofTests = Argon2Cost(uncheckedMemoryKiB: 256, passes: 1)
    #endif

    /// The memory, in KiB.
    package let memoryKiB: UInt32
    package let passes: UInt32

    /// Checks a cost, which may come from a file.
    ///
    /// - Throws: `malformed` if it is out of bounds, either way.
    package init(memoryKiB: UInt32, passes: UInt32) throws(SystemError) {
        #if LOWEST_COST
            if memoryKiB == Self.ofTests.memoryKiB, passes == Self.ofTests.passes {
                self = .ofTests
                return
            }
        #endif
        guard Self.memoryBoundsKiB.contains(memoryKiB), Self.passesBounds.contains(passes) else {
            throw SystemError.sealing(.malformed, during: .parse, of: "cost of a passphrase")
        }
        self.init(uncheckedMemoryKiB: memoryKiB, passes: passes)
    }

    /// Accepts any cost, for tests and their vectors: at least 8 KiB and one pass.
    package init(uncheckedMemoryKiB memoryKiB: UInt32, passes: UInt32) {
        self.memoryKiB = memoryKiB
        self.passes = passes
    }
}
