// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
internal import ValetKeybag
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
package import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// docs/FORMAT.md §11.
extension ItemStore {
    private static let backingUp = "make a backup"

    /// Whether a passphrase has fewer than eight characters, as a passcode may not either.
    package static func isShort(passphrase: borrowing SecretBytes) -> Bool {
        Passcode.characterCount(of: passphrase) < Passcode.shortCharacterCount
    }

    /// Finds out, before the user is asked for a passphrase, whether a backup could be made.
    ///
    /// - Throws: As ``backUp(_:passphrase:)``, but for what only the reading of all items tells.
    package func checkBackup(_ request: BackupRequest) throws(KeychainFailure) {
        try location.refuseOwnFolder(request.path, during: Self.backingUp)
        try translating(Self.backingUp) {
            try BackupWriter.check(path: request.path, replacing: request.isReplacing)
        }
        let isThere = try perform(.read, Self.backingUp) { snapshot in
            try snapshot.state.checkMigratableClasses(during: Self.backingUp)
            return true
        }
        if isThere == nil { throw absent }
    }

    /// Writes all items that may leave the device into a file under a passphrase, of whatever
    /// owner: all that one moment had, or nothing.
    ///
    /// Puts all rows aside, sealed, in one read transaction, and goes on without it: while one is
    /// open, the log of a keychain that others write to cannot be shortened. Writers go on
    /// meanwhile. Every row is opened, so that no item is left out because an attacker changed its
    /// class or took it for deleted.
    ///
    /// - Parameter passphrase: 1 byte or more, taken as they are.
    /// - Throws: ``KeychainFailure``: `locked` unless all classes that may leave the device are
    ///   open; `damaged`, with their number, if items are and the request does not skip them;
    ///   `itemNotFound` without a keychain; `invalidRequest` for a file that is there and not to
    ///   be replaced, for one that cannot be, and for an empty passphrase; `inputOutput`,
    ///   `diskFull`, `outOfMemory`.
    package func backUp(
        _ request: BackupRequest, passphrase: borrowing SecretBytes
    ) throws(KeychainFailure) -> BackupReport {
        try checkBackup(request)
        let operation = Self.backingUp
        let cost = if let cost = request.cost { cost } else { try Self.calibratedCost(operation) }
        let milliseconds = now.logicalTime >> 16
        let report = try perform(.read, operation) { snapshot in
            let state = snapshot.state
            try state.checkMigratableClasses(during: operation)
            let rows = try RowSpool(
                copying: snapshot.store, folders: request.spoolFolders(beside: location))
            snapshot.end()
            let origin = BackupOrigin(
                keychainID: state.keychainID, milliseconds: milliseconds)
            let writer = try BackupWriter(
                to: request.path, replacing: request.isReplacing, origin: origin,
                passphrase: passphrase, cost: cost)
            return try BackupPass(writer, state).run(rows, skippingDamaged: request.skipsDamaged)
        }
        guard let report else { throw absent }
        return report
    }

    private var absent: KeychainFailure {
        KeychainFailure(
            .itemNotFound, during: Self.backingUp, message: "there is no keychain yet",
            path: location.folder)
    }

    private static func calibratedCost(
        _ operation: String
    ) throws(KeychainFailure) -> Argon2Cost {
        do throws(SealingError) {
            return try PassphraseKDF.calibratedCost(
                memoryByteCount: MachineMemory.usableByteCount, on: ThreadTimeClock())
        } catch {
            throw KeychainFailure(.outOfMemory, during: operation)
        }
    }
}

/// Goes through all rows and puts into a backup what may go there.
private struct BackupPass: ~Copyable {
    private enum Fate {
        case item(BackupItem)
        case tombstone, thisDeviceOnly, accessControlled, damaged
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
    /// - Throws: ``KeychainFailure/Code/damaged``, after all rows were looked at.
    consuming func run(
        _ rows: RowSpool, skippingDamaged skips: Bool
    ) throws -> BackupReport {
        while let row = try rows.next() {
            switch try fate(of: row) {
            case .item(let item):
                // What cannot be finished is read on only to count what is damaged.
                if skips || report.damagedCount == 0 { try writer.append(item) }
                report.itemCount += 1
            case .tombstone: break
            case .thisDeviceOnly: report.thisDeviceOnlyCount += 1
            case .accessControlled: report.accessControlledCount += 1
            case .damaged: report.damagedCount += 1
            }
        }
        let report = report
        guard skips || report.damagedCount == 0 else { throw Self.refusal(report.damagedCount) }
        _ = try writer.finish()
        return report
    }

    private func fate(of found: FoundRow) throws -> Fate {
        guard case .row(let row) = found else { return .damaged }
        return try unlessDamaged { try fate(of: row) } ?? .damaged
    }

    private func fate(of row: SealedRow) throws -> Fate {
        let header = row.header
        let cipher = try state.cipher(opening: header)
        let content = try cipher.openContent(row)
        if header.flags.contains(.tombstone) { return .tombstone }
        if header.protectionClass.isThisDeviceOnly { return .thisDeviceOnly }
        if header.flags.isGuarded { return .accessControlled }
        var value: SecretValue?
        if let secret = row.secret {
            value = try cipher.openValue(ValueParts(row), secret.span)
            guard value?.byteCount == content.valueByteCount else { throw RowFailure.content }
        }
        // An access control that demands nothing adds nothing to the class.
        let attributes = content.attributes.filter { $0.key != .accessControl }
        let properties = NewItem(
            header.itemClass, attributes: attributes, accessGroup: content.accessGroup,
            isSynchronizable: header.flags.contains(.synchronizable),
            protectionClass: header.protectionClass)
        return .item(try BackupItem(properties, logicalTime: row.logicalTime, value: value))
    }

    private static func refusal(_ count: Int) -> KeychainFailure {
        let items = count == 1 ? "1 item is" : "\(count) items are"
        return KeychainFailure(
            .damaged, during: "make a backup", message: "\(items) damaged",
            hint: "`valet doctor` says more; `--skip-damaged` leaves damaged items out")
    }
}

extension BackupRequest {
    /// Where rows are put aside that are too many for memory: beside the keychain if that has room
    /// for them, else beside the backup, which needs as much.
    fileprivate func spoolFolders(beside location: KeychainLocation) -> [String] {
        let slash = path.lastIndex(of: "/")
        let beside = slash.map { String(path[...$0]) } ?? "."
        guard let directory = try? PrivateDirectory.open(location.folder, creating: false) else {
            return [beside]
        }
        let log = try? directory.check(file: KeychainFile.database + "-wal")
        let database = try? directory.check(file: KeychainFile.database)
        let needed = (database?.byteCount ?? 0) + (log?.byteCount ?? 0)
        let room = (try? directory.availableByteCount()) ?? 0
        return room > 2 * Int(needed) ? [directory.path, beside] : [beside, directory.path]
    }
}

extension RowKeys {
    /// Checks that every class is open whose items may leave the device.
    ///
    /// - Throws: ``KeychainFailure/Code/locked``.
    func checkMigratableClasses(during operation: String) throws {
        for protectionClass in ProtectionClass.allCases where !protectionClass.isThisDeviceOnly {
            _ = try cipher(protectionClass, during: operation)
        }
    }
}

/// Where a backup is to go, and what is asked of it.
package struct BackupRequest: Sendable {
    /// The file; its folder must exist and must not be one of the keychain's own.
    package let path: String
    /// Whether it may take the place of a file that is there.
    package var isReplacing = false
    /// Whether damaged items are left out; else they keep the backup from being made.
    package var skipsDamaged = false
    /// What a guess of the passphrase will cost; nil for what this machine can bear.
    package var cost: Argon2Cost?

    /// A backup in a new file, which has every item that may leave the device.
    package init(path: String) {
        self.path = path
    }
}

/// What a backup holds, and what it does not.
package struct BackupReport: Hashable, Sendable {
    /// The items in it.
    package var itemCount = 0
    /// Items that are left out because they may not leave the device.
    package var thisDeviceOnlyCount = 0
    /// Items that are left out because a person has to allow each use of them.
    package var accessControlledCount = 0
    /// Items that are left out because they are damaged.
    package var damagedCount = 0
}
