// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// The start of an epoch change: docs/FORMAT.md §4.4, steps 1 and 2.
extension Engine {
    /// The empty file that says that old keys are still to be erased.
    static let erasePendingName = "erase.pending"
    /// What the next epoch needs beyond twice what the keychain takes now.
    private static let spareByteCount = 8 << 20

    /// Begins the epoch that `change` describes; `facts` are what it was made from.
    ///
    /// - Returns: What the rest of the change takes; nil if it was not begun, because the keychain
    ///   has changed in the meantime.
    /// - Throws: ``KeychainFailure``: `timedOut`, `diskFull`, `readOnly`, `authenticationFailed`,
    ///   `keychainDamaged`; nothing is changed then.
    func begin(
        _ change: borrowing EpochChange, after facts: KeychainFacts, _ operation: String,
        _ deadline: Deadline
    ) throws(KeychainFailure) -> BegunEpoch? {
        var before: LockReading?
        do {
            try checkSpace(operation)
            // Begun or undone, keys were published.
            defer { announceLockState() }
            var begun: BegunEpoch?
            let isWritten = try write(operation, deadline, of: facts) { writer in
                let new = try change.keybags(after: facts)
                let opened = try new.unlock(with: change.protector)
                try writeFiles(of: change)
                // Old and new epoch, opened: what the transaction sees of them.
                let state = try KeychainState(new, opened, opened: nil)
                try EpochWriter(writer: writer, state: state).replaceKeybags(operation)
                try sealOldest(of: facts, before: state, change, writer)
                let reading = facts.lockReading
                before = reading
                if change.unlocks {
                    try new.publishUnlocking(reading, of: facts, opened, since: change.moment)
                } else {
                    try new.publishInPlace(of: facts, opened)
                }
                begun = BegunEpoch(keys: state, proof: try new.proof(with: change.protector))
            } onFailure: {
                if let before { try facts.putBack(before) }
            }
            return isWritten ? begun : nil
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
    }

    /// A recovery of two epochs: there is no third in a database.
    private func sealOldest(
        of facts: KeychainFacts, before state: KeychainState, _ change: borrowing EpochChange,
        _ writer: StoreWriter
    ) throws {
        guard let oldest = try change.keybagsOfOldest(of: facts, before: state.facts.newest) else {
            return
        }
        let keys = try oldest.unlock(with: change.protector)
        let bridge = try KeychainState(oldest, keys, opened: nil)
        let proof = try oldest.proof(with: change.protector)
        try EpochWriter(writer: writer, state: bridge, others: state, proof: proof).sealAllRows()
    }

    /// Runs `body` in a transaction under the lock, if the keychain is still what `facts` say.
    ///
    /// - Parameter onFailure: Is run when the transaction did not come.
    /// - Returns: Whether it is.
    func write(
        _ operation: String, _ deadline: Deadline, of facts: KeychainFacts,
        _ body: (StoreWriter) throws -> Void, onFailure: () throws -> Void = {}
    ) throws -> Bool {
        guard !directory.isReadOnly else {
            throw SystemError(.readOnly, during: "write", path: directory.path)
        }
        let held = try lock.acquire(before: deadline)
        try checkPlace(during: operation)
        let writer = try writer(deadline)
        let transaction = try Transaction(on: writer.connection)
        guard try currentFacts(writer.reading).settings == facts.settings else { return false }
        guard facts.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: operation, hint: "update this program")
        }
        do {
            try body(writer)
            try checkPlace(during: operation)
            try transaction.commit()
        } catch {
            // The first error is the one to report.
            try? onFailure()
            throw error
        }
        // Replaced while it was committed: it went where nobody looks any more.
        if isReplaced { try checkPlace(during: operation) }
        _ = consume held
        return true
    }

    private func writeFiles(of change: borrowing EpochChange) throws {
        // First: it is what leads to a device key that no keybag came to name.
        try createMarker()
        switch change.deviceKey {
        case .none: return
        case .some(let file):
            let folder = try PrivateDirectory.open(location.deviceFolder, creating: true)
            let encoded = file.encoded
            let name = DeviceSecretSource.name(ofKey: file.secret.id)
            try encoded.withBytes { (contents: Span<UInt8>) throws(SystemError) in
                try folder.createFile(name, contents: contents)
            }
        }
    }

    private func createMarker() throws(SystemError) {
        nextErasure = 0
        guard try directory.check(file: Self.erasePendingName) == nil else { return }
        let nothing: [UInt8] = []
        try directory.createFile(Self.erasePendingName, contents: nothing.span)
    }

    private func checkSpace(_ operation: String) throws {
        let database = try directory.check(file: KeychainLocation.databaseName)?.byteCount ?? 0
        let needed = 2 * Int(database) + Self.spareByteCount
        guard try directory.availableByteCount() >= needed else {
            throw KeychainFailure(
                .diskFull, during: operation,
                message: "changing the keys takes \(needed >> 20) MiB of free space",
                path: directory.path, hint: "make room on that disk first")
        }
    }
}
