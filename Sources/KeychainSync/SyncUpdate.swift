// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
package import ValetSync

/// What an update of sync may do in its transaction. It ends with the call that lends it.
package final class SyncUpdate {
    /// What the keychain knows of its circle; nil in no circle.
    ///
    /// No call of this object may be made while the replica is being changed, but
    /// ``record(_:in:)-(PendingSource,_)``.
    package var replica: Replica?
    /// Whether scope `u` is closed.
    package let isLocked: Bool
    /// The time: milliseconds since 1970.
    package let milliseconds: UInt64
    /// The messages that were built and are not confirmed, as they are sent.
    package var outgoing: [KeyScope: [UInt8]] = [:]

    init(isLocked: Bool, milliseconds: UInt64) {
        self.isLocked = isLocked
        self.milliseconds = milliseconds
    }

    /// Lends the sync secret of a scope.
    ///
    /// - Returns: nil if the scope is closed, or the keychain has no such secret.
    package func withSecret<R>(
        _ scope: KeyScope, _ body: (borrowing SyncSecret) throws -> R
    ) throws -> R? {
        throw unbuilt
    }

    // MARK: Circle

    /// Begins a replica, in a keychain that has none.
    ///
    /// - Parameter sendsItems: Whether the items that the keychain has become pending, as for the
    ///   founder of a circle. If not, items of other devices replace them, and their values are
    ///   kept as replaced ones; what is left then is sent by ``sendUnsent()``.
    package func begin(_ replica: Replica, sendsItems: Bool) throws { throw unbuilt }

    /// Goes on in a new circle of the same store: all that lives here is brought anew, in logs with
    /// these ids, and nothing is known of other devices. Conflicts stay.
    package func move(to firstUnlock: LogID, _ unlocked: LogID) throws { throw unbuilt }

    /// Deletes everything of sync but replaced values and the notes of these names. Items stay.
    package func end(keeping names: Set<NoteName>) throws { throw unbuilt }

    /// The number of items that travel and that no message has: those that were here before the
    /// replica was begun, and that the circle lacks.
    package func unsentCount() throws -> Int { throw unbuilt }

    /// Makes the items pending that ``unsentCount()`` counts.
    package func sendUnsent() throws { throw unbuilt }

    // MARK: Records

    /// Puts what is pending into a batch: ``ScopeReplica/draftBatch(limits:read:)`` with
    /// ``record(_:in:)-(PendingSource,_)``.
    package func draftBatch(
        in scope: KeyScope, limits: SyncLimits = SyncLimits()
    ) throws -> BatchDraft? {
        throw unbuilt
    }

    /// Makes the record of something pending.
    ///
    /// - Returns: nil if it cannot be made now: ``unsendable`` says why.
    package func record(_ source: PendingSource, in scope: KeyScope) throws -> SyncRecord? {
        throw unbuilt
    }

    /// What could not be sent since the update began: items that are damaged or too large.
    package private(set) var unsendable: [UnsendableItem] = []

    /// The record of a dot that lives, or is brought anew, byte for byte.
    ///
    /// - Returns: nil if it cannot be read: its row is damaged, or its scope closed.
    package func record(_ dot: Dot, in scope: KeyScope) throws -> SyncRecord? { throw unbuilt }

    /// What the replica needs to know of a record that a message brings. Gives the item a number if
    /// it is new, also without a join.
    ///
    /// - Throws: ``SyncError`` for a record that may not travel in the scope.
    package func summary(of record: SyncRecord, in scope: KeyScope) throws -> RecordSummary {
        throw unbuilt
    }

    /// The number of the item that `content` names.
    package func key(of content: RecordContent) throws -> ItemKey { throw unbuilt }

    /// Makes the changes that the replica asks for, in their order.
    ///
    /// Values that are taken away become replaced ones. Every change that the replica returns has
    /// to come here in the transaction in which it was returned.
    ///
    /// - Parameter records: The records that are to be kept: those of the message that is joined,
    ///   or built. More do no harm.
    package func apply(_ changes: [ReplicaChange], bringing records: [Dot: SyncRecord]) throws {
        throw unbuilt
    }

    // MARK: The message that is being joined

    /// The message that is being joined in a scope, as it was read.
    ///
    /// If a join was broken off, the replica has forgotten it, and the message is still here: it is
    /// begun again, before anything else is read or built. That brings nothing twice.
    package func incoming(_ scope: KeyScope) throws -> [UInt8]? { throw unbuilt }

    /// A part of the base that is being joined.
    package func incomingPart(_ index: Int, _ scope: KeyScope) throws -> [UInt8]? { throw unbuilt }

    /// Keeps the message that is to be joined next; nil once it was, with its parts.
    package func setIncoming(_ message: [UInt8]?, _ scope: KeyScope) throws { throw unbuilt }

    /// Keeps a part of the base that is to be joined.
    package func setIncomingPart(_ part: [UInt8], _ index: Int, _ scope: KeyScope) throws {
        throw unbuilt
    }

    // MARK: Notes

    /// What the agent or the circle keeps under a name, sealed; at most 16 MiB.
    package subscript(note: NoteName) -> [UInt8]? {
        get { nil }
        set {}
    }

    // MARK: Conflicts and replaced values

    /// How many more values can be kept as replaced ones: ``ScopeReplica/begin(_:room:limits:)``.
    package var replacedRoom: Int { get throws { throw unbuilt } }

    /// Writes the value of a version into its item, as a local call would; this covers all
    /// conflicts of the item. A replaced value stays among the replaced ones.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no such version, `locked`.
    package func take(_ version: KeptVersion.ID) throws { throw unbuilt }

    /// Deletes a version: of a conflict, on all devices.
    ///
    /// - Throws: As ``take(_:)``.
    package func drop(_ version: KeptVersion.ID) throws { throw unbuilt }

    private var unbuilt: KeychainFailure {
        KeychainFailure(.internalFault, during: "sync")
    }
}

/// The name of what the agent or the circle keeps in the keychain, such as its roster.
package struct NoteName: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, at most 32 bytes of UTF-8.
    package let rawValue: String

    /// The note `rawValue`.
    package init(_ rawValue: String) {
        precondition(rawValue.utf8.count <= 32, "the name of a note is too long")
        self.rawValue = rawValue
    }

    /// The note `value`.
    package init(stringLiteral value: String) { self.init(value) }
}

/// An item that cannot be sent now.
package struct UnsendableItem: Hashable, Sendable {
    /// Why an item cannot be sent.
    package enum Reason: Hashable, Sendable {
        /// Its row is damaged. Writing or deleting the item mends this.
        case damaged
        /// Its record would be larger than ``SyncRecord/maximalContentByteCount``. It stays on this
        /// device.
        case tooLarge
    }

    /// The item.
    package let key: ItemKey
    /// Why it cannot be sent.
    package let reason: Reason
}
