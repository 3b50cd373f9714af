// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

extension PassphraseKDF {
    /// The most memory that calibration asks for, in KiB: 256 MiB. More would keep small machines
    /// from opening what large ones made.
    package static let calibratedMemoryKiB: UInt32 = 256 << 10

    /// The cost at which one guess takes about `target` on this machine, and never less than the
    /// lowest: 64 MiB and 3 passes.
    ///
    /// Memory is raised first, to 256 MiB or the limit, then passes: memory is what guessing in
    /// bulk is short of. Calls `measure` once or twice.
    /// - Parameters:
    ///   - memoryLimitKiB: What the caller can spare, in KiB; below 64 MiB it is not heeded.
    ///   - measure: How long one stretching takes: ``duration(of:on:)``.
    /// - Throws: What `measure` throws at the lowest cost. One that needs more memory than there is
    ///   after all is not chosen.
    package static func calibrate(
        memoryLimitKiB: UInt64, target: Duration = .milliseconds(250),
        measure: (Argon2Cost) throws(SealingError) -> Duration
    ) throws(SealingError) -> Argon2Cost {
        let lowest = Argon2Cost.lowest
        let shortest = try measure(lowest)
        guard shortest < target else { return lowest }
        let limit = UInt32(min(memoryLimitKiB, UInt64(calibratedMemoryKiB)))
        let wantedKiB = scaled(
            lowest.memoryKiB, by: target, over: shortest,
            in: lowest.memoryKiB...max(lowest.memoryKiB, limit))
        let memoryKiB = wantedKiB & ~1023  // whole MiB
        let duration: Duration
        do throws(SealingError) {
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
    /// Takes up to a second of an idle machine.
    /// - Parameters:
    ///   - memoryByteCount: How much memory this process may have.
    ///   - clock: The processor time of the calling thread, which does the stretching. Wall time
    ///     would make a passcode weaker that somebody sets while the machine has other work.
    /// - Throws: ``SealingError/Code/outOfMemory`` if there is not even 64 MiB.
    package static func calibratedCost(
        memoryByteCount: UInt64, on clock: some Clock<Duration>
    ) throws(SealingError) -> Argon2Cost {
        try calibrate(memoryLimitKiB: memoryByteCount >> 12) { cost throws(SealingError) in
            try duration(of: cost, on: clock)
        }
    }

    /// How long it takes to stretch a passphrase at `cost`, as `clock` has it.
    ///
    /// - Throws: ``SealingError/Code/outOfMemory`` if there is not that much memory.
    package static func duration(
        of cost: Argon2Cost, on clock: some Clock<Duration>
    ) throws(SealingError) -> Duration {
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
