// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
package import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// docs/FORMAT.md §11.4.
extension ItemStore {
    private static let restoring = "restore the backup"

    /// Brings the items of a backup into the keychain, which is created if there is none: all of
    /// them, into the groups that they were in, or nothing.
    ///
    /// The file is read to its end before anything else is done, and again, item by item, inside
    /// one write transaction. So memory holds one item at a time, and the log grows by what is
    /// restored; other writers wait meanwhile, until their deadlines.
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
        let report = try writing(Self.restoring, creating: !isDryRun) {
            (access) throws(KeychainFailure) in
            try access.state.checkMigratableClasses(during: Self.restoring)
            return try translating(Self.restoring) {
                var pass = RestorePass(access, policy, isDryRun: isDryRun)
                return try pass.run(backup.reader, expecting: expected)
            }
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

    private let access: WriteAccess
    private let policy: RestorePolicy
    private let isDryRun: Bool
    private var report = RestoreReport()

    init(_ access: WriteAccess, _ policy: RestorePolicy, isDryRun: Bool) {
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
        // It is as old as it was in the backup, so that it gives way to what is newer elsewhere.
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
        // was wrong, and nobody knows when that was.
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

    fileprivate init(date: Double, logicalTime: Int64) {
        self.date = date
        self.logicalTime = logicalTime
    }
}
