// SPDX-License-Identifier: Apache-2.0

/// How a key change treats damage, and how it reports progress.
package struct KeyChangeOptions {
    /// Called with the number of rows that were sealed again, and the number of all rows.
    package typealias Progress = (_ count: Int, _ total: Int) -> Void

    /// Whether to set damaged rows aside. If false, a damaged row makes the change fail.
    package var skipsDamaged: Bool
    /// Called after each batch of rows.
    package var progress: Progress

    /// - Parameters:
    ///   - skipsDamaged: Whether to set damaged rows aside, instead of failing.
    ///   - progress: Called after each batch of rows.
    package init(
        skippingDamaged skipsDamaged: Bool = false, progress: @escaping Progress = { _, _ in }
    ) {
        self.skipsDamaged = skipsDamaged
        self.progress = progress
    }
}
