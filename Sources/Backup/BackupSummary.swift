// SPDX-License-Identifier: Apache-2.0

/// What was found at the end of a backup, or written there.
///
/// Two readings with equal summaries have read the same: docs/FORMAT.md §11.4.
package struct BackupSummary: Hashable, Sendable {
    /// The number of items.
    package let itemCount: UInt64
    /// The last 16 bytes of the last chunk, which depend on the header and on all chunks.
    package let ending: [UInt8]
}
