// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The memory of the machine.
enum PhysicalMemory {
    /// How much there is, used or not; 0 if the system does not say.
    static var kibibytes: UInt64 {
        let (pages, pageByteCount) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        guard pages > 0, pageByteCount > 0 else { return 0 }
        return UInt64(pages) * (UInt64(pageByteCount) / 1024)
    }
}
