// SPDX-License-Identifier: Apache-2.0

/// How a change of keys goes about it.
package struct EpochOptions {
    /// Is told how many of how many rows have been sealed anew.
    package typealias Progress = (_ count: Int, _ total: Int) -> Void

    /// Whether damaged rows are set aside, where else nothing is changed.
    package var skipsDamaged: Bool
    /// Is told how far it has come.
    package var progress: Progress

    /// - Parameters:
    ///   - skipsDamaged: Whether damaged rows are set aside, where else nothing is changed.
    ///   - progress: Is told how far it has come.
    package init(
        skippingDamaged skipsDamaged: Bool = false, progress: @escaping Progress = { _, _ in }
    ) {
        self.skipsDamaged = skipsDamaged
        self.progress = progress
    }
}
