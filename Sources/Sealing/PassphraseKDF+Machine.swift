// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension PassphraseKDF {
    /// The cost at which one guess takes about 250 ms on this machine, with at most a quarter of
    /// its memory.
    ///
    /// Takes up to a second.
    /// - Throws: ``SealingError/Code/outOfMemory`` if there is not even 64 MiB.
    package static func calibratedCost() throws(SealingError) -> Argon2Cost {
        let pages = max(0, sysconf(Int32(_SC_PHYS_PAGES)))
        let pageByteCount = max(0, sysconf(Int32(_SC_PAGESIZE)))
        let memoryKiB = UInt64(pages) * UInt64(pageByteCount) >> 10
        return try calibrate(memoryLimitKiB: memoryKiB / 4) { cost throws(SealingError) in
            try duration(of: cost, on: ContinuousClock())
        }
    }
}
