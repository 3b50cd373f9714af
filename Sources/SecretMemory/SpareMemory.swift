// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Whether there is memory for what is large.
///
/// Swift ends the process where an allocation fails, be it of an array or of our own. So code that
/// is about to handle a large value asks first, for all of its copies at once.
package enum SpareMemory {
    /// Below that nobody is asked: whatever has no room for this has no room for a call either.
    private static let smallByteCount = 64 << 10
    /// What else a call allocates.
    private static let slackByteCount = 1 << 20

    /// Whether this process could have `copyCount` times `byteCount` bytes now; costs about 2 µs.
    ///
    /// Another thread may take them meanwhile. The kernel may promise more than there is, but not
    /// beyond the limits of the process (`RLIMIT_AS`).
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
