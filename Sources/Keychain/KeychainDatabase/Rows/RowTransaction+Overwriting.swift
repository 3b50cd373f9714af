// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSystem

// Clears the place of a row that a call is about to write: checks for another item, and keeps the
// times of a tombstone. Additions, updates and restores use it.

extension RowTransaction {
    /// Removes a tombstone or a damaged row from the place of a row that is about to be written.
    ///
    /// - Returns: The tombstone that was there. The new row must have a later time.
    /// - Throws: ``KeychainFailure/Code/duplicateItem`` if a sound item is there.
    package func makeWay(
        for item: IndexedContent, _ itemClass: ItemClass, isSynchronizable: Bool
    ) throws(KeychainFailure) -> Predecessor {
        try makeWay(over: try row(item.index.place))
    }

    /// Like ``makeWay(for:_:isSynchronizable:)``, for the row `existing` in the place.
    package func makeWay(over existing: FoundRow?) throws(KeychainFailure) -> Predecessor {
        guard let existing else { return Predecessor() }
        guard case .row(let row) = existing, let opened = try openIfTaken(row) else {
            try setAside(existing)
            return Predecessor()
        }
        try checkIsGone(opened)
        try delete(row)
        return Predecessor(
            logicalTime: row.logicalTime, modificationDate: opened.content.modificationDate)
    }

    /// Checks that a row is a tombstone, or an item that counts as absent.
    ///
    /// - Throws: ``KeychainFailure/Code/duplicateItem``.
    package func checkIsGone(_ opened: OpenedRow) throws(KeychainFailure) {
        if opened.row.header.flags.contains(.tombstone) { return }
        if case .absent = try judge(opened) { return }
        throw KeychainFailure(.duplicateItem, during: operation)
    }

    /// Opens a row; nil if it is damaged.
    ///
    /// - Throws: ``KeychainFailure/Code/duplicateItem`` for a locked item: the class that is
    ///   written is open, so the locked item is another one.
    package func openIfTaken(_ row: SealedRow) throws(KeychainFailure) -> OpenedRow? {
        do {
            return try openIfSound(row)
        } catch {
            guard !row.header.flags.contains(.tombstone) else { throw error }
            throw KeychainFailure(.duplicateItem, during: operation)
        }
    }

    /// Judges whether the call may change an item, by its access control.
    package func judge(_ opened: OpenedRow) throws(KeychainFailure) -> ItemResult<Void> {
        try translating(operation) { () throws(SystemError) in
            guard let pair = opened.row.header.flags.presence,
                let accessControl = try opened.content.accessControl
            else { return .found(()) }
            let recipient = try state.cipher(opening: opened.row.header).recipients[pair]
            var access = access
            // A write must not treat an item that it may not open as absent.
            if access.rule == .skipping { access.rule = .demanding }
            return access.judge(accessControl, sealedTo: pair, of: recipient)
        }
    }
}

/// The tombstone that a new row replaces; empty without a tombstone.
package struct Predecessor {
    /// Milliseconds since 1970, with 16 more bits for the order within a millisecond.
    package let logicalTime: Int64
    /// When the item was deleted.
    package let modificationDate: Double?

    /// By default, no tombstone.
    package init(logicalTime: Int64 = 0, modificationDate: Double? = nil) {
        self.logicalTime = logicalTime
        self.modificationDate = modificationDate
    }
}

extension ItemContent {
    /// The date of the last change; nil if the content has none.
    package var modificationDate: Double? {
        guard case .date(let date)? = attributes[.modificationDate] else { return nil }
        return date
    }
}
