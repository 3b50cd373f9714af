// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Whether there is enough memory for a large value.
///
/// Swift ends the process when an allocation fails. So code that handles large values asks first,
/// for all copies at once.
package enum SpareMemory {
    /// Smaller values need no check: without room for them, no call would succeed either.
    private static let smallByteCount = 64 << 10
    /// Room for everything else that a call allocates.
    private static let slackByteCount = 1 << 20

    /// Whether there is memory to store a value of `byteCount` bytes: for the value, a padded copy,
    /// a sealed one, and a second sealed one if the item demands the user.
    package static func canStore(byteCount: Int) -> Bool { has(4, copiesOf: byteCount) }

    /// Whether this process can allocate `copyCount` times `byteCount` bytes now; costs about 2 µs.
    ///
    /// Another thread may take the memory afterwards. The kernel may overcommit, but not beyond the
    /// limits of the process (`RLIMIT_AS`).
    package static func has(_ copyCount: Int, copiesOf byteCount: Int) -> Bool {
        guard byteCount > smallByteCount else { return true }
        let (wanted, isTooMuch) = byteCount.multipliedReportingOverflow(by: copyCount)
        let (all, isMore) = wanted.addingReportingOverflow(slackByteCount)
        guard !isTooMuch, !isMore,
            let memory = unsafe mmap(
                nil, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            Int(bitPattern: memory) != -1  // MAP_FAILED
        else { return false }
        unsafe munmap(memory, all)
        return true
    }
}
