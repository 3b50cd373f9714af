// SPDX-License-Identifier: Apache-2.0

/// The state of sync with the user's other devices: docs/SYNC.md §8. The agent of sync writes it;
/// libraries and `valet sync status` read it.
///
/// Applications know it as `ValetKeychain.SyncState`.
@nonexhaustive
public enum SyncState: UInt8, CaseIterable, Hashable, Sendable {
    /// This keychain is in no circle.
    case off = 0
    /// This device was admitted, and has not read everything yet.
    case joining = 1
    /// Everything was read, and everything that is new here is in the store.
    case current = 2
    /// Messages are being read or written.
    case working = 3
    /// Something is missing that another device or the store has to bring, or something that is
    /// new here was not sent yet.
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

    package var name: String { "\(self)" }
}

/// The size limit of an item that is sent to other devices: docs/SYNC.md §3.3.
package enum TravellingItem {
    package static let maximalByteCount = 192 << 10

    /// How many bytes an item has, as the limit counts them.
    ///
    /// - Parameter valueByteCount: The length of the value; nil for none.
    package static func byteCount(attributes: AttributeList, valueByteCount: Int?) -> Int {
        3 + 4 + attributes.encodedByteCount + (valueByteCount.map { 4 + $0 } ?? 0)
    }
}

extension NewItem {
    /// Whether the item with a value of that length is too large to be sent to other devices.
    ///
    /// Does not count attributes that an item of this name has already, and no default group: near
    /// the limit only sync itself knows.
    package func isTooLargeToTravel(valueByteCount: Int) -> Bool {
        var list = AttributeList()
        for (attribute, value) in attributes { list.set(value, for: attribute.tag) }
        if let accessGroup { list.set(.text(accessGroup.rawValue), for: Attribute.accessGroup.tag) }
        for attribute in [Attribute.creationDate, .modificationDate] {
            list.set(.date(0), for: attribute.tag)
        }
        let byteCount = TravellingItem.byteCount(attributes: list, valueByteCount: valueByteCount)
        return byteCount > TravellingItem.maximalByteCount
    }
}
