// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeybag
package import ValetKeychainModel
package import ValetKeychainRows
package import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
package import ValetSystem

/// What one call may do with the keys of a keychain: `perform` of `ItemStore` makes it. Each
/// step is a short transaction of its own, so that nothing waits for Argon2 or a TPM.
package struct KeyAccess {
    /// The keychain itself.
    package let keychain: OpenKeychain
    /// What the call does, in the words of its failures.
    package let operation: String
    /// How long each step may wait.
    let timeLimit: Duration
    private let limit: Deadline?

    /// - Parameter limit: When the call ends; nil if each step has a deadline of its own.
    package init(
        _ keychain: OpenKeychain, _ operation: String, _ timeLimit: Duration,
        before limit: Deadline?
    ) {
        self.keychain = keychain
        self.operation = operation
        self.timeLimit = timeLimit
        self.limit = limit
    }

    /// Until when the next step may wait.
    package var deadline: Deadline { limit ?? Deadline(after: timeLimit) }

    /// Where the device secret comes from.
    package var source: DeviceSecretSource { keychain.source }

    /// Reads what the keychain says of itself, opened or not.
    package func facts() throws -> KeychainHeader { try keychain.readFacts(deadline) }

    /// Runs `body` with a connection, in a read transaction that needs no keys.
    package func read<R>(_ body: (RowConnection) throws -> R) throws -> R {
        let reader = try keychain.pool.borrow(deadline)
        defer { keychain.pool.giveBack(reader) }
        let transaction = try ReadTransaction(on: reader.connection)
        let result = try body(reader)
        _ = consume transaction
        return result
    }

    /// Runs `body`, which relies on `facts`. A failure may have come from a keychain that has been
    /// changed since: its device key is another one then, and its passcode may be.
    ///
    /// - Returns: What `body` returns; nil if it fails and the keychain has changed, or was
    ///   replaced.
    package func unlessChanged<R>(_ facts: KeychainHeader, _ body: () throws -> R?) throws -> R? {
        do {
            return try body()
        } catch {
            if keychain.pool.isReplaced { return nil }
            let failure = KeychainFailure(translating: error, during: operation)
            // A change of keys does not explain a timeout, and no time is left to look.
            guard failure.code != .timedOut else { throw failure }
            let now = try? keychain.readFacts(Deadline(after: timeLimit))
            guard let now, now.settings != facts.settings else { throw failure }
            return nil
        }
    }

    /// Runs `body`, which tries a passcode; waits before a failure to authenticate is passed on.
    package func countingWrongPasscodes<R: ~Copyable>(
        _ body: () throws -> R
    ) throws(KeychainFailure) -> R {
        try keychain.wrongPasscodes.counting { () throws(KeychainFailure) in
            try translating(operation, body)
        }
    }

    /// What opens the keychain that `facts` describe. Takes as long as stretching the passcode and,
    /// where there is one, asking the TPM.
    ///
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed and none was
    ///   given; `incomplete`, `keyUnavailable`, `outOfMemory`. Only with a TPM does it tell whether
    ///   the passcode is right: `authenticationFailed`, `timedOut`, `inputOutput`.
    package func protector(
        of facts: KeychainHeader, _ passcode: KeychainPasscode?
    ) throws -> Protector {
        guard facts.newest.protector != .device else {
            return Protector(try source.secret(of: facts, until: deadline))
        }
        guard let typed = passcode else {
            try source.check(facts, until: deadline)
            throw KeychainFailure(
                .interactionNotAllowed, during: operation, message: "it takes the passcode",
                hint: "give the keychain's passcode")
        }
        guard facts.newest.protector != .tpmAndPasscode else {
            return try countingWrongPasscodes {
                try source.protector(of: facts.newest, typed, timeLimit)
            }
        }
        let secret = try source.secret(of: facts, until: deadline)
        return try Protector(secret, passcode: typed.passcode, opening: facts.newest)
    }

    /// The moment before the passcode of `facts` is checked: a lock that comes after it holds.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func moment(of facts: KeychainHeader) throws -> LockMoment? {
        guard let lockState = facts.lockState else { return nil }
        if !lockState.hasPage, !keychain.directory.isReadOnly {
            let held = try keychain.pool.lock.acquire(before: deadline)
            lockState.preparePage()
            _ = consume held
        }
        return try lockState.moment()
    }

    /// Opens the keys of a keychain with a passcode to every process that shares the lock state.
    ///
    /// - Parameter moment: From before the passcode was checked.
    /// - Returns: Whether it was done: not if the keychain has changed in the meantime.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode, `timedOut`,
    ///   `keychainDamaged`.
    package func publish(
        _ facts: KeychainHeader, openedBy protector: borrowing Protector,
        within limits: UnlockLimits, since moment: LockMoment?, _ deadline: Deadline
    ) throws -> Bool {
        guard let lockState = facts.lockState else { return true }
        let opened = try facts.unlock(with: protector)
        // The lock orders two unlocks that come at once. Where nothing can be written, no process
        // changes the keys either.
        let pool = keychain.pool
        let held = pool.directory.isReadOnly ? nil : try pool.lock.acquire(before: deadline)
        guard try pool.isInPlace(), try keychain.readFacts(deadline).settings == facts.settings
        else { return false }
        let proof = facts.older == nil ? nil : try facts.proof(with: protector)
        try lockState.publish(facts.published(opened), within: limits, since: moment)
        // Only now: an unlock that failed leaves nothing behind.
        if let proof { keychain.keep(forResealing: proof) }
        _ = consume held
        keychain.announceLockState()
        return true
    }

    /// Takes away the published keys of a keychain that has no passcode any more.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, `inputOutput`.
    package func lockWithoutPasscode(_ deadline: Deadline) throws {
        // A process that is setting a passcode unlocks under the same lock.
        let pool = keychain.pool
        let held = pool.directory.isReadOnly ? nil : try pool.lock.acquire(before: deadline)
        let facts = try keychain.readFacts(deadline)
        if facts.lockState == nil {
            defer { keychain.announceLockState() }
            try facts.sharedLockState.lock(all: true)
        }
        _ = consume held
    }

    // Counting rows, which takes no keys.

    /// How many rows of items are of all of `kinds`.
    package func rowCount(of kinds: [RowKinds] = []) throws -> Int {
        try read { store in
            try RowKinds.count(
                """
                SELECT protection, flags & 768, count(*) FROM item WHERE flags & 2 = 0
                GROUP BY protection, flags & 768
                """, on: store.connection
            ) { row in kinds.allSatisfy { $0.contains(row) } }
        }
    }

    /// How many rows are in quarantine, except those of a kind that was expected there.
    package func quarantinedRowCount(but expected: RowKinds?) throws -> Int {
        try read { store in
            try RowKinds.count(
                """
                SELECT protection, flags & 768, count(*) FROM quarantine
                GROUP BY protection, flags & 768
                """, on: store.connection
            ) { row in expected?.contains(row) != true }
        }
    }
}
