// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
internal import ValetSystem
internal import ValetTPM

/// A key change, from its preparation to its one transaction: docs/FORMAT.md §4.4.
extension KeychainPasscodes {
    // Preparation. Stretching and TPM calls take long, so they happen before any lock is taken.

    /// Prepares a change of the keychain that `header` describes; `opener` opens it.
    ///
    /// - Parameter moment: For a change that unlocks, a moment before the passcode was checked.
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the new source has no device secret,
    ///   `outOfMemory`.
    package func plan(
        _ header: KeychainHeader, _ opener: consuming KeychainOpener, to next: KeyChangeRequest,
        since moment: LockMoment?
    ) throws(KeychainFailure) -> KeyChangePlan {
        let source = next.source ?? header.keybag.deviceSource
        let keychainID = header.settings.keychainID
        if source == .tpm {
            let share = try self.source.newPasscodeShare(next)
            let held = try self.source.newDeviceSecret(next, after: header.keybag)
            return KeyChangePlan(
                opener: opener, protector: try self.source.protector(held, share),
                deviceSource: source, deviceKey: nil, keepsRecoveryKey: next.keepsRecoveryKey,
                unlockingSince: moment)
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
            keepsRecoveryKey: next.keepsRecoveryKey, unlockingSince: moment)
    }

    private func protector(
        _ secret: consuming DeviceSecret, _ next: KeyChangeRequest
    ) throws(KeychainFailure) -> Protector {
        switch next.passcode {
        case .none: return Protector(secret)
        case .some(let new):
            let cost = try translating(next.stretching.cost(), during: operation)
            return try Protector(secret, passcode: new, cost: cost)
        }
    }

    // The transaction.

    /// The free space that a key change needs, in addition to twice the size of the database:
    /// the log gets every page anew.
    private static let spareByteCount = 8 << 20

    /// Makes the change that `plan` describes; `header` is the header it was prepared from.
    ///
    /// - Returns: nil, with nothing changed, if the keychain has changed since `header`.
    /// - Throws: ``KeychainFailure``: `damaged`, with the number of damaged items; `timedOut`,
    ///   `diskFull`, `readOnly`, `authenticationFailed`, `keychainDamaged`. Then nothing has
    ///   changed.
    package func make(
        _ plan: borrowing KeyChangePlan, after header: KeychainHeader, _ options: KeyChangeOptions
    ) throws(KeychainFailure) -> KeyChangeOutcome? {
        try checkSpace()
        let erasure = OldKeyErasure(keychain)
        var setAsideCount = 0
        let isMade = try replaceKeys(
            of: header, unlockingSince: plan.unlockingSince
        ) { (writer) throws(KeychainFailure) in
            try checkLoss(plan.agreedLoss, writer)
            let new = try plan.successor(of: header)
            let opened = try new.unlock(with: plan.protector)
            let (keys, proof) = try plan.open(header)
            let sealing = KeyChangeSealing(
                former: try KeySet(header, keys, opened: nil).rows, proof: proof,
                rows: RowTransaction(
                    writer: writer, state: try KeySet(new, opened, opened: nil).rows,
                    now: Moment(nanoseconds: WallClock.nanoseconds), operation: operation),
                setsDamagedAside: options.skipsDamaged || plan.isRecovery,
                expectedLoss: plan.expectedLoss)
            setAsideCount = try seal(sealing, under: new, options)
            let deviceKeys = [header.keybag.deviceKeyID, new.keybag.deviceKeyID]
            try translating(erasure.prepare(deviceKeys), during: operation)
            try translating(writeDeviceKey(of: plan), during: operation)
            return (new, opened)
        }
        guard isMade else { return nil }
        var outcome = KeyChangeOutcome(setAsideCount: setAsideCount)
        // Under a lock of its own: readers that wait for the new keys need not wait for this.
        outcome.pendingErasure = erasure.eraseAfterChange(deadline)
        return outcome
    }

    private func checkLoss(
        _ agreed: AgreedLoss?, _ writer: RowWriter
    ) throws(KeychainFailure) {
        guard let agreed,
            try !translating(agreed.covers(writer.connection), during: operation)
        else { return }
        throw .changedSinceQuestion(
            "since the question, other programs have stored more that would be lost",
            during: operation)
    }

    /// - Returns: The number of damaged rows that were set aside.
    private func seal(
        _ sealing: KeyChangeSealing, under new: KeychainHeader, _ options: KeyChangeOptions
    ) throws(KeychainFailure) -> Int {
        let writer = sealing.rows.writer
        let total = try translating(operation) { () throws(SystemError) in
            try writer.replaceKeybag(by: new)
            return try RowCount.rows(in: writer.connection)
        }
        let count = try sealing.run { options.progress(min($0, total), total) }
        guard sealing.setsDamagedAside || count == 0 else {
            let items = count == 1 ? "1 item is" : "\(count) items are"
            throw KeychainFailure(
                .damaged, during: operation, message: "\(items) damaged",
                hint: "`valet doctor` says more; `--skip-damaged` sets damaged items aside for "
                    + "good")
        }
        return count
    }

    /// Writes the new device key, and looks once more whether the keychain is in its place: sealing
    /// all rows takes long. If it is not, the key is removed again.
    ///
    /// - Throws: ``SystemError``: `replaced`, …
    private func writeDeviceKey(of plan: borrowing KeyChangePlan) throws(SystemError) {
        switch plan.deviceKey {
        case .none: try keychain.pool.checkPlace()
        case .some(let file):
            let folder = try keychain.location.openDeviceFolder(
                of: keychain.directory, creating: true)
            let encoded = file.encoded
            let name = DeviceSecretSource.name(ofKey: file.secret.id)
            try encoded.withBytes { (contents: Span<UInt8>) throws(SystemError) in
                try folder.createFile(name, contents: contents)
            }
            do {
                try keychain.pool.checkPlace()
            } catch {
                // Report the first error.
                try? folder.overwriteAndRemove(name)
                throw error
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
    /// Runs `body`, which replaces the keybag, in a transaction under the writers' lock, if the
    /// keychain is still that of `header`. After the commit, and before any other process can
    /// write, puts the new keys in the place of the published ones.
    ///
    /// - Parameters:
    ///   - moment: For a change that unlocks a locked keychain, the moment before it. A lock since
    ///     then stays in force.
    ///   - body: Returns the new header and its keys.
    /// - Returns: Whether the change was made; false, with nothing changed, if the keychain is no
    ///   longer that of `header`.
    /// - Throws: Errors of `body`; ``KeychainFailure``: `timedOut`, `diskFull`, `readOnly`. Then
    ///   nothing has changed, and nothing was published.
    func replaceKeys(
        of header: KeychainHeader, unlockingSince moment: LockMoment? = nil,
        _ body: (RowWriter) throws(KeychainFailure) -> (KeychainHeader, UnlockedKeybag)
    ) throws(KeychainFailure) -> Bool {
        let pool = keychain.pool
        let held = try translating(pool.lockForWriting(deadline), during: operation)
        let writer = try pool.writer(deadline, for: operation)
        // Has freed pages overwritten again, if the disk was nearly full before.
        pool.makeRoomInLog(writer)
        let transaction = try translating(
            Transaction(on: writer.connection), during: operation)
        let current = try keychain.currentHeader(writer.reading, for: operation)
        guard current.settings == header.settings else { return false }
        guard header.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: "change the keys", hint: "update this program")
        }
        let (new, opened) = try body(writer)
        let lockState = header.openedKeys
        lockState.beginChange()
        defer { lockState.endChange() }
        do {
            try pool.reserveRoom(writer)
            try transaction.commit()
        } catch {
            throw KeychainFailure(error, during: operation)
        }
        // Without a passcode, the former keys only end.
        lockState.replaceKeys(
            of: header.mark, by: new.lockState == nil ? nil : new.published(opened),
            unlockingSince: moment)
        _ = consume held
        keychain.announceLockState()
        return true
    }
}
