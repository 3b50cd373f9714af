// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// A backup file that is open, and whose passphrase has not been given yet.
package struct BackupFile: Sendable {
    private static let opening = "open the backup"

    private let locked: LockedBackup

    /// Reads the head of the file at `path`.
    ///
    /// - Parameter store: Whose own files are refused: closing one would drop locks.
    /// - Throws: ``KeychainFailure``: `damaged` for what is damaged, truncated or no backup;
    ///   `newerFormat`; `inputOutput`; `invalidRequest`.
    package init(at path: String, besides store: ItemStore) throws(KeychainFailure) {
        try store.location.refuseOwnFile(path, during: Self.opening)
        locked = try translating(Self.opening) { try LockedBackup(path) }
    }

    /// Opens the backup; takes a quarter of a second or so, and up to 1 GiB of memory.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passphrase, `damaged`,
    ///   `invalidRequest` for an empty one, `outOfMemory`.
    package func open(
        with passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> OpenedBackup {
        do throws(BackupError) {
            return OpenedBackup(try locked.unlock(with: passphrase))
        } catch {
            throw KeychainFailure(error, during: Self.opening)
        }
    }
}

/// A backup file that its passphrase has opened.
package struct OpenedBackup: Sendable {
    private static let reading = "read the backup"

    let reader: BackupReader

    init(_ reader: BackupReader) {
        self.reader = reader
    }

    /// 32 hexadecimal digits that name the keychain it was made from.
    package var keychainID: String { reader.origin.keychainID.description }

    /// When it was made, in seconds since 2001-01-01 00:00 UTC.
    package var date: Double { Double(reader.origin.milliseconds) / 1000 - 978_307_200 }

    /// Reads the file to its end.
    ///
    /// - Returns: How many items it has.
    /// - Throws: ``KeychainFailure``: `damaged`, `inputOutput`.
    package func verify() throws(KeychainFailure) -> Int {
        try translating(Self.reading) { Int(clamping: try reader.verify().itemCount) }
    }

    /// Reads the file to its end and gives all items without their values, in its order.
    ///
    /// - Throws: As ``verify()``; what was given until then is not to be relied on.
    package func forEachItem(_ body: (BackedUpItem) -> Void) throws(KeychainFailure) {
        try translating(Self.reading) {
            var reading = reader.items()
            while let item = try reading.next() {
                body(
                    BackedUpItem(
                        properties: item.properties, accessGroup: item.accessGroup,
                        valueByteCount: item.value?.byteCount))
            }
            _ = try reading.end()
        }
    }
}

/// An item in a backup, without its value.
package struct BackedUpItem: Sendable {
    /// Class, attributes with both dates, synchronizable flag and protection class.
    package let properties: NewItem
    /// The group that the item is in.
    package let accessGroup: AccessGroup
    /// The value's size in bytes; nil for an item without a value.
    package let valueByteCount: Int?
}

/// docs/FORMAT.md §11.4.
extension ItemStore {
    private static let restoring = "restore the backup"

    /// Brings the items of a backup into the keychain, which is created if necessary: all of them,
    /// into the groups that they were in, or nothing.
    ///
    /// The file is read to its end before anything else is done, and again, item by item, inside
    /// one write transaction. So memory holds one item at a time, and the log grows by what is
    /// restored; other writers wait, until their deadlines.
    ///
    /// Dates stay as they are in the backup. An item that takes the place of another keeps that
    /// one's persistent reference.
    ///
    /// - Parameter isDryRun: Whether to say only what would be done.
    /// - Throws: ``KeychainFailure``: `damaged` if the backup is; `locked` unless all classes that
    ///   may leave the device are open; `timedOut`, `diskFull`, `readOnly`, …; nothing is changed
    ///   then.
    package func restore(
        _ backup: OpenedBackup, _ policy: RestorePolicy, isDryRun: Bool = false
    ) throws(KeychainFailure) -> RestoreReport {
        let expected = try translating(Self.restoring) { try backup.reader.verify() }
        let report = try perform(isDryRun ? .write : .create, Self.restoring) { access in
            try access.state.checkMigratableClasses(during: Self.restoring)
            var pass = RestorePass(access, policy, isDryRun: isDryRun)
            return try pass.run(backup.reader, expecting: expected)
        }
        if let report { return report }
        return RestoreReport(addedCount: Int(clamping: expected.itemCount))
    }
}

/// Goes through a backup and brings its items into a keychain.
private struct RestorePass {
    /// What has the primary key of an item.
    private enum Occupant {
        case nothing, damage
        case item(OpenedRow)
    }

    private let access: RowTransaction
    private let policy: RestorePolicy
    private let isDryRun: Bool
    private var report = RestoreReport()

    init(_ access: RowTransaction, _ policy: RestorePolicy, isDryRun: Bool) {
        self.access = access
        self.policy = policy
        self.isDryRun = isDryRun
    }

    /// Restores all items of a backup that was read to its end once.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged`` if it is not what was read then.
    mutating func run(
        _ backup: BackupReader, expecting expected: BackupSummary
    ) throws -> RestoreReport {
        var items = backup.items()
        while let item = try items.next() { try restore(item) }
        guard try items.end() == expected else {
            throw KeychainFailure(
                .damaged, during: access.operation,
                message: "the backup was changed while it was read", hint: "try again")
        }
        return report
    }

    private mutating func restore(_ item: BackupItem) throws {
        let new = indexed(item)
        switch try occupant(of: new, item) {
        case .nothing:
            try add(item, new)
            report.addedCount += 1
        case .damage:
            try add(item, new)
            report.repairedCount += 1
        case .item(let old):
            guard policy.replaces(old.row.logicalTime, with: time(of: item), at: access.now) else {
                report.keptCount += 1
                return
            }
            if !isDryRun { try access.replace(old.row, item.kind, new, value: item.value) }
            report.replacedCount += 1
        }
    }

    private func occupant(of new: IndexedContent, _ item: BackupItem) throws -> Occupant {
        let properties = item.properties
        let found = try access.row(
            of: new, properties.itemClass, isSynchronizable: properties.isSynchronizable)
        guard let found else { return .nothing }
        guard case .row(let row) = found,
            let opened = try unlessDamaged({ try access.open(row) })
        else { return .damage }
        // A restore brings back what was deleted.
        return row.header.flags.contains(.tombstone) ? .nothing : .item(opened)
    }

    private func add(_ item: BackupItem, _ new: IndexedContent) throws {
        guard !isDryRun else { return }
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

    /// When an item was written, by the keychain that it came from: at least 0, and small enough to
    /// be counted up from.
    private func time(of item: BackupItem) -> Int64 { min(max(0, item.logicalTime), 1 << 62) }

    private func indexed(_ item: BackupItem) -> IndexedContent {
        let properties = item.properties
        var attributes = properties.attributes
        for date in [Attribute.creationDate, .modificationDate] where attributes[date] == nil {
            attributes[date] = .date(access.now.date)
        }
        let content = ItemContent(
            accessGroup: item.accessGroup, attributes: attributes,
            valueByteCount: item.value?.byteCount)
        return IndexedContent(
            content,
            access.state.hasher.hashes(
                properties.itemClass, content, isSynchronizable: properties.isSynchronizable))
    }
}

extension RestorePolicy {
    /// Whether an item of the backup takes the place of one that is there, by their logical times.
    fileprivate func replaces(_ old: Int64, with new: Int64, at now: Moment) -> Bool {
        switch self {
        case .replace: true
        case .skipExisting: false
        // A time that no clock here can have written tells nothing beside one that it can: a clock
        // was wrong, and there is no telling when.
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

/// What a restore does with an item whose primary key is in use.
///
/// Whatever it is, items that are not in the backup stay as they are.
package enum RestorePolicy: CaseIterable, Hashable, Sendable {
    /// The one of the backup takes the place of the other, whichever is newer.
    case replace
    /// The one that was written last stays, by the logical times of their rows; of two equal ones
    /// that of the keychain. Where only the backup's is more than a day ahead of the clock, nobody
    /// knows, and that of the keychain stays.
    case keepNewer
    /// The one of the keychain stays.
    case skipExisting
}

/// What a restore did, or would do.
package struct RestoreReport: Hashable, Sendable {
    /// Items that were not there.
    package var addedCount = 0
    /// Items that took the place of one with their primary key.
    package var replacedCount = 0
    /// Items that gave way to the one that is there.
    package var keptCount = 0
    /// Items that took the place of a damaged one, which is in quarantine now.
    package var repairedCount = 0
}
