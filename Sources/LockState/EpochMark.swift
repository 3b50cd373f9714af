// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// What an epoch of keys is recognised by.
package struct EpochMark: Hashable, Sendable {
    /// The number of the epoch.
    package let epoch: Epoch
    /// The digest of its keybag with the settings beside it, as the database has them.
    package let digest: Digest

    /// Names an epoch.
    package init(epoch: Epoch, digest: Digest) {
        self.epoch = epoch
        self.digest = digest
    }
}
