// SPDX-License-Identifier: Apache-2.0

/// What sync with a person's other devices is doing: docs/SYNC.md §8. The agent of sync writes it;
/// libraries and `valet sync status` read it.
package enum SyncState: UInt8, CaseIterable, Hashable, Sendable {
    /// This keychain is in no circle.
    case off = 0
    /// This device was admitted, and has not read everything yet.
    case joining = 1
    /// Everything was read, and everything that is new here is in the store.
    case current = 2
    /// Messages are being read or written.
    case working = 3
    /// Something is missing that another device or the store has to bring.
    case waiting = 4
    /// The keychain is locked: items of class `whenUnlocked` wait for the unlock.
    case locked = 5
    /// The keychain was not unlocked since the start of the machine: nothing can be read.
    case closed = 6
    /// A person has paused sync.
    case paused = 7
    /// The store has no room.
    case full = 8
    /// The store refuses this device.
    case denied = 9
    /// The store cannot be reached.
    case unavailable = 10
    /// Another device writes in a format that this program does not know.
    case newer = 11
    /// This device was removed from the circle, or has left it.
    case removed = 12
    /// A person has to decide something.
    case alarm = 13

    /// The word that `valet sync status` shows.
    package var name: String { "\(self)" }
}
