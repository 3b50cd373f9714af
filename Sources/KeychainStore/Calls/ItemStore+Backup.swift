// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
internal import ValetKeybag
package import ValetKeychainModel
internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// docs/FORMAT.md §11.
extension ItemStore {
    private static let backingUp = "make a backup"

    /// Whether a passphrase has fewer than eight characters, as a passcode may not either.
    package static func isShort(passphrase: borrowing SecretBytes) -> Bool {
        Passcode.characterCount(of: passphrase) < Passcode.shortCharacterCount
    }

    /// Finds out, before anybody is asked for a passphrase, whether a backup could be made.
    ///
    /// - Throws: As ``backUp(_:passphrase:)``, but for what only the reading of all items tells.
    package func checkBackup(_ request: BackupRequest) throws(KeychainFailure) {
        try location.refuseOwnFolder(request.path, during: Self.backingUp)
        try translating(Self.backingUp) {
            try BackupWriter.check(path: request.path, replacing: request.isReplacing)
        }
        let isThere = try reading(Self.backingUp) { (engine, deadline) throws(KeychainFailure) in
            try engine.read(Self.backingUp, deadline) { (_, state) throws(KeychainFailure) in
                try state.checkMigratableClasses(during: Self.backingUp)
                return true
            }
        }
        if isThere == nil { throw absent }
    }

    /// Writes all items that may leave the device into a file under a passphrase, of whatever
    /// owner: all that one moment had, or nothing.
    ///
    /// Puts all rows aside, sealed, in one read transaction, and goes on without it: while one is
    /// open, the log of a keychain that others write to cannot be shortened. Writers go on
    /// meanwhile. Every row is opened, so that none is left out because somebody changed its class
    /// or took it for deleted.
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
        let report = try reading(operation) { (engine, deadline) throws(KeychainFailure) in
            let (state, rows) = try engine.read(operation, deadline) {
                (store, state) throws(KeychainFailure) in
                try state.checkMigratableClasses(during: operation)
                return try translating(operation) {
                    (state, try RowSpool(copying: store, folders: engine.spoolFolders(request)))
                }
            }
            return try translating(operation) {
                let origin = BackupOrigin(
                    keychainID: state.settings.keychainID, milliseconds: milliseconds)
                let writer = try BackupWriter(
                    to: request.path, replacing: request.isReplacing, origin: origin,
                    passphrase: passphrase, cost: cost)
                return try BackupPass(writer, state).run(
                    rows, skippingDamaged: request.skipsDamaged)
            }
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
    private let state: KeychainState
    private var report = BackupReport()

    init(_ writer: consuming BackupWriter, _ state: KeychainState) {
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

extension Engine {
    /// Where rows are put aside that are too many for memory: beside the keychain if that has room
    /// for them, else beside the backup, which needs as much.
    fileprivate func spoolFolders(_ request: BackupRequest) -> [String] {
        let slash = request.path.lastIndex(of: "/")
        let beside = slash.map { String(request.path[...$0]) } ?? "."
        let log = try? directory.check(file: KeychainLocation.databaseName + "-wal")
        let database = try? directory.check(file: KeychainLocation.databaseName)
        let needed = (database?.byteCount ?? 0) + (log?.byteCount ?? 0)
        let room = (try? directory.availableByteCount()) ?? 0
        return room > 2 * Int(needed) ? [directory.path, beside] : [beside, directory.path]
    }
}

extension KeychainState {
    /// Checks that every class is open whose items may leave the device.
    ///
    /// - Throws: ``KeychainFailure/Code/locked``.
    func checkMigratableClasses(during operation: String) throws(KeychainFailure) {
        for protectionClass in ProtectionClass.allCases where !protectionClass.isThisDeviceOnly {
            _ = try cipher(protectionClass, during: operation)
        }
    }
}

/// What `body` gives; nil if a row that it opens is damaged. Any other error is one.
func unlessDamaged<R>(_ body: () throws -> R) throws -> R? {
    do {
        return try body()
    } catch let failure as RowFailure {
        guard failure.isDamage else { throw failure }
        return nil
    }
}
