// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
package import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem
internal import ValetTPM

extension ItemStore {
    private static let inspecting = "read the keychain's status"

    /// What there is to know about the keychain; creates nothing, opens no item.
    ///
    /// A keychain that is incomplete or whose key is missing has a status, too.
    /// - Throws: ``KeychainFailure`` if the files cannot be read.
    package func status() throws(KeychainFailure) -> KeychainStatus {
        var status = KeychainStatus(
            state: .absent, folder: location.folder, isReadOnly: false)
        do throws(KeychainFailure) {
            _ = try reading(Self.inspecting) { (engine, deadline) throws(KeychainFailure) in
                var doubts = EpochDoubts()
                while try !engine.describe(deadline, in: &status, &doubts) {
                    try engine.awaitChange(Self.inspecting, deadline, &doubts)
                }
            }
        } catch {
            switch error.code {
            case .incomplete: status.state = .incomplete
            case .keyUnavailable: status.state = .keyUnavailable
            default: throw error
            }
        }
        if status.deviceKeySource == .tpm { status.tpm = try? tpmSummary() }
        return status
    }
}

extension Engine {
    /// Fills in what is known without a key, then tries the key.
    ///
    /// - Returns: Whether that was all: not while the epoch changes, nor before the TPM was asked.
    fileprivate func describe(
        _ deadline: Deadline, in status: inout KeychainStatus, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> Bool {
        status.isReadOnly = directory.isReadOnly
        var facts = status
        let opened = try withReader(deadline) { (store) throws(KeychainFailure) in
            try translating("read the keychain's status") {
                let transaction = try ReadTransaction(on: store.connection)
                let known = try currentFacts(store)
                let (settings, locked) = (known.settings, known.newest)
                facts.keychainID = settings.keychainID.description
                facts.formatVersion = Int(settings.format)
                facts.epoch = settings.epoch.rawValue
                try describe(locked, in: &facts)
                try facts.count(in: store.connection, hasPasscode: known.lockState != nil)
                facts.fileByteCount = try byteCount()
                facts.isRotating = known.older != nil
                facts.recoveryPublicKey = try known.newest.recoveryPublicKey?.bytes
                facts.isErasePending = try isErasePending()
                facts.lockStateProvider = known.lockState.map { "\($0.provider.place.rawValue)" }
                facts.lockStateReason = known.lockState?.provider.reason
                let findings = known.sharedLockState.findings()
                facts.lockStateWarning =
                    findings.isEmpty ? nil : findings.joined(separator: "; ")
                let result = Result { () throws(KeychainFailure) in
                    try state(known, store, deadline, &doubts)
                }
                _ = consume transaction
                return result
            }
        }
        status = facts
        guard let state = try opened.get() else { return false }
        status.state = state
        if state == .unlocked, let limits = lastKnownFacts?.lockState?.unlockPeriod?.limits {
            status.remaining = limits.remaining
            status.autoLock = limits.idle
        }
        return true
    }

    private func describe(
        _ keybag: LockedKeybag, in status: inout KeychainStatus
    ) throws(KeychainFailure) {
        status.level = keybag.level
        status.deviceKeyPath = source.path(of: keybag.deviceSource)
        status.deviceKeySource = keybag.deviceSource
        status.pcrs = try source.registers(of: keybag).numbers
    }

    /// - Returns: nil while the epoch changes, and before the TPM was asked.
    private func state(
        _ facts: KeychainFacts, _ store: StoreConnection, _ deadline: Deadline,
        _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> LockState? {
        guard let lockState = facts.lockState else {
            return try believed(currentState(store), &doubts) == nil ? nil : .noPasscode
        }
        // Not needed while unlocked, but next time.
        try source.check(facts, until: deadline)
        let reading = self.reading(facts, of: lockState)
        if let cause = reading.cause, doubts.areExcused(by: facts, cause) { return nil }
        switch reading {
        case .unlocked: return .unlocked
        case .locked: return .locked
        case .beforeFirstUnlock: return .beforeFirstUnlock
        case .unknown(let error):
            throw KeychainFailure(
                .inputOutput, during: "read the keychain's status", message: "\(error)")
        }
    }

    /// The size of the database and its log.
    private func byteCount() throws(SystemError) -> Int64 {
        let log = try directory.check(file: KeychainLocation.databaseName + "-wal")
        let database = try directory.check(file: KeychainLocation.databaseName)
        return (database?.byteCount ?? 0) + (log?.byteCount ?? 0)
    }
}

extension KeychainStatus {
    fileprivate mutating func count(
        in connection: Connection, hasPasscode: Bool
    ) throws(SystemError) {
        let counts = try connection.itemCounts()
        itemCount = counts.values.reduce(0, +)
        quarantinedRowCount = try connection.count(.quarantinedRows)
        guard hasPasscode else { return }
        passcodeBoundCount = counts[1] ?? 0
        fingerprintGatedCount = counts[2] ?? 0
    }
}

extension Connection {
    enum Counted {
        case items, allRows, quarantinedRows
    }

    /// How many items there are of each presence kind, 0 for none; reads all rows. The flags:
    /// docs/FORMAT.md §5.
    fileprivate func itemCounts() throws(SystemError) -> [Int64: Int] {
        let statement = Statement(
            """
            SELECT flags >> 8 & 3, count(*) FROM item WHERE flags & 2 = 0 GROUP BY flags >> 8 & 3
            """, on: self)
        var counts: [Int64: Int] = [:]
        let run = try statement.start()
        while try run.step() { counts[run.int64(0)] = Int(run.int64(1)) }
        return counts
    }

    /// How many rows there are; reads all of them.
    func count(_ counted: Counted) throws(SystemError) -> Int {
        let statement =
            switch counted {
            case .items:
                Statement("SELECT count(*) FROM item WHERE flags & 2 = 0", on: self)
            case .allRows: Statement("SELECT count(*) FROM item", on: self)
            case .quarantinedRows: Statement("SELECT count(*) FROM quarantine", on: self)
            }
        let run = try statement.start()
        return try run.step() ? Int(run.int64(0)) : 0
    }
}
