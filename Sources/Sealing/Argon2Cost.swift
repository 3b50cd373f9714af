// SPDX-License-Identifier: Apache-2.0

/// What one guess of a passphrase costs: memory and passes over it.
package struct Argon2Cost: Hashable, Sendable {
    /// From 64 MiB, below which guessing is cheap, to 1 GiB, above which a forged cost would stop a
    /// machine.
    package static let memoryBoundsKiB: ClosedRange<UInt32> = (64 << 10)...(1 << 20)
    /// From 3, as RFC 9106 §4 has it for this much memory, to 64.
    package static let passesBounds: ClosedRange<UInt32> = 3...64
    /// 64 MiB and 3 passes.
    package static let lowest = Argon2Cost(
        uncheckedMemoryKiB: memoryBoundsKiB.lowerBound, passes: passesBounds.lowerBound)

    /// The memory, in KiB.
    package let memoryKiB: UInt32
    /// The passes.
    package let passes: UInt32

    /// Checks a cost, which may come from a file.
    ///
    /// - Throws: ``SealingError/Code/malformed`` if it is out of bounds, either way.
    package init(memoryKiB: UInt32, passes: UInt32) throws(SealingError) {
        guard Self.memoryBoundsKiB.contains(memoryKiB), Self.passesBounds.contains(passes) else {
            throw SealingError(.malformed, during: .parse, of: "cost of a passphrase")
        }
        self.init(uncheckedMemoryKiB: memoryKiB, passes: passes)
    }

    /// Takes a cost as it is, for tests and their vectors: at least 8 KiB and one pass.
    package init(uncheckedMemoryKiB memoryKiB: UInt32, passes: UInt32) {
        self.memoryKiB = memoryKiB
        self.passes = passes
    }
}
