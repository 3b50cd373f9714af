// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
package import ValetSystem

/// The operations on keys that one call can carry out. `ItemStore` makes this value for the call.
/// Each step is a short transaction of its own, so that no other process waits for Argon2 or a TPM.
package struct KeychainPasscodes {
    package let keychain: OpenKeychain
    /// The name of the call in failures, such as "set the passcode".
    package let operation: String
    /// The longest wait of each step.
    let timeLimit: Duration
    private let limit: Deadline?

    /// - Parameter limit: The deadline of the whole call; nil if each step has its own.
    package init(
        _ keychain: OpenKeychain, _ operation: String, _ timeLimit: Duration,
        before limit: Deadline?
    ) {
        self.keychain = keychain
        self.operation = operation
        self.timeLimit = timeLimit
        self.limit = limit
    }

    /// The deadline of the next step.
    package var deadline: Deadline { limit ?? Deadline(after: timeLimit) }

    package var source: DeviceSecretSource { keychain.source }

    /// Reads the header of the keychain, which needs no key.
    package func header() throws(KeychainFailure) -> KeychainHeader {
        try keychain.readHeader(deadline, for: operation)
    }

    /// Runs `body` with a connection, in a read transaction that needs no keys.
    package func read<R>(
        _ body: (RowConnection) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let reader = try keychain.pool.borrow(deadline, for: operation)
        defer { keychain.pool.giveBack(reader) }
        let transaction = try translating(
            ReadTransaction(on: reader.connection), during: operation)
        let result = try body(reader)
        _ = consume transaction
        return result
    }

    /// Whether the keys have changed since `header`, which may explain `failure` of a call that has
    /// changed nothing.
    package func haveChanged(since header: KeychainHeader, _ failure: KeychainFailure) -> Bool {
        // A key change does not explain a timeout, and no time is left to look.
        guard failure.code != .timedOut else { return false }
        let now = try? keychain.readHeader(Deadline(after: timeLimit))
        return now.map { $0.settings != header.settings } ?? false
    }

    /// Runs `body`, which tries a passcode. Waits before it throws `authenticationFailed`.
    package func countingWrongPasscodes<R: ~Copyable>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do {
            return try keychain.wrongPasscodes.counting(body)
        } catch {
            throw error.unlessOfKeybag(operation)
        }
    }

    /// The protector that opens the keychain that `header` describes. Takes as long as stretching
    /// the passcode and, with a TPM, asking the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed and none was
    ///   given; `incomplete`, `keyUnavailable`, `outOfMemory`. With a TPM also
    ///   `authenticationFailed`, `timedOut`, `inputOutput`; without one, this does not check the
    ///   passcode.
    package func protector(
        of header: KeychainHeader, _ passcode: Passcode?
    ) throws(KeychainFailure) -> Protector {
        guard header.keybag.protector != .device else {
            return Protector(try source.secret(of: header, until: deadline))
        }
        guard let typed = passcode else {
            try source.check(header, until: deadline)
            throw KeychainFailure(
                .interactionNotAllowed, during: operation, message: "the passcode is needed",
                hint: "give the keychain's passcode")
        }
        guard header.keybag.protector != .tpmAndPasscode else {
            return try countingWrongPasscodes { () throws(KeychainFailure) in
                try source.protector(of: header.keybag, typed, timeLimit)
            }
        }
        let secret = try source.secret(of: header, until: deadline)
        return try Protector(secret, passcode: typed, opening: header.keybag)
    }

    /// The present moment, for a call that will publish keys:
    /// ``OpenKeychain/moment(of:_:for:mustHavePage:)``.
    package func moment(
        of header: KeychainHeader, mustHavePage: Bool = false
    ) throws(KeychainFailure) -> LockMoment {
        // A process with keys of its own waits for no writer.
        let limit = header.openedKeys.isForSharing ? deadline : .immediately
        return try keychain.moment(
            of: header, limit, for: operation, mustHavePage: mustHavePage)
    }

    /// Opens the keys of a keychain with a passcode, and publishes them to every process that
    /// shares its lock state.
    ///
    /// - Parameter moment: A moment before the passcode was checked.
    /// - Returns: false if the keychain is no longer that of `header`; true for a keychain without
    ///   a lock state, where nothing is published.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, `timedOut`,
    ///   `keychainDamaged`.
    package func publish(
        _ header: KeychainHeader, openedBy protector: borrowing Protector,
        within limits: UnlockLimits, since moment: LockMoment
    ) throws(KeychainFailure) -> Bool {
        guard let lockState = header.lockState else { return true }
        let keys = header.published(try header.unlock(with: protector))
        let held = try lockToPublish(in: lockState)
        guard try self.header().settings == header.settings else { return false }
        try lockState.publish(keys, within: limits, since: moment)
        _ = consume held
        keychain.announceLockState()
        OldKeyErasure(keychain).eraseIfDue(deadline)
        return true
    }

    /// the writers' lock, which orders two concurrent unlocks. Nil for keys of this process
    /// alone, and in a read-only folder: there, keys change only by a write through another mount.
    private func lockToPublish(
        in lockState: LockStateStore
    ) throws(KeychainFailure) -> HeldLock? {
        let pool = keychain.pool
        guard lockState.isForSharing, !pool.directory.isReadOnly else { return nil }
        return try translating(pool.lockForWriting(deadline), during: operation)
    }

    /// Replaces the keybag of `header` by a changed one, which has the same class keys. Shared keys
    /// stay open. Other processes that keep keys for themselves have to unlock again: they cannot
    /// tell whether somebody else has replaced the keybag. Erases the former keybag, which a former
    /// recovery key opens.
    ///
    /// - Parameters:
    ///   - committed: Called after the change, before the former keybag is erased.
    ///   - change: Makes the new keybag from the current one, and from the encoded settings that
    ///     are stored with the new one.
    /// - Returns: nil, with nothing changed, if the keychain has changed since `header`.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, `timedOut`,
    ///   `diskFull`, `readOnly`. Then nothing has changed.
    package func replaceKeybag(
        of header: KeychainHeader, openedBy opener: borrowing Protector,
        committed: () -> Void = {},
        _ change: (LockedKeybag, _ settings: [UInt8]) throws(KeychainFailure) -> LockedKeybag
    ) throws(KeychainFailure) -> KeyChangeOutcome? {
        var settings = header.settings
        settings.stamp = .random(in: .min ... .max)
        let new = KeychainHeader(
            settings, try change(header.keybag, settings.authenticatedBytes), at: header.location)
        let opened = try new.unlock(with: opener)
        let erasure = OldKeyErasure(keychain)
        let isReplaced = try replaceKeys(of: header) { (writer) throws(KeychainFailure) in
            try translating(writer.replaceKeybag(by: new), during: operation)
            try translating(erasure.prepare(), during: operation)
            return (new, opened)
        }
        guard isReplaced else { return nil }
        committed()
        var outcome = KeyChangeOutcome()
        outcome.pendingErasure = erasure.eraseAfterChange(deadline)
        return outcome
    }

    /// The numbers of items and of former values that belong to all of `kinds`. Needs no keys.
    package func loss(of kinds: [RowKinds]) throws(KeychainFailure) -> ItemLoss {
        try read { (store) throws(KeychainFailure) in
            try translating(ItemLoss(of: kinds, in: store.connection), during: operation)
        }
    }
}
