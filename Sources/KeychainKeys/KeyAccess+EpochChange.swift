// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeybag
internal import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetTPM

/// The start of an epoch change, from the check of every row to the transaction that begins it:
/// docs/FORMAT.md §4.4, steps 1 and 2.
extension KeyAccess {
    // The check for damaged rows, which the change would have to set aside.

    /// Opens all parts of every row, as the change with `opener` will do. Skips the check for a
    /// recovery: damage must not keep the user from the items that are sound.
    ///
    /// - Returns: Whether `header` still describes the keychain.
    /// - Throws: ``KeychainFailure``: `damaged`, with the number of damaged items;
    ///   `authenticationFailed` for a wrong passcode.
    package func checkRows(
        of header: KeychainHeader, openedBy opener: borrowing KeychainOpener
    ) throws -> Bool {
        switch opener {
        case .recovery: return true
        case .protector(let protector):
            let (state, proof) = try countingWrongPasscodes {
                let opened = try header.unlock(with: protector)
                return (
                    try OpenKeys(header, opened, opened: nil), try header.proof(with: protector)
                )
            }
            guard let count = try damagedRowCount(state, proof) else { return false }
            guard count == 0 else {
                let items = count == 1 ? "1 item is" : "\(count) items are"
                throw KeychainFailure(
                    .damaged, during: operation, message: "\(items) damaged",
                    hint: "`valet doctor` says more; `--skip-damaged` sets damaged items aside for "
                        + "good")
            }
            return true
        }
    }

    /// - Returns: nil if the keychain no longer has the settings of `state`.
    private func damagedRowCount(_ state: OpenKeys, _ proof: PresenceProof) throws -> Int? {
        try read { store -> Int? in
            guard try keychain.currentHeader(store).settings == state.settings else { return nil }
            var count = 0
            let run = try store.all.start()
            while try run.step() {
                let found = try FoundRow(run)
                if try unlessDamaged({ try state.rows.open(found, proof) }) == nil { count += 1 }
            }
            return count
        }
    }

    // Preparation. Stretching and TPM calls take long, so they happen before any lock is taken.

    /// Prepares a change of the keychain that `header` describes; `opener` opens it.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the new source has no device secret,
    ///   `outOfMemory`.
    package func change(
        _ header: KeychainHeader, _ opener: consuming KeychainOpener, to next: NextEpoch
    ) throws -> EpochPlan {
        let source = next.source ?? header.newest.deviceSource
        let keychainID = header.settings.keychainID
        if source == .tpm {
            let share = try self.source.newPasscodeShare(next)
            let held = try self.source.newDeviceSecret(next, after: header.newest)
            return EpochPlan(
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
        let deviceKey = source == .ownFile ? try file.copied(operation) : nil
        let protector = try Self.protector(file.intoSecret(), next)
        return EpochPlan(
            opener: opener, protector: protector, deviceSource: source, deviceKey: deviceKey,
            keepsRecoveryKey: next.keepsRecoveryKey, unlocks: next.unlocks)
    }

    private static func protector(
        _ secret: consuming DeviceSecret, _ next: NextEpoch
    ) throws -> Protector {
        switch next.passcode {
        case .none: return Protector(secret)
        case .some(let new):
            return try Protector(
                secret, passcode: new.passcode, cost: next.stretching.cost())
        }
    }

    /// Finishes an interrupted epoch change with `opener`. A recovery finishes it later, in its own
    /// transaction.
    ///
    /// - Returns: Whether there was such a change. If so, `header` is out of date.
    package func hasFinishedFirst(
        _ header: KeychainHeader, openedBy opener: borrowing KeychainOpener
    ) throws -> Bool {
        switch opener {
        case .recovery: false
        case .protector(let protector): try hasFinishedFirst(header, openedBy: protector)
        }
    }

    /// Finishes an interrupted epoch change. Uses the opened keys without publishing them, because
    /// the keychain may be locked.
    ///
    /// - Returns: Whether there was such a change. If so, `header` is out of date.
    package func hasFinishedFirst(
        _ header: KeychainHeader, openedBy opener: borrowing Protector
    ) throws -> Bool {
        guard header.older != nil else { return false }
        let begun = try countingWrongPasscodes {
            let opened = try header.unlock(with: opener)
            return BegunEpoch(
                keys: try OpenKeys(header, opened, opened: nil),
                proof: try header.proof(with: opener))
        }
        _ = try EpochFinisher(keychain: keychain).finish(before: .never, of: begun)
        return true
    }

    // The transaction that begins it.

    /// The free space that an epoch change needs, in addition to twice the size of the database.
    private static let spareByteCount = 8 << 20

    /// Begins the epoch that `change` describes; `header` is the header it was prepared from.
    ///
    /// - Returns: The keys that finish the change; nil, with nothing begun, if the keychain has
    ///   changed since `header`.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `readOnly`, `authenticationFailed`,
    ///   `keychainDamaged`. Then nothing has changed.
    package func begin(
        _ change: borrowing EpochPlan, after header: KeychainHeader
    ) throws -> BegunEpoch? {
        var before: LockStatus?
        try checkSpace()
        // Both a change and its rollback publish keys, so watchers have to look.
        defer { keychain.announceLockState() }
        var begun: BegunEpoch?
        let isWritten = try keychain.replaceKeys(of: header, operation, deadline) { writer in
            let new = try change.keybags(after: header)
            let opened = try new.unlock(with: change.protector)
            try writeFiles(of: change)
            // The opened keys of both epochs, the old and the new.
            let state = try OpenKeys(new, opened, opened: nil)
            try EpochMigration(writer: writer, header: new, state: state.rows).replaceKeybags()
            try sealOldest(of: header, before: state, change, writer)
            let reading = header.lockStatus
            before = reading
            if change.unlocks {
                try new.publishUnlocking(reading, of: header, opened, since: change.moment)
            } else {
                try new.publishInPlace(of: header, opened)
            }
            begun = BegunEpoch(keys: state, proof: try new.proof(with: change.protector))
        } onFailure: {
            if let before { try header.putBack(before) }
        }
        return isWritten ? begun : nil
    }

    /// Recovers a keychain that has two epochs: a database cannot hold a third, so all rows of the
    /// oldest move to the new epoch at once.
    private func sealOldest(
        of header: KeychainHeader, before state: OpenKeys, _ change: borrowing EpochPlan,
        _ writer: RowWriter
    ) throws {
        guard let oldest = try change.keybagsOfOldest(of: header, before: state.header.newest)
        else {
            return
        }
        let keys = try oldest.unlock(with: change.protector)
        let bridge = try OpenKeys(oldest, keys, opened: nil)
        let proof = try oldest.proof(with: change.protector)
        try EpochMigration(
            writer: writer, header: oldest, state: bridge.rows, others: state.rows, proof: proof
        ).sealAll()
    }

    private func writeFiles(of change: borrowing EpochPlan) throws {
        // The marker comes first: if the process dies after it, the marker makes a later write
        // search for a device key that no keybag names.
        try createMarker()
        switch change.deviceKey {
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

    private func createMarker() throws(SystemError) {
        keychain.nextErasure = 0
        guard try keychain.directory.check(file: OpenKeychain.erasePendingName) == nil else {
            return
        }
        let nothing: [UInt8] = []
        try keychain.directory.createFile(OpenKeychain.erasePendingName, contents: nothing.span)
    }

    private func checkSpace() throws {
        let database =
            try keychain.directory.check(file: KeychainFile.database)?.byteCount ?? 0
        // A file can have any size, with holes.
        let needed = 2 * Int(min(database, .max / 4)) + Self.spareByteCount
        guard try keychain.directory.availableByteCount() >= needed else {
            throw KeychainFailure(
                .diskFull, during: operation,
                message: "changing the keys needs \(needed >> 20) MiB of free space",
                path: keychain.directory.path, hint: "make room on that disk first")
        }
    }
}
