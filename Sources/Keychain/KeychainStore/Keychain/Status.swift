// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

// `valet status`.

extension Keychain {
    private static let inspecting = "read the keychain's status"

    /// The status of the keychain. Creates nothing and opens no item.
    ///
    /// A keychain that is incomplete or whose device key is missing also has a status.
    /// - Throws: ``KeychainFailure`` if the files cannot be read.
    package func status() throws(KeychainFailure) -> KeychainStatus {
        var status = KeychainStatus(
            state: .absent, folder: store.location.folder, isReadOnly: false)
        do {
            _ = try store.inspect(Self.inspecting) { (keys) throws(KeychainFailure) in
                var look = RepeatedLook()
                while try !keys.describe(in: &status, &look) {
                    try keys.keychain.awaitChange(keys.operation, keys.deadline, &look)
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

extension KeychainPasscodes {
    /// Fills in everything that needs no key, then the state, which may need one.
    ///
    /// - Returns: Whether the status is complete; false if another look is needed.
    fileprivate func describe(
        in status: inout KeychainStatus, _ look: inout RepeatedLook
    ) throws(KeychainFailure) -> Bool {
        status.isReadOnly = keychain.directory.isReadOnly
        var header = status
        let opened = try read { (store) throws(KeychainFailure) in
            let known = try keychain.currentHeader(store, for: operation)
            try describe(known, store, in: &header)
            return Result { () throws(KeychainFailure) in try state(known, store, &look) }
        }
        status = header
        guard let state = try opened.get() else { return false }
        status.state = state
        if state == .unlocked, let limits = keychain.lastKnownFacts?.lockState?.unlockPeriod?.limits
        {
            status.remaining = limits.remaining
            status.autoLock = limits.idle
        }
        return true
    }

    private func describe(
        _ known: KeychainHeader, _ store: RowConnection, in status: inout KeychainStatus
    ) throws(KeychainFailure) {
        let (settings, keybag) = (known.settings, known.keybag)
        status.keychainID = settings.keychainID.description
        status.formatVersion = Int(settings.format)
        status.epoch = settings.epoch.rawValue
        status.level = keybag.level
        status.deviceKeyPath = source.path(of: keybag.deviceSource)
        status.deviceKeySource = keybag.deviceSource
        status.pcrs = try source.pcrs(of: keybag)
        try translating(operation) { () throws(SystemError) in
            try status.count(in: store.connection, hasPasscode: known.lockState != nil)
            status.fileByteCount = try byteCount()
            status.isErasePending = try keychain.isErasePending()
        }
        status.recoveryPublicKey = try keybag.recoveryPublicKey?.bytes
        status.lockStateProvider = known.lockState.map { "\($0.provider.place.rawValue)" }
        status.lockStateReason = known.lockState?.provider.reason
        let findings = known.openedKeys.findings()
        status.lockStateWarning = findings.isEmpty ? nil : findings.joined(separator: "; ")
    }

    /// - Returns: nil if another look is needed: the keys may have changed, or the TPM has to be
    ///   asked.
    private func state(
        _ header: KeychainHeader, _ store: RowConnection, _ look: inout RepeatedLook
    ) throws(KeychainFailure) -> LockState? {
        guard let lockState = header.lockState else {
            return try keychain.believed(store, &look, for: operation) == nil ? nil : .noPasscode
        }
        // An unlocked keychain does not need its device key now, but the next unlock does.
        try source.check(header, until: deadline)
        let reading = keychain.lockStatus(header, of: lockState)
        if let cause = reading.cause,
            look.isWorthwhile(at: header, cause, hasKeys: reading.keys != nil)
        {
            return nil
        }
        switch reading {
        case .unlocked: return .unlocked
        case .locked: return .locked
        case .beforeFirstUnlock: return .beforeFirstUnlock
        case .unknown(let failure): throw failure
        }
    }

    /// The size of the database and its write-ahead log.
    private func byteCount() throws(SystemError) -> Int64 {
        let log = try keychain.directory.check(file: KeychainFile.database + "-wal")
        let database = try keychain.directory.check(file: KeychainFile.database)
        let (sum, isTooLarge) = (database?.byteCount ?? 0).addingReportingOverflow(
            log?.byteCount ?? 0)
        return isTooLarge ? .max : sum
    }
}

extension KeychainStatus {
    fileprivate mutating func count(
        in connection: Connection, hasPasscode: Bool
    ) throws(SystemError) {
        let counts = try RowCount.items(in: connection)
        itemCount = counts.values.reduce(0, +)
        quarantinedRowCount = try RowCount.setAside(in: connection)
        guard hasPasscode else { return }
        passcodeBoundCount = counts[1] ?? 0
        fingerprintGatedCount = counts[2] ?? 0
    }
}
