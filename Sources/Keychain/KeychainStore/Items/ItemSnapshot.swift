// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

/// A change of an item between two looks at a keychain, with the watcher's note of the item.
package enum ItemChange<Note: Sendable>: Sendable {
    case added(Note)
    /// Its value or an attribute was written.
    case changed(Note)
    /// - Parameter note: nil for an item that could never be read.
    case removed(Note?)
}

/// The items of all applications, as a watcher has seen them last.
package struct ItemSnapshot<Note: Sendable>: Sendable {
    fileprivate struct Seen: Sendable {
        let salt: Int64
        /// Rises with every write, but not when an item is only sealed under other keys.
        let logicalTime: Int64
        /// nil for an item that could not be opened yet, or does not matter.
        let note: Note?
        var isOpened = true
        /// Whether the watcher knows of it.
        var isTold = true

        func isSameWrite(as row: SealedRow) -> Bool {
            salt == row.header.salt && logicalTime == row.logicalTime
        }
    }

    /// By the number of the row. After the item's deletion another item may get the number.
    fileprivate var items: [Int64: Seen] = [:]
    fileprivate var hasBegun = false

    package init() {}
}

extension ItemStore {
    /// The changes since the last look; none at the first look. Opens the attributes of written
    /// items alone: watching does not count as use of the keys, and keeps no keychain unlocked. A
    /// locked item is reported once it can be read. Damage of an item is no change of it.
    ///
    /// - Parameter note: What the watcher keeps of an item; nil to ignore the item.
    /// - Throws: Any failure of the keychain itself; the snapshot is then unchanged.
    package func changes<Note>(
        since snapshot: inout ItemSnapshot<Note>, noting note: @escaping (StoredItem) -> Note?
    ) throws(KeychainFailure) -> [ItemChange<Note>] {
        var look = Look(before: snapshot, note: note)
        var walk = walkEverything()
        while !walk.isAtEnd {
            _ = try step(of: &walk, "watch the keychain") {
                (found, state) throws(KeychainFailure) in
                let state = state.withoutUse
                for row in found.flatMap(\.rows) { try look.see(row, state) }
            }
        }
        snapshot.items = look.items
        snapshot.hasBegun = true
        return look.removed() + look.changes
    }
}

/// One look at all rows.
private struct Look<Note: Sendable> {
    typealias Seen = ItemSnapshot<Note>.Seen

    let before: ItemSnapshot<Note>
    let note: (StoredItem) -> Note?
    private(set) var items: [Int64: Seen] = [:]
    private(set) var changes: [ItemChange<Note>] = []

    init(before: ItemSnapshot<Note>, note: @escaping (StoredItem) -> Note?) {
        (self.before, self.note) = (before, note)
    }

    mutating func see(_ found: FoundRow, _ state: RowKeys) throws(KeychainFailure) {
        let number = found.number
        guard case .row(let row) = found else { return items[number] = before.items[number] }
        guard !row.header.flags.contains(.tombstone) else { return }
        let old = before.items[number].flatMap { $0.salt == row.header.salt ? $0 : nil }
        if let old, old.isOpened, old.isSameWrite(as: row) {
            items[number] = old
            return
        }
        do throws(SystemError) {
            let new = Seen(
                salt: row.header.salt, logicalTime: row.logicalTime,
                note: try open(row, state).flatMap(note))
            items[number] = new
            report(old, new)
        } catch {
            guard error.code == .lockedRow || error.isDamage else {
                throw KeychainFailure(error, during: "watch the keychain")
            }
            // A changed salt is damage, too: it does not make the row that of another item.
            items[number] =
                (error.isDamage ? before.items[number] : old)
                ?? Seen(
                    salt: row.header.salt, logicalTime: row.logicalTime, note: nil,
                    isOpened: false, isTold: !before.hasBegun)
        }
    }

    /// - Returns: nil for an item that is the keychain's own.
    private func open(_ row: SealedRow, _ state: RowKeys) throws(SystemError) -> StoredItem? {
        let opener = RowOpener(
            query: ItemQuery(row.header.itemClass, synchronizable: .any), parts: .attributes,
            state: state, access: PresenceAccess(.naming, enrolment: .known([])))
        guard case .found(let item) = try opener.open(row), !item.accessGroup.isOfKeychain
        else { return nil }
        return item
    }

    private mutating func report(_ old: Seen?, _ new: Seen) {
        guard before.hasBegun else { return }
        switch (old?.note, new.note) {
        case (nil, nil): break
        case (let note?, nil): changes.append(.removed(note))
        case (nil, let note?):
            guard let old, !old.isOpened, old.isTold else { return changes.append(.added(note)) }
            if old.logicalTime != new.logicalTime { changes.append(.changed(note)) }
        case (_?, let note?): changes.append(.changed(note))
        }
    }

    func removed() -> [ItemChange<Note>] {
        before.items.compactMap { number, old in
            guard items[number]?.salt != old.salt, old.note != nil || !old.isOpened, old.isTold
            else { return nil }
            return .removed(old.note)
        }
    }
}
