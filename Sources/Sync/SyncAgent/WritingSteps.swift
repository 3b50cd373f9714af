// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

// Writes the local changes: docs/SYNC.md §4 "Build", §5 "Writing". A batch is built, numbered and
// stored in one transaction. It is then sent unchanged until the store has it.

extension SyncSession {
    private static let writing = "write for other devices"
    /// The most batches that one ``sendPending()`` writes for a scope. After these, the logs of
    /// other devices are read again.
    private static let batchLimit = 256

    /// Builds and sends batches of what is pending in the open scopes.
    ///
    /// - Returns: Whether the store has every batch that was built. Changes may still be pending.
    /// - Throws: ``KeychainFailure``, ``KeychainFailure/Code/noCircleKeys``.
    @discardableResult
    package func sendPending() throws(KeychainFailure) -> Bool {
        var isDone = true
        for scope in try openScopes() {
            guard try send(scope) else {
                isDone = false
                continue
            }
            // A base that was broken off has used its number, and nothing else goes on with it.
            if try look({ $0[scope].own.openBase != nil }) { try abandonBase(scope) }
            for _ in 0..<Self.batchLimit {
                try checkpoint()
                guard try build(scope) else { break }
                guard try send(scope) else {
                    isDone = false
                    break
                }
            }
        }
        return isDone
    }

    /// Builds the next batch of a scope.
    ///
    /// - Returns: Whether it built one.
    private func build(_ scope: KeyScope) throws(KeychainFailure) -> Bool {
        let key = try newestKey(in: scope)
        guard try look({ $0[scope].mayBuildBatch }) else { return false }
        let (circle, machine) = (circle, machine)
        var unsendable: [UnsendableItem] = []
        let isBuilt = try keychain.update(Self.writing) { (update) throws(KeychainFailure) in
            guard update.replica?[scope].hasNews == true else { return false }
            let draft = try update.draftBatch(in: scope)
            unsendable = update.unsendable
            guard let draft else { return false }
            let batch = draft.batch(at: machine.milliseconds())
            let header = self.header(.batch, draft.name, after: draft.previous, scope, key)
            let signed = try update.withSecret(scope) { (secret) throws(KeychainFailure) in
                batch.built(
                    header, under: key.key,
                    signedBy: ScopeIdentity(secret, scope, circle: circle.circleOfKeys).signing,
                    random: machine.random())
            }
            guard let built = signed else { return false }
            var changes: [ReplicaChange] = []
            update.replica?.add(
                draft, hash: built.hash, in: scope, self.view(isLocked: update.isLocked),
                &changes)
            update.replica?[scope].countBatch(byteCount: built.bytes.count)
            let records = Dictionary(
                draft.records.map {
                    (Dot(log: draft.name.log, number: draft.name.number, tag: $0.tag), $0)
                }, uniquingKeysWith: { first, _ in first })
            update.outgoing[scope] = built.bytes
            try update.apply(changes, bringing: records)
            return true
        }
        for (kind, reason) in [
            (SyncReport.Kind.tooLarge, UnsendableItem.Reason.tooLarge),
            (.unreadableRecord, .damaged),
        ] {
            report.add(kind, scope: scope, count: unsendable.count { $0.reason == reason })
        }
        return isBuilt
    }

    /// The header of a message of this device. It names the newest roster entry that the device has
    /// accepted.
    func header(
        _ kind: MessageHeader.Kind, _ name: MessageName, after previous: SyncHash,
        _ scope: KeyScope, _ key: CircleKeyring.Held
    ) -> MessageHeader {
        let place = LogPlace(circle.circle, circle.device, scope, name.log)
        return MessageHeader(
            kind, name.number, in: place, after: previous,
            naming: (roster.acceptedHash, key.key.id))
    }

    /// Sends the batch that is not confirmed, if there is one.
    ///
    /// - Returns: false if another copy of this keychain may have written in the log: the next
    ///   round reads the log.
    private func send(_ scope: KeyScope) throws(KeychainFailure) -> Bool {
        let bytes: [UInt8]? = try keychain.update(Self.writing) { $0.outgoing[scope] }
        guard let bytes else { return true }
        guard let message = try? ReceivedMessage(parsing: bytes) else {
            throw KeychainFailure(
                .damaged, during: Self.writing, message: "the message that is to be sent",
                hint: "`valet sync leave --here`, then join the circle anew")
        }
        let name = message.header.name
        let place = LogPlace(circle.circle, circle.device, scope, name.log)
        let position = LogPosition(number: name.number, hash: message.hash)
        // The process that sent it may have died after the store had it.
        let isThere = heads[name.log] == position
        let outcome =
            try isThere
            ? .stored
            : store.append(
                bytes, at: position, to: .log(place), after: heads[name.log],
                by: storeDeadline)
        switch outcome {
        case .stored: heads[name.log] = position
        case .taken: return false
        case .otherHead(let head):
            guard try isOlderOfOurs(head, scope) else { return false }
            // `putBack` makes a base due, which contains this batch.
            heads[name.log] = head
            try putBack(scope)
        }
        try keychain.update(Self.writing) { update in
            update.outgoing[scope] = nil
            update.replica?.confirm(in: scope)
        }
        return true
    }

    /// Makes a base and a batch due, because the store was set back and lost messages of the own
    /// log. The base restores their contents.
    func putBack(_ scope: KeyScope) throws(KeychainFailure) {
        report.add(.storeWasSetBack, scope: scope)
        try keychain.update(Self.writing) { update in
            update.replica?[scope].oweBase()
            update.replica?[scope].oweTable()
        }
    }

    /// Whether the head that the store shows is a message that this device has built. Also true if
    /// the store shows none.
    private func isOlderOfOurs(_ head: LogPosition?, _ scope: KeyScope) throws(KeychainFailure)
        -> Bool
    {
        guard let head else { return true }
        return try look { replica in
            let own = replica[scope].own
            return own.isOwn(
                StoredMessage(
                    name: MessageName(log: own.id, number: head.number), hash: head.hash,
                    previous: .zero, base: nil))
        }
    }
}
