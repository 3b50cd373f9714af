// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSync

/// What a read of sync sees. It ends with the call that lends it.
package final class SyncView {
    /// Whether scope `u` is closed.
    package let isLocked: Bool

    init(isLocked: Bool) { self.isLocked = isLocked }

    /// What the keychain knows of its circle; nil in no circle. Reading it takes long for many
    /// items, unless this process has just written it.
    package var replica: Replica? {
        get throws { throw KeychainFailure(.internalFault, during: "sync") }
    }

    /// Whether the keychain has a replica. Takes no time.
    package var isInCircle: Bool {
        get throws { throw KeychainFailure(.internalFault, during: "sync") }
    }

    /// What is kept under a name.
    package subscript(note: NoteName) -> [UInt8]? {
        get throws { throw KeychainFailure(.internalFault, during: "sync") }
    }

    /// The conflicts, by item.
    package func conflicts() throws -> [KeptVersion] {
        throw KeychainFailure(.internalFault, during: "sync")
    }

    /// The replaced values that are kept, by item and by the time at which they were taken away.
    package func replaced() throws -> [KeptVersion] {
        throw KeychainFailure(.internalFault, during: "sync")
    }

    /// Opens a version with its value.
    ///
    /// - Returns: nil if it is closed now, or gone.
    package func content(of version: KeptVersion.ID) throws -> RecordContent? {
        throw KeychainFailure(.internalFault, during: "sync")
    }
}

/// A version of an item that its row does not show: a conflict or a replaced value.
package struct KeptVersion: Sendable {
    /// Names the version.
    package enum ID: Hashable, Sendable {
        /// A record that lives beside the shown one.
        case conflict(KeyScope, Dot)
        /// A value that another device replaced or deleted.
        case replaced(Dot)
    }

    /// Names the version.
    package let id: ID
    /// The item.
    package let key: ItemKey
    /// The device that wrote it, by the first half of its id.
    package let author: UInt64
    /// When it was written: ``SyncRecord/time``.
    package let time: UInt64
    /// When a replaced value was taken away: milliseconds since 1970.
    package let takenAway: UInt64?
    /// The item's class, protection class, group and attributes, with its value; nil if its scope
    /// is closed, or the entry is damaged.
    package let content: RecordContent?
}
