// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem
internal import ValetTPM

/// A change of keys, from its preparation to its one transaction: docs/FORMAT.md §4.4.
extension KeychainPasscodes {
    // Preparation. Stretching and TPM calls take long, so they happen before any lock is taken.

    /// Prepares a change of the keychain that `header` describes; `opener` opens it.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the new source has no device secret,
    ///   `outOfMemory`.
    package func plan(
        _ header: KeychainHeader, _ opener: consuming KeychainOpener, to next: NextEpoch
    ) throws(KeychainFailure) -> KeyChangePlan {
        let source = next.source ?? header.keybag.deviceSource
        let keychainID = header.settings.keychainID
        if source == .tpm {
            let share = try self.source.newPasscodeShare(next)
            let held = try self.source.newDeviceSecret(next, after: header.keybag)
            return KeyChangePlan(
                opener: opener, protector: try self.source.protector(held, share),
                deviceSource: source, deviceKey: nil, keepsRecoveryKey: next.keepsRecoveryKey,
                unlocks: next.unlocks)
        }
        let file: DeviceKeyFile
        if source == .ownFile {
            file = DeviceKeyFile(keychainID: keychainID, secret: .random())
        } else {
            file = try self.source.given(by: source)
            try self.source.check(file, isFor: keychainID, source)
        }
        let deviceKey = source == .ownFile ? try file.copied() : nil
        let protector = try self.protector(file.intoSecret(), next)
        return KeyChangePlan(
            opener: opener, protector: protector, deviceSource: source, deviceKey: deviceKey,
            keepsRecoveryKey: next.keepsRecoveryKey, unlocks: next.unlocks)
    }

    private func protector(
        _ secret: consuming DeviceSecret, _ next: NextEpoch
    ) throws(KeychainFailure) -> Protector {
        switch next.passcode {
        case .none: return Protector(secret)
        case .some(let new):
            let cost = try translating(next.stretching.cost(), during: operation)
            return try Protector(secret, passcode: new, cost: cost)
        }
    }

    // The transaction.

    /// The free space that a change of keys needs, in addition to twice the size of the database:
    /// the log gets every page anew.
    private static let spareByteCount = 8 << 20

    /// Makes the change that `plan` describes; `header` is the header it was prepared from.
    ///
    /// - Returns: nil, with nothing changed, if the keychain has changed since `header`.
    /// - Throws: ``KeychainFailure``: `damaged`, with the number of damaged items; `timedOut`,
    ///   `diskFull`, `readOnly`, `authenticationFailed`, `keychainDamaged`. Then nothing has
    ///   changed.
    package func make(
        _ plan: borrowing KeyChangePlan, after header: KeychainHeader, _ options: EpochOptions
    ) throws(KeychainFailure) -> KeyChangeOutcome? {
        try checkSpace()
        // Both a change and its rollback publish keys, so watchers have to look.
        defer { keychain.announceLockState() }
        let erasure = OldKeyErasure(keychain)
        var before: LockStatus?
        var outcome = KeyChangeOutcome()
        let erase: (RowWriter) -> Void = { writer in
            erasure.endChange()
            do throws(KeychainFailure) {
                try erasure.erase(writer)
            } catch {
                outcome.pendingErasure = error
            }
        }
        let isMade = try replaceKeys(
            of: header, afterCommit: erase
        ) { (writer) throws(KeychainFailure) in
            let new = try plan.successor(of: header)
            let opened = try new.unlock(with: plan.protector)
            let former = try plan.open(header)
            try translating(erasure.beginChange(), during: operation)
            outcome.setAsideCount = try seal(
                from: (header, former.0, former.1), to: KeySet(new, opened, opened: nil), writer,
                plan, options)
            try translating(erasure.prepare(), during: operation)
            try translating(writeDeviceKey(of: plan), during: operation)
            before = header.lockStatus
            try publish(new, opened, of: header, plan)
        } onFailure: { () throws(KeychainFailure) in
            erasure.endChange()
            if let before { try header.putBack(before) }
        }
        return isMade ? outcome : nil
    }

    /// - Returns: The number of damaged rows that were set aside.
    private func seal(
        from former: (header: KeychainHeader, keys: UnlockedKeybag, proof: PresenceProof),
        to new: KeySet, _ writer: RowWriter, _ plan: borrowing KeyChangePlan,
        _ options: EpochOptions
    ) throws(KeychainFailure) -> Int {
        let setsDamagedAside = options.skipsDamaged || plan.isRecovery
        let total = try translating(operation) { () throws(SystemError) in
            try writer.replaceKeybag(by: new.header)
            return try RowCount.rows(in: writer.connection)
        }
        let count = try Rekeying(
            former: KeySet(former.header, former.keys, opened: nil).rows, proof: former.proof,
            rows: RowTransaction(
                writer: writer, state: new.rows,
                now: Moment(nanoseconds: WallClock.nanoseconds), operation: operation),
            setsDamagedAside: setsDamagedAside, expectedLoss: plan.expectedLoss
        ) { options.progress(min($0, total), total) }.run()
        guard setsDamagedAside || count == 0 else {
            let items = count == 1 ? "1 item is" : "\(count) items are"
            throw KeychainFailure(
                .damaged, during: operation, message: "\(items) damaged",
                hint: "`valet doctor` says more; `--skip-damaged` sets damaged items aside for "
                    + "good")
        }
        return count
    }

    /// Publishes the new keys in place of the former ones, just before the commit. Readers wait for
    /// it.
    func publish(
        _ new: KeychainHeader, _ opened: UnlockedKeybag, of header: KeychainHeader,
        _ plan: borrowing KeyChangePlan
    ) throws(KeychainFailure) {
        let isUnlocked = if case .unlocked = header.lockStatus { true } else { false }
        let keys = new.published(opened)
        if plan.unlocks, !isUnlocked {
            try new.lockState?.publish(
                keys, within: .none, since: plan.moment, bindsShared: true)
        } else {
            // If another process locks the keychain now, it stays locked.
            try new.publishInPlace(of: header, keys)
        }
    }

    private func writeDeviceKey(of plan: borrowing KeyChangePlan) throws(SystemError) {
        switch plan.deviceKey {
        case .none: return
        case .some(let file):
            let folder = try PrivateDirectory.open(keychain.location.deviceFolder, creating: true)
            let encoded = file.encoded
            let name = DeviceSecretSource.name(ofKey: file.secret.id)
            try encoded.withBytes { (contents: Span<UInt8>) throws(SystemError) in
                try folder.createFile(name, contents: contents)
            }
        }
    }

    private func checkSpace() throws(KeychainFailure) {
        let directory = keychain.directory
        let (database, available) = try translating(operation) { () throws(SystemError) in
            (
                try directory.check(file: KeychainFile.database)?.byteCount ?? 0,
                try directory.availableByteCount()
            )
        }
        // A sparse file can have any size.
        let needed = 2 * Int(min(database, .max / 4)) + Self.spareByteCount
        guard available >= needed else {
            throw KeychainFailure(
                .diskFull, during: operation,
                message: "changing the keys needs \(needed >> 20) MiB of free space",
                path: keychain.directory.path, hint: "make room on that disk first")
        }
    }
}

extension KeychainPasscodes {
    /// Runs `body`, which replaces the keybag, in a transaction under the lock of writers, if the
    /// keychain is still that of `header`.
    ///
    /// - Parameters:
    ///   - afterCommit: Runs before any other process can write.
    ///   - onFailure: Runs if the transaction was not committed.
    /// - Returns: Whether the keychain was that of `header`.
    package func replaceKeys(
        of header: KeychainHeader, afterCommit: (RowWriter) -> Void = { _ in },
        _ body: (RowWriter) throws(KeychainFailure) -> Void,
        onFailure: () throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) -> Bool {
        let pool = keychain.pool
        let held = try translating(pool.lockForWriting(deadline), during: operation)
        let writer = try pool.writer(deadline, for: operation)
        let transaction = try translating(
            Transaction(on: writer.connection), during: operation)
        let current = try keychain.currentHeader(writer.reading, for: operation)
        guard current.settings == header.settings else { return false }
        guard header.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: "change the keys", hint: "update this program")
        }
        do throws(KeychainFailure) {
            try body(writer)
            do {
                try pool.reserveRoom(writer)
                try transaction.commit()
            } catch {
                throw KeychainFailure(error, during: operation)
            }
        } catch {
            // The first error is the one to report.
            try? onFailure()
            throw error
        }
        afterCommit(writer)
        _ = consume held
        return true
    }
}
