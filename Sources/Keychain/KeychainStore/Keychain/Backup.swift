// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// `valet backup create`: writes all items that may leave the device into one encrypted file
/// (docs/FORMAT.md §11). The folder `Backup` has the file format.
extension Keychain {
    fileprivate static let backingUp = "make a backup"

    /// Whether a passphrase has fewer than eight characters: the minimum for passcodes, too.
    package static func isShort(passphrase: borrowing SecretBytes) -> Bool {
        Passcode.characterCount(of: passphrase) < Passcode.shortCharacterCount
    }

    /// Checks whether a backup is possible, before the command asks the user for a passphrase.
    ///
    /// - Throws: As ``backUp(_:passphrase:)``, except errors that only reading all items can find.
    package func checkBackup(_ request: BackupRequest) throws(KeychainFailure) {
        if request.path != "-" {
            try store.location.refuseOwnFolder(request.path, during: Self.backingUp)
        }
        try BackupWriter.check(path: request.path, replacing: request.isReplacing)
        let isThere = try store.readRows(Self.backingUp) { (snapshot) throws(KeychainFailure) in
            try translating(
                snapshot.state.checkMigratableClasses(), during: Self.backingUp)
            return true
        }
        if isThere == nil { throw absent }
    }

    /// Writes the items of all applications that may leave the device into a file, sealed under a
    /// passphrase. The file has the items of one moment, or is not made.
    ///
    /// Copies all rows, sealed, to a spool in one read transaction, and then works on the spool. So
    /// writers need not wait, and SQLite can reset the write-ahead log, which an open read
    /// transaction would prevent. Opens every row: otherwise an attacker could hide an item from
    /// the backup by changing its class or marking it as deleted.
    ///
    /// - Parameter passphrase: At least 1 byte. Every byte counts.
    /// - Throws: ``KeychainFailure``: `locked` unless all classes that may leave the device are
    ///   open; `damaged`, with the numbers of damaged items and former values, unless the request
    ///   skips them;
    ///   `itemNotFound` without a keychain; `invalidRequest` for an existing file that the request
    ///   does not replace, or that cannot be replaced, and for an empty passphrase; `inputOutput`,
    ///   `diskFull`, `outOfMemory`.
    package func backUp(
        _ request: BackupRequest, passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> BackupReport {
        try checkBackup(request)
        let operation = Self.backingUp
        let cost = if let cost = request.cost { cost } else { try Self.calibratedCost(operation) }
        let milliseconds = store.now.logicalTime >> 16
        let copied = try store.readRows(operation) {
            (snapshot) throws(KeychainFailure) -> (RowSpool, RowKeys, Int) in
            let state = snapshot.state
            return try translating(operation) { () throws(SystemError) in
                try state.checkMigratableClasses()
                let rows = try RowSpool(
                    copying: snapshot.store, state.hasher,
                    folders: request.spoolFolders(beside: store.location))
                return (rows, state, try state.unshownCount(snapshot.store))
            }
        }
        guard let (rows, state, unshownCount) = copied else { throw absent }
        // If the keychain was replaced, the read alone is made again. What follows is made once.
        let origin = BackupOrigin(keychainID: state.keychainID, milliseconds: milliseconds)
        let writer = try BackupWriter(
            to: request.path, replacing: request.isReplacing, origin: origin,
            passphrase: passphrase, cost: cost)
        var report = try BackupPass(writer, state).run(
            rows, skippingDamaged: request.skipsDamaged)
        report.unshownCount = unshownCount
        return report
    }

    private var absent: KeychainFailure {
        KeychainFailure(
            .itemNotFound, during: Self.backingUp, message: "there is no keychain yet",
            path: store.location.folder)
    }

    private static func calibratedCost(
        _ operation: String
    ) throws(KeychainFailure) -> Argon2Cost {
        do {
            return try PasscodeStretching.calibrated.cost()
        } catch {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
    }
}

/// One pass over all rows, which writes the items that belong in a backup.
private struct BackupPass: ~Copyable {
    private enum Fate {
        case item(NewItem, logicalTime: Int64, SecretValue?)
        case none, thisDeviceOnly, accessControlled, damaged
    }

    private var writer: BackupWriter
    private let state: RowKeys
    private var report = BackupReport()

    init(_ writer: consuming BackupWriter, _ state: RowKeys) {
        self.writer = writer
        self.state = state
    }

    /// Writes the backup.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged``, after all rows have been counted.
    consuming func run(
        _ rows: RowSpool, skippingDamaged skips: Bool
    ) throws(KeychainFailure) -> BackupReport {
        while let (row, former) = try translating(rows.next(), during: Keychain.backingUp) {
            switch try translating(fate(of: row), during: Keychain.backingUp) {
            case .item(let properties, let logicalTime, let value):
                guard BackupItem.holds(properties) else {
                    if skips {
                        report.countDamaged(isFormer: former != nil)
                        continue
                    }
                    throw KeychainFailure(
                        .valueTooLarge, during: Keychain.backingUp,
                        message: "the attributes of an item have more than 16 MiB",
                        hint: "`--skip-damaged` leaves such items out")
                }
                let item = try BackupItem(
                    properties, logicalTime: former?.kept ?? logicalTime, value: value,
                    former: former?.reason)
                // After a damaged row the backup fails; the rest is read only to count the damage.
                if skips || !report.hasDamage { try writer.append(item) }
                report.count(item)
            case .none: break
            case .thisDeviceOnly: if former == nil { report.thisDeviceOnlyCount += 1 }
            case .accessControlled: if former == nil { report.accessControlledCount += 1 }
            case .damaged: report.countDamaged(isFormer: former != nil)
            }
        }
        var report = report
        guard skips || !report.hasDamage else { throw Self.refusal(report) }
        report.warning = try writer.finish().warning
        return report
    }

    private func fate(of found: FoundRow) throws(SystemError) -> Fate {
        guard case .row(let row) = found else { return .damaged }
        return try unlessDamaged { () throws(SystemError) in try fate(of: row) } ?? .damaged
    }

    private func fate(of row: SealedRow) throws(SystemError) -> Fate {
        let header = row.header
        let cipher = try state.cipher(opening: header)
        let content = try cipher.openContent(row)
        let isOwn = content.accessGroup.isOfKeychain && header.protectionClass.isThisDeviceOnly
        let isCanary = ServiceName.isCanary(header.itemClass, content.attributes)
        if header.flags.contains(.tombstone) || isOwn || isCanary { return .none }
        if header.protectionClass.isThisDeviceOnly { return .thisDeviceOnly }
        if header.flags.isGuarded { return .accessControlled }
        var value: SecretValue?
        if let secret = row.secret {
            let sealed = try cipher.openValue(ValueParts(row), secret.span)
            _ = try content.value(sealedAs: sealed)
            value = sealed
        }
        // An access control without conditions adds nothing to the protection class.
        let attributes = content.attributes.filter { $0.key != .accessControl }
        let properties = NewItem(
            header.itemClass, attributes: attributes, accessGroup: content.accessGroup,
            isSynchronizable: header.flags.contains(.synchronizable),
            protectionClass: header.protectionClass)
        return .item(properties, logicalTime: row.logicalTime, value)
    }

    private static func refusal(_ report: BackupReport) -> KeychainFailure {
        let items = report.damagedCount == 1 ? "1 item" : "\(report.damagedCount) items"
        let former =
            report.damagedFormerCount == 1
            ? "1 former value" : "\(report.damagedFormerCount) former values"
        let count = report.damagedCount + report.damagedFormerCount
        let what = [
            report.damagedCount > 0 ? items : "", report.damagedFormerCount > 0 ? former : "",
        ].filter { !$0.isEmpty }.joined(separator: " and ")
        return KeychainFailure(
            .damaged, during: "make a backup",
            message: "\(what) \(count == 1 ? "is" : "are") damaged",
            hint: "`valet doctor` says more; `--skip-damaged` leaves out what is damaged")
    }
}

extension BackupRequest {
    /// The folders for a spool that is too large for memory: the keychain's if its disk has room,
    /// else the backup's, which needs as much room anyway.
    fileprivate func spoolFolders(beside location: KeychainLocation) -> [String] {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let beside =
            slash.map { String(path[..<path.utf8.index(after: $0)]) }
            ?? (path == "-" ? "/var/tmp" : ".")
        guard let directory = try? PrivateDirectory.open(location.folder, creating: false) else {
            return [beside]
        }
        let log = try? directory.check(file: KeychainFile.database + "-wal")
        let database = try? directory.check(file: KeychainFile.database)
        // Requires room for twice the size of both, but halves the room instead: doubling the size
        // of a sparse file could overflow.
        let needed = [database, log].map { UInt64(clamping: $0?.byteCount ?? 0) }.reduce(0, +)
        let room = (try? directory.availableByteCount()) ?? 0
        return UInt64(clamping: room) / 2 > needed
            ? [directory.path, beside] : [beside, directory.path]
    }
}

extension RowKeys {
    /// Checks that all classes are open whose items may leave the device.
    ///
    /// - Throws: ``SystemError``: `lockedRow`.
    func checkMigratableClasses() throws(SystemError) {
        for protectionClass in ProtectionClass.allCases where !protectionClass.isThisDeviceOnly {
            _ = try cipher(protectionClass)
        }
    }
}

/// The destination and the options of a backup.
package struct BackupRequest: Sendable {
    /// The file; its folder must exist and must not be one of the keychain's own. "-" for standard
    /// output.
    package let path: String
    /// Whether to replace an existing file.
    package var isReplacing = false
    /// Whether to leave damaged items out. If false, a damaged item makes the backup fail.
    package var skipsDamaged = false
    /// The Argon2 cost of the passphrase; nil for the cost that is calibrated on this machine.
    package var cost: Argon2Cost?

    /// A backup of every item that may leave the device, in a new file.
    package init(path: String) {
        self.path = path
    }
}

/// The number of items that a backup contains, and of those that it leaves out.
package struct BackupReport: Hashable, Sendable {
    package var itemCount = 0
    /// Former values in the backup.
    package var formerCount = 0
    /// Items left out because they may not leave the device.
    package var thisDeviceOnlyCount = 0
    /// Items left out because they require the user's presence or an application's password.
    package var accessControlledCount = 0
    /// Items left out because they are damaged.
    package var damagedCount = 0
    /// Former values left out because they are damaged.
    package var damagedFormerCount = 0
    /// Values left out because sync keeps them and no item shows them, such as conflicts.
    package var unshownCount = 0
    /// Why a power cut may take the name of the finished file away.
    package var warning: KeychainFailure?

    var hasDamage: Bool { damagedCount + damagedFormerCount > 0 }

    mutating func countDamaged(isFormer: Bool) {
        if isFormer { damagedFormerCount += 1 } else { damagedCount += 1 }
    }

    /// Counts what is in the backup. The keychain's own items are not a person's.
    mutating func count(_ item: BackupItem) {
        if item.formerReason != nil {
            formerCount += 1
        } else if !item.isOfKeychain {
            itemCount += 1
        }
    }
}
