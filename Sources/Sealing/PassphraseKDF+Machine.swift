// SPDX-License-Identifier: Apache-2.0

extension PassphraseKDF {
    /// The cost at which one guess takes about 250 ms on this machine, with at most a quarter of
    /// the memory that there is.
    ///
    /// Takes up to a second.
    /// - Parameter memoryByteCount: How much memory this process may have.
    /// - Throws: ``SealingError/Code/outOfMemory`` if there is not even 64 MiB.
    package static func calibratedCost(
        memoryByteCount: UInt64
    ) throws(SealingError) -> Argon2Cost {
        try calibrate(memoryLimitKiB: memoryByteCount >> 12) { cost throws(SealingError) in
            try duration(of: cost, on: ContinuousClock())
        }
    }
}
