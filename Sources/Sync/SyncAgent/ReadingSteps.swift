// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

// Takes in the messages of other devices: docs/SYNC.md §4 "Join", §5 "Reading" and "Own log
// elsewhere".

extension SyncSession {
    private static let reading = "read what other devices have written"

    /// Reads all logs in the open scopes, and joins what fits. `progress` runs after each message.
    package func readLogs(_ progress: () -> Void = {}) throws(KeychainFailure) {
        let scopes = try openScopes()
        try lookAtLogs(scopes)
        for scope in scopes {
            try finishJoin(scope, progress)
            try lookAtOwnLog(scope)
            try readAll(scope, progress)
        }
        try showDeferred()
        try reportShelves(scopes)
    }

    private func readAll(_ scope: KeyScope, _ progress: () -> Void) throws(KeychainFailure) {
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            let places = shelves.keys.filter { $0.scope == scope }.sorted { $0.log < $1.log }
            // A log that this device has left is read to its end before the others.
            let (retired, others) = try look { replica in
                let left = replica[scope].retiredLogs
                let own = replica[scope].own.id
                return (
                    places.filter { left.contains($0.log) },
                    places.filter { !left.contains($0.log) && $0.log != own }
                )
            }
            for place in retired + others {
                while try readNext(place, progress) {
                    isProgressing = true
                    try checkpoint()
                }
            }
        }
    }

    /// Lends the replica as of its last transaction. Do not keep a copy: the next change of the
    /// replica would then copy all of it.
    func look<R>(_ body: (Replica) -> R) throws(KeychainFailure) -> R {
        let result = try keychain.read(Self.reading) { (view) throws(KeychainFailure) in
            try view.replica.map(body)
        }
        guard let result = result ?? nil else { throw KeychainFailure.circle(.notAMember) }
        return result
    }

    // MARK: The own log

    /// Looks for messages in the own log that this device has not written.
    private func lookAtOwnLog(_ scope: KeyScope) throws(KeychainFailure) {
        let place = try ownPlace(scope)
        let own = place.log
        let messages = shelves[place]?.all ?? []
        if let last = messages.max(by: { $0.name < $1.name }) {
            heads[own] = LogPosition(number: last.name.number, hash: last.hash)
        } else {
            heads[own] = nil
        }
        let (elsewhere, hasLost) = try keychain.update(Self.reading) { update in
            (
                update.replica?[scope].inspectOwnLog(messages),
                update.replica?[scope].hasLost(from: messages) ?? false
            )
        }
        if let elsewhere {
            try leaveLog(scope, because: elsewhere)
        } else if hasLost, shelves[place]?.isTooLong == false {
            try putBackLost(scope)
        }
    }

    /// Makes a base due, at most once a minute, that restores the messages of the own log that the
    /// store has lost. Without this limit, each round would write all items to a store that keeps
    /// losing everything.
    private func putBackLost(_ scope: KeyScope) throws(KeychainFailure) {
        let now = machine.milliseconds()
        if let last = lossTimes[scope], now >= last, now - last < 60_000 {
            report.add(.storeWasSetBack, scope: scope)
        } else {
            lossTimes[scope] = now
            try putBack(scope)
        }
    }

    /// Begins a new log, because a copy of this keychain writes or has written in the old one.
    private func leaveLog(_ scope: KeyScope, because elsewhere: Elsewhere) throws(KeychainFailure) {
        var foreign: [SyncHash] = []
        if case .foreign(let messages) = elsewhere { foreign = messages.map(\.hash).sorted() }
        let log = LogID(of: circle.device, random: machine.random(), foreign: foreign)
        let place = try ownPlace(scope)
        let shown = Set((shelves[place]?.all ?? []).map(\.hash))
        try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
            guard let own = update.replica?[scope].own else { return }
            let isShown = own.unconfirmed.map { shown.contains($0.hash) }
            if isShown == true { update.replica?.confirm(in: scope) }
            update.outgoing[scope] = nil
            update.replica?[scope].leaveLog(for: log, because: elsewhere, isShown: isShown ?? true)
        }
        report.add(.copied, scope: scope)
    }

    func ownPlace(_ scope: KeyScope) throws(KeychainFailure) -> LogPlace {
        LogPlace(circle.circle, circle.device, scope, try look { $0[scope].own.id })
    }

    // MARK: Messages

    /// Joins the next message of a log.
    ///
    /// - Returns: Whether one was joined.
    private func readNext(
        _ place: LogPlace, _ progress: () -> Void
    ) throws(KeychainFailure) -> Bool {
        // The user may have locked the keychain since the round began.
        guard try openScopes().contains(place.scope), let shelf = shelves[place] else {
            return false
        }
        if try look({ $0[place.scope].retiredLogs.contains(place.log) }) {
            try readLate(place, shelf.all)
        }
        let last = lastNumber(of: place)
        let choice = try look {
            $0[place.scope].choose(from: shelf.messages, of: place.log, upTo: last)
        }
        guard case .join(let stored) = choice else {
            if choice == .twoHistories { try reportTwoHistories(place) }
            if choice == .waits { waitingLogs.insert(place) } else { waitingLogs.remove(place) }
            return false
        }
        guard let message = try fetch(stored.hash, in: place),
            let key = try keyring(place.scope)?[message.header.keyID]
        else { return false }
        recent.forget(stored.hash)
        switch try join(message, under: key, place) {
        case .success(true): break
        case .success(false): return false
        case .failure(let error):
            if let entry = shelf.entry(of: stored.hash) {
                shelves[place]?.refuse(entry.name, .invalid(error.rule))
            }
            return false
        }
        progress()
        return true
    }

    private func reportTwoHistories(_ place: LogPlace) throws(KeychainFailure) {
        report.add(.twoHistories, device: place.device, scope: place.scope)
        guard try look({ $0[place.scope].owesNews(of: place.log) }) else { return }
        try keychain.update(Self.reading) { $0.replica?[place.scope].oweTable() }
    }

    /// The number of the last message that counts in a log: no limit, unless its device has left.
    private func lastNumber(of place: LogPlace) -> UInt64 {
        guard case .left(let leaver) = roster.membership(of: place.device) else { return .max }
        return leaver.last.first { $0.scope == place.scope && $0.name.log == place.log }?
            .name.number ?? 0
    }

    /// Whether a message was joined; a failure if its author broke a rule.
    typealias Joined = Result<Bool, SyncError>

    private func join(
        _ message: VerifiedMessage, under key: CircleKeyring.Held, _ place: LogPlace
    ) throws(KeychainFailure) -> Joined {
        let contents = Result { () throws(SyncError) -> (Batch?, Base?) in
            message.header.kind == .batch
                ? (try message.batch(under: key.key), nil) : (nil, try message.base(under: key.key))
        }
        switch contents {
        case .success((let batch?, _)): return try join(batch, message, place)
        case .success((nil, let base?)): return try join(base, message, under: key, place)
        case .success((nil, nil)): return .success(false)
        case .failure(let error): return .failure(error)
        }
    }

    private func join(
        _ batch: Batch, _ message: VerifiedMessage, _ place: LogPlace
    ) throws(KeychainFailure) -> Joined {
        if try isOwnLogNamed(in: batch.table, by: place) { return .success(true) }
        let scope = place.scope
        let records = Dictionary(
            batch.records.map {
                (Dot(log: place.log, number: message.header.name.number, tag: $0.tag), $0)
            }, uniquingKeysWith: { first, _ in first })
        let isLarge = max(batch.records.count, batch.covers.count) > machine.sliceCount
        let begun: Joined = try keychain.update(Self.reading) {
            (update) throws(KeychainFailure) in
            if isLarge { try update.setIncoming(message.encoded, scope) }
            var summaries: [RecordSummary] = []
            for record in batch.records {
                switch try update.summary(of: record, in: scope) {
                case .success(let summary): summaries.append(summary)
                case .failure(let error): return .failure(error)
                }
            }
            return try self.begin(
                IncomingMessage(
                    batch, named: message.header.name, hash: message.hash, summaries: summaries),
                in: place, update)
        }
        return try finish(begun, message, place, (batch.milliseconds, batch.table)) { dot, _ in
            records[dot]
        }
    }

    /// Joins the records of a message, if `begun` says that its join was begun. Otherwise forgets
    /// the message and returns `begun`.
    func finish(
        _ begun: Joined, _ message: VerifiedMessage, _ place: LogPlace,
        _ said: (milliseconds: UInt64, table: LogTable),
        _ record: (Dot, SyncUpdate) throws(KeychainFailure) -> SyncRecord?
    ) throws(KeychainFailure) -> Joined {
        guard case .success(true) = begun else {
            try forgetIncoming(place.scope)
            return begun
        }
        try continueJoin(place.scope, record)
        if report.accepted.contains(place.device.high) {
            // The message may have replaced more values than fit.
            let count = machine.replacedCount
            try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
                try update.dropExcessReplaced(count)
            }
        }
        noteJoinTarget(message, said.table)
        report.saw(place, said.milliseconds, said.table)
        return .success(true)
    }

    func begin(
        _ incoming: IncomingMessage, in place: LogPlace, _ update: SyncUpdate
    ) throws(KeychainFailure) -> Joined {
        let isAccepted = report.accepted.contains(place.device.high)
        let room = isAccepted ? .max : try update.roomForReplaced(machine.replacedCount)
        let refusal = update.replica?[place.scope].begin(incoming, room: room)
        let trouble: SyncReport.Kind
        switch refusal ?? nil {
        case nil: return .success(true)
        case .recordAboveTable: return .failure(SyncError(.invalid, .dot, in: .base))
        case .tooManyLogs: trouble = .tooManyLogs
        case .cloudIsFull: trouble = .cloudIsFull
        case .replacedValuesAreFull: trouble = .replacedValuesAreFull
        }
        report.add(trouble, device: place.device, scope: place.scope)
        return .success(false)
    }

    /// Joins the rest of the message whose join was begun, in slices of one transaction each.
    /// Between two slices, local calls go first.
    private func continueJoin(
        _ scope: KeyScope, _ record: (Dot, SyncUpdate) throws(KeychainFailure) -> SyncRecord?
    ) throws(KeychainFailure) {
        var isFinished = false
        while !isFinished {
            try checkpoint()
            isFinished = try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
                var changes: [ReplicaChange] = []
                let view = self.view(isLocked: update.isLocked)
                let isDone =
                    update.replica?.continueJoin(
                        in: scope, atMost: machine.sliceCount, view, &changes) ?? true
                var records: [Dot: SyncRecord] = [:]
                for case .record(_, .keep(let dot)) in changes {
                    records[dot] = try record(dot, update)
                }
                try update.apply(changes, bringing: records)
                if isDone { try update.setIncoming(nil, scope) }
                return isDone
            }
        }
    }

    private func finishJoin(_ scope: KeyScope, _ progress: () -> Void) throws(KeychainFailure) {
        let bytes = try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
            try update.incoming(scope)
        }
        guard let bytes else { return }
        guard let received = try? ReceivedMessage(parsing: bytes) else {
            return try forgetIncoming(scope)
        }
        let header = received.header
        let place = LogPlace(header.circle, header.device, scope, header.name.log)
        // A join that has begun is finished even if its author was removed since: half of it would
        // leave records that no table contains.
        guard let member = author(of: place) ?? roster.signers[place.device],
            let message = try? verified(bytes, in: place, by: member),
            let key = try keyring(scope)?[header.keyID]
        else { return try forgetIncoming(scope) }
        switch try join(message, under: key, place) {
        case .success(true): progress()
        case .success(false), .failure: try forgetIncoming(scope)
        }
    }

    func forgetIncoming(_ scope: KeyScope) throws(KeychainFailure) {
        try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
            try update.setIncoming(nil, scope)
        }
    }

    /// Begins a new log if the table of a message names a message of the own log that this device
    /// has not built.
    ///
    /// - Returns: Whether it began one.
    func isOwnLogNamed(in table: LogTable, by place: LogPlace) throws(KeychainFailure) -> Bool {
        let elsewhere: Elsewhere? = try keychain.update(Self.reading) { update in
            update.replica?[place.scope].inspect(table, of: place.log.high)
        }
        guard let elsewhere else { return false }
        report.add(.claims, device: place.device, scope: place.scope)
        try leaveLog(place.scope, because: elsewhere)
        return true
    }

    /// Keeps the values of foreign messages that arrived late in a log that this device has left.
    private func readLate(_ place: LogPlace, _ messages: [StoredMessage]) throws(KeychainFailure) {
        let late: [StoredMessage] = try keychain.update(Self.reading) { update in
            update.replica?[place.scope].inspectRetired(place.log, messages)
            return update.replica?[place.scope].late(in: place.log, messages) ?? []
        }
        for stored in late {
            guard let message = try fetch(stored.hash, in: place), message.header.kind == .batch,
                let key = try keyring(place.scope)?[message.header.keyID],
                let batch = try? message.batch(under: key.key)
            else { continue }
            try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
                try update.keepReplaced(batch.records, in: place.scope)
                update.replica?[place.scope].keptLate(stored)
            }
        }
    }

    private func showDeferred() throws(KeychainFailure) {
        try keychain.update(Self.reading) { (update) throws(KeychainFailure) in
            var changes: [ReplicaChange] = []
            update.replica?.showDeferred(self.view(isLocked: update.isLocked), &changes)
            try update.apply(changes, bringing: [:])
        }
    }
}
