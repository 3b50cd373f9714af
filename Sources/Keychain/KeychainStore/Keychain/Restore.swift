// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// `valet backup verify`, `list` and `restore`: opens a backup file with its passphrase, and brings
// its items into the keychain.

/// An open backup file, before its passphrase is known.
package struct BackupFile: Sendable {
    private static let opening = "open the backup"

    private let locked: LockedBackup

    /// Reads the header of the file at `path`; "-" for standard input.
    ///
    /// - Parameter store: The keychain whose own files are refused: closing one would drop locks.
    /// - Throws: ``KeychainFailure``: `damaged` for a damaged or truncated file, or for a file that
    ///   is not a backup; `newerFormat`; `inputOutput`; `invalidRequest`.
    package init(at path: String, besides store: ItemStore) throws(KeychainFailure) {
        try store.location.refuseOwnFile(path, during: Self.opening)
        locked = try LockedBackup(path)
    }

    /// Opens the backup. Takes about a quarter of a second, and up to 1 GiB of memory.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passphrase, `damaged`,
    ///   `invalidRequest` for an empty one, `outOfMemory`.
    package func open(
        with passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> OpenedBackup {
        OpenedBackup(try locked.unlock(with: passphrase))
    }
}

/// A backup file that its passphrase has opened.
package struct OpenedBackup: Sendable {
    let reader: BackupReader

    init(_ reader: BackupReader) {
        self.reader = reader
    }

    /// The id of the keychain that the backup was made from: 32 hexadecimal digits.
    package var keychainID: String { reader.origin.keychainID.description }

    /// When the backup was made, in seconds since 2001-01-01 00:00 UTC.
    package var date: Double { Double(reader.origin.milliseconds) / 1000 - 978_307_200 }

    /// Reads the file to its end, which authenticates all of it.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`.
    package func verify() throws(KeychainFailure) -> BackupReport {
        var reading = reader.items()
        var contents = BackupReport()
        while let item = try reading.next() { contents.count(item) }
        _ = try reading.end()
        return contents
    }

    /// Reads the file to its end, and calls `body` with each item of a person, without its value,
    /// in the order of the file.
    ///
    /// - Throws: As ``verify()``. Then do not rely on the items seen so far.
    package func forEachItem(_ body: (BackedUpItem) -> Void) throws(KeychainFailure) {
        var reading = reader.items()
        while let item = try reading.next() {
            guard item.formerReason == nil, !item.isOfKeychain else { continue }
            body(
                BackedUpItem(
                    properties: item.properties, accessGroup: item.accessGroup,
                    valueByteCount: item.valueByteCount))
        }
        _ = try reading.end()
    }
}

extension OpenedBackup {
    /// What a restore would do where there is no keychain: a new one has no settings, and so the
    /// usual limit of former values.
    fileprivate func effectOnNothing() throws(KeychainFailure) -> RestoreReport {
        var reading = reader.items()
        var report = RestoreReport()
        var formerCounts: [NewItem: Int] = [:]
        while let item = try reading.next() {
            if item.formerReason != nil {
                formerCounts[item.name, default: 0] += 1
            } else if !item.isOfKeychain {
                report.addedCount += 1
            }
        }
        _ = try reading.end()
        let limit = KeychainSetting.history.usualValue
        report.formerCount = formerCounts.values.reduce(0) { $0 + min($1, limit) }
        return report
    }
}

/// An item in a backup, without its value.
package struct BackedUpItem: Sendable {
    /// Class, attributes with both dates, synchronizable flag and protection class.
    package let properties: NewItem
    package let accessGroup: AccessGroup
    /// The value's size in bytes; nil for an item without a value.
    package let valueByteCount: Int?
}

/// docs/FORMAT.md §11.4.
extension Keychain {
    private static let restoring = "restore the backup"

    /// Restores all items of a backup into the access groups that they were in, or changes nothing.
    /// Creates the keychain if necessary.
    ///
    /// Reads the file to its end first, and then again, item by item, inside one write transaction.
    /// So memory holds one item at a time, and the log grows by the size of the restored items.
    /// Other writers wait until their deadlines.
    ///
    /// Items keep the dates of the backup. An item that replaces another one takes over that one's
    /// persistent reference. An item that requires the user's presence or a password is not
    /// replaced: the report counts it.
    ///
    /// - Parameters:
    ///   - policy: The treatment of items that the keychain has already; nil refuses the whole
    ///     restore if there are any.
    ///   - isDryRun: Whether to make the restore and then to take it back.
    /// - Throws: ``KeychainFailure``: `damaged` for a damaged backup; `locked` unless all classes
    ///   that may leave the device are open; `duplicateItem` without a policy; `timedOut`,
    ///   `diskFull`, `readOnly`, … Then nothing has changed.
    package func restore(
        _ backup: OpenedBackup, _ policy: RestorePolicy?, isDryRun: Bool = false
    ) throws(KeychainFailure) -> RestoreReport {
        let expected = try backup.reader.verify()
        let body = { (access: RowTransaction) throws(KeychainFailure) in
            try translating(
                access.state.checkMigratableClasses(), during: Self.restoring)
            var pass = RestorePass(access, policy)
            return try pass.run(backup.reader, expecting: expected)
        }
        let report =
            isDryRun
            ? try store.rehearseRows(Self.restoring, body)
            : try store.writeRows(Self.restoring, creating: true, body)
        if let report { return report }
        return try backup.effectOnNothing()
    }
}

/// One pass over a backup, which brings its items into a keychain.
private struct RestorePass {
    /// What the keychain has under the primary key of an item.
    private enum Occupant {
        case nothing, damage
        case item(OpenedRow)
    }

    private let access: RowTransaction
    private let policy: RestorePolicy?
    private var report = RestoreReport()
    /// The former rows that this restore has added, by when they were kept.
    private var addedFormer: Set<Int64> = []

    init(_ access: RowTransaction, _ policy: RestorePolicy?) {
        self.access = access
        self.policy = policy
    }

    /// Restores all items of a backup that was read to its end before.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged`` if this reading differs from the first one.
    mutating func run(
        _ backup: BackupReader, expecting expected: BackupSummary
    ) throws(KeychainFailure) -> RestoreReport {
        var items = backup.items()
        while let item = try items.next() { try restore(item) }
        guard try items.end() == expected else {
            throw KeychainFailure(
                .damaged, during: access.operation,
                message: "the backup was changed while it was read", hint: "try again")
        }
        return report
    }

    private mutating func restore(_ item: BackupItem) throws(KeychainFailure) {
        // The valet in this keychain makes its own canary.
        if item.isCanary { return }
        if let reason = item.formerReason { return try restore(item, formerBecause: reason) }
        let new = indexed(item)
        switch try occupant(of: new) {
        case .nothing:
            try add(item, new)
            if !item.isOfKeychain { report.addedCount += 1 }
        case .damage:
            try add(item, new)
            report.repairedCount += 1
        case .item where item.isOfKeychain: break
        case .item(let old):
            guard let policy else {
                throw KeychainFailure(
                    .duplicateItem, during: access.operation,
                    message: "the keychain has items of the backup already")
            }
            guard policy.replaces(old.row.logicalTime, with: time(of: item), at: access.now) else {
                report.keptCount += 1
                return
            }
            // Its value cannot be opened here, so replacing it would lose it.
            guard !old.row.header.flags.isGuarded else {
                report.accessControlledCount += 1
                return
            }
            if let value = old.value, item.value?.isEqual(to: value) != true {
                _ = try access.keepWithinLimit(old.row, .changed)
            }
            try access.replace(old.row, item.kind, new, value: item.value)
            report.replacedCount += 1
        }
    }

    /// Adds a former row, unless it is there. The oldest one that this restore has added makes way
    /// for it, and nothing else: the backup has the older ones first.
    private mutating func restore(
        _ item: BackupItem, formerBecause reason: FormerReason
    ) throws(KeychainFailure) {
        let new = indexed(item)
        let limit = try access.number(of: .history)
        let present = try translating(
            access.store.formerRows(of: new.index.place, access.state.hasher),
            during: access.operation)
        for former in present where former.kept == time(of: item) {
            if try has(former, value: item.value) { return }
        }
        if present.count >= limit {
            let oldest = present.last { addedFormer.contains($0.kept) }
            guard let oldest else { return }
            try access.dropFormer(oldest.kept)
            addedFormer.remove(oldest.kept)
            report.formerCount -= 1
        }
        // In the past: what this restore keeps of the keychain is later.
        var kept = min(time(of: item), access.now.logicalTime - 1000)
        if let last = present.first(where: { addedFormer.contains($0.kept) }) {
            kept = max(kept, last.kept + 1)
        }
        kept = try access.insertFormer(
            item.properties.itemClass, item.kind, new, value: item.value, (kept, reason))
        addedFormer.insert(kept)
        report.formerCount += 1
    }

    /// Whether a former row has this value, as far as it can be opened.
    private func has(_ former: FormerRow, value: SecretValue?) throws(KeychainFailure) -> Bool {
        guard let row = former.sound, !access.state.isLocked(row.header),
            let opened = try access.openIfSound(row)
        else { return false }
        return value.map { opened.value?.isEqual(to: $0) == true } ?? (opened.value == nil)
    }

    private func occupant(of new: IndexedContent) throws(KeychainFailure) -> Occupant {
        guard let found = try access.row(new.index.place) else { return .nothing }
        guard case .row(let row) = found,
            let opened = try access.openIfSound(row)
        else { return .damage }
        // A restore brings back deleted items.
        return row.header.flags.contains(.tombstone) ? .nothing : .item(opened)
    }

    private func add(_ item: BackupItem, _ new: IndexedContent) throws(KeychainFailure) {
        let predecessor = try access.makeWay(
            for: new, item.properties.itemClass,
            isSynchronizable: item.properties.isSynchronizable)
        // The row keeps the time of the backup, so that a newer version elsewhere wins.
        var then = access
        then.now = Moment(date: access.now.date, logicalTime: time(of: item))
        _ = try then.insert(
            item.properties.itemClass, item.kind, new, value: item.value,
            after: predecessor.logicalTime)
    }

    /// The logical time at which the item was written in its own keychain, limited so that it is
    /// not negative and can be incremented.
    private func time(of item: BackupItem) -> Int64 { min(max(0, item.logicalTime), 1 << 62) }

    private func indexed(_ item: BackupItem) -> IndexedContent {
        let properties = item.properties
        var attributes = properties.attributes
        for date in [Attribute.creationDate, .modificationDate] where attributes[date] == nil {
            attributes[date] = .date(access.now.date)
        }
        let content = ItemContent(
            accessGroup: item.accessGroup, attributes: attributes,
            valueByteCount: item.valueByteCount)
        return IndexedContent(
            content,
            access.state.hasher.hashes(
                properties.itemClass, content, isSynchronizable: properties.isSynchronizable))
    }
}

extension RestorePolicy {
    /// Whether an item of the backup replaces an item of the keychain, by their logical times.
    fileprivate func replaces(_ old: Int64, with new: Int64, at now: Moment) -> Bool {
        switch self {
        case .replace: true
        case .skipExisting: false
        // A time more than a day in the future comes from a wrong clock. It proves nothing against
        // a plausible time, so the plausible one stays.
        case .keepNewer: new > old && (new <= now.latestPlausible || old > now.latestPlausible)
        }
    }
}

extension BackupItem {
    fileprivate var kind: RowKind {
        RowKind(
            protectionClass: properties.protectionClass,
            flags: properties.isSynchronizable ? .synchronizable : [])
    }
}

extension Moment {
    /// The logical time of a machine whose clock is a day ahead of this one.
    fileprivate var latestPlausible: Int64 { logicalTime + (86_400_000 << 16) }
}

/// The treatment of a restored item whose primary key is in use. Items that are not in the backup
/// always stay as they are.
package enum RestorePolicy: CaseIterable, Hashable, Sendable {
    /// The item of the backup replaces that of the keychain, whichever is newer.
    case replace
    /// The item with the later logical time stays; if the times are equal, that of the keychain. If
    /// only the backup's time is more than a day ahead of the clock, it is not trusted, and the
    /// item of the keychain stays.
    case keepNewer
    /// The item of the keychain stays.
    case skipExisting
}

/// The numbers of items that a restore has treated, or would treat, in each way.
package struct RestoreReport: Hashable, Sendable {
    /// Items that the keychain did not have.
    package var addedCount = 0
    /// Items that replaced one with the same primary key.
    package var replacedCount = 0
    /// Items of the backup that were skipped, because the keychain's item stays.
    package var keptCount = 0
    /// Items that replaced a damaged one, which was set aside.
    package var repairedCount = 0
    /// Items of the backup that were left out, because the keychain's item requires the user's
    /// presence or an application's password.
    package var accessControlledCount = 0
    /// Former values that were added.
    package var formerCount = 0
}
