// SPDX-License-Identifier: Apache-2.0

package import ValetKeybag
package import ValetSealing

/// The opened keys of one epoch, with what the epoch is recognised by.
package struct EpochKeys: Sendable {
    /// The keys: of all classes while unlocked, else of those that stay from the first unlock on.
    package let keybag: UnlockedKeybag
    /// The digest of the keybag with the settings beside it, as the database has them.
    package let digest: Digest

    /// Puts the two together.
    package init(_ keybag: UnlockedKeybag, digest: Digest) {
        self.keybag = keybag
        self.digest = digest
    }

    /// What the epoch is recognised by.
    package var mark: EpochMark { EpochMark(epoch: keybag.epoch, digest: digest) }
}
