// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSyncStores
internal import ValetSystem

// Takes in the messages of other devices: docs/SYNC.md §4 "Join", §5 "Reading" and "Own log
// elsewhere".

extension SyncSession {
    private static let reading = "read what other devices have written"

    /// Reads all logs in the open scopes, and joins all that fits.
    ///
    /// - Parameter progress: Is told of each message.
    /// - Throws: ``KeychainFailure``.
    package func readLogs(_ progress: (SyncProgress) -> Void = { _ in }) throws {
        let scopes = try openScopes()
        try lookAtLogs(scopes)
        for scope in scopes {
            try finishJoin(scope, progress)
            try lookAtOwnLog(scope)
            try readAll(scope, progress)
        }
        try showDeferred()
        reportShelves(scopes)
    }

    private func readAll(
        _ scope: KeyScope, _ progress: (SyncProgress) -> Void
    ) throws {
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
    func look<R>(_ body: (Replica) throws -> R) throws -> R {
        let result: R?? = try keychain.read(Self.reading) { view in
            try view.replica.map(body)
        }
        guard let result = result ?? nil else { throw KeychainFailure.circle(.notAMember) }
        return result
    }

    // MARK: The own log

    /// Looks for messages in the own log that this device has not written.
    private func lookAtOwnLog(_ scope: KeyScope) throws {
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

    /// Makes a base bring back the messages of the own log that the store has lost. At most once a
    /// minute: if a store loses everything again and again, each round would otherwise write all
    /// items.
    private func putBackLost(_ scope: KeyScope) throws {
        let now = machine.milliseconds()
        if let last = lossTimes[scope], now >= last, now - last < 60_000 {
            report.add(.storeWasSetBack, scope: scope)
        } else {
            lossTimes[scope] = now
            try putBack(scope)
        }
    }

    /// Takes a new log, because a copy of this keychain writes in the old one, or has written.
    private func leaveLog(_ scope: KeyScope, because elsewhere: Elsewhere) throws {
        var foreign: [SyncHash] = []
        if case .foreign(let messages) = elsewhere { foreign = messages.map(\.hash).sorted() }
        let log = LogID(of: circle.device, random: machine.random(), foreign: foreign)
        let place = try ownPlace(scope)
        let shown = Set((shelves[place]?.all ?? []).map(\.hash))
        try keychain.update(Self.reading) { update in
            guard let own = update.replica?[scope].own else { return }
            let isShown = own.unconfirmed.map { shown.contains($0.hash) }
            if isShown == true { update.replica?.confirm(in: scope) }
            update.outgoing[scope] = nil
            update.replica?[scope].leaveLog(
                for: log, because: elsewhere, isShown: isShown ?? true)
        }
        report.add(.copied, scope: scope)
    }

    func ownPlace(_ scope: KeyScope) throws -> LogPlace {
        LogPlace(circle.circle, circle.device, scope, try look { $0[scope].own.id })
    }

    // MARK: Messages

    /// Joins the next message of a log.
    ///
    /// - Returns: Whether one was joined.
    private func readNext(
        _ place: LogPlace, _ progress: (SyncProgress) -> Void
    ) throws -> Bool {
        guard let shelf = shelves[place] else { return false }
        if try look({ $0[place.scope].isRetired(place.log) }) {
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
        let isJoined: Bool
        do {
            isJoined = try join(message, under: key, place)
        } catch let error as SyncError {
            if let entry = shelf.entry(of: stored.hash) {
                shelves[place]?.refuse(entry.name, .invalid(error.rule))
            }
            return false
        }
        if isJoined { progress(SyncProgress(place.device, place.scope, stored.name.number)) }
        return isJoined
    }

    private func reportTwoHistories(_ place: LogPlace) throws {
        report.add(.twoHistories, device: place.device, scope: place.scope)
        guard try look({ $0[place.scope].owesNews(of: place.log) }) else { return }
        try keychain.update(Self.reading) { $0.replica?[place.scope].oweTable() }
    }

    /// The last message that counts in the log of a device that has left.
    private func lastNumber(of place: LogPlace) -> UInt64 {
        guard case .left(let leaver) = roster.membership(of: place.device) else { return .max }
        return leaver.last.first { $0.scope == place.scope && $0.name.log == place.log }?
            .name.number ?? 0
    }

    private func join(
        _ message: VerifiedMessage, under key: CircleKeyring.Held, _ place: LogPlace
    ) throws -> Bool {
        switch message.header.kind {
        case .batch: try join(message.batch(under: key.key), message, place)
        case .base: try join(message.base(under: key.key), message, under: key, place)
        }
    }

    private func join(
        _ batch: Batch, _ message: VerifiedMessage, _ place: LogPlace
    ) throws -> Bool {
        if try isOwnLogNamed(in: batch.table, by: place) { return true }
        let scope = place.scope
        let records = Dictionary(
            batch.records.map {
                (Dot(log: place.log, number: message.header.name.number, tag: $0.tag), $0)
            }, uniquingKeysWith: { first, _ in first })
        let isLarge = batch.records.count > machine.sliceCount
        let start: JoinStart = try keychain.update(Self.reading) { update in
            if isLarge { try update.setIncoming(message.encoded, scope) }
            do {
                let summaries = try batch.records.map { try update.summary(of: $0, in: scope) }
                return self.begin(
                    IncomingMessage(
                        batch, named: message.header.name, hash: message.hash,
                        summaries: summaries), in: scope, update)
            } catch let error as SyncError {
                return .invalid(error)
            }
        }
        guard try isBegun(start, place) else { return false }
        try continueJoin(scope) { dot, _ in records[dot] }
        try dropExcessReplaced(place)
        noteJoinTarget(message, batch.table)
        report.saw(place, batch.milliseconds, batch.table)
        return true
    }

    /// Begins a join in a transaction.
    func begin(
        _ incoming: IncomingMessage, in scope: KeyScope, _ update: SyncUpdate
    ) -> JoinStart {
        let isAccepted = report.accepted.contains(incoming.name.log.high)
        let room = update.replacedRoom(machine.replacedCount)
        let refusal = update.replica?[scope].begin(incoming, room: isAccepted ? .max : room)
        return (refusal ?? nil).map(JoinStart.refused) ?? .begun
    }

    /// Drops replaced values, after a message that may have replaced more than fit.
    func dropExcessReplaced(_ place: LogPlace) throws {
        guard report.accepted.contains(place.device.high) else { return }
        let count = machine.replacedCount
        try keychain.update(Self.reading) { try $0.dropExcessReplaced(count) }
    }

    /// Whether a join was begun. If the message cannot be joined, its log waits.
    ///
    /// - Throws: ``SyncError`` for a message that breaks a rule.
    func isBegun(_ start: JoinStart, _ place: LogPlace) throws -> Bool {
        if case .begun = start { return true }
        try forgetIncoming(place.scope)
        guard case .refused(let refusal) = start else {
            if case .invalid(let error) = start { throw error }
            return false
        }
        switch refusal {
        case .recordAboveTable: throw SyncError(.invalid, .dot, in: .base)
        case .tooManyLogs: report.add(.tooManyLogs, device: place.device, scope: place.scope)
        case .cloudIsFull: report.add(.cloudIsFull, device: place.device, scope: place.scope)
        case .replacedValuesAreFull:
            report.add(.replacedValuesAreFull, device: place.device, scope: place.scope)
        }
        return false
    }

    /// Joins the rest of the message that was begun, slice by slice. Local calls go first between
    /// two slices.
    func continueJoin(
        _ scope: KeyScope, _ record: (Dot, SyncUpdate) throws -> SyncRecord?
    ) throws {
        var isFinished = false
        while !isFinished {
            try checkpoint()
            isFinished = try keychain.update(Self.reading) { update in
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

    /// Finishes a join that was broken off.
    private func finishJoin(
        _ scope: KeyScope, _ progress: (SyncProgress) -> Void
    ) throws {
        let bytes: [UInt8]? = try keychain.update(Self.reading) { try $0.incoming(scope) }
        guard let bytes else { return }
        guard let received = try? ReceivedMessage(parsing: bytes) else {
            return try forgetIncoming(scope)
        }
        let header = received.header
        let place = LogPlace(header.circle, header.device, scope, header.name.log)
        guard let member = author(of: place),
            let message = try? verified(bytes, in: place, by: member),
            let key = try keyring(scope)?[header.keyID]
        else { return try forgetIncoming(scope) }
        if try join(message, under: key, place) {
            progress(SyncProgress(place.device, scope, header.name.number))
        }
    }

    func forgetIncoming(_ scope: KeyScope) throws {
        try keychain.update(Self.reading) { try $0.setIncoming(nil, scope) }
    }

    /// Takes a new log if the table of a message names the own log wrongly.
    func isOwnLogNamed(in table: LogTable, by place: LogPlace) throws -> Bool {
        let elsewhere: Elsewhere? = try keychain.update(Self.reading) { update in
            update.replica?[place.scope].inspect(table, of: place.log.high)
        }
        guard let elsewhere else { return false }
        report.add(.claims, device: place.device, scope: place.scope)
        try leaveLog(place.scope, because: elsewhere)
        return true
    }

    /// Keeps the values of foreign messages that arrived late in a log that this device has left.
    private func readLate(_ place: LogPlace, _ messages: [StoredMessage]) throws {
        let late: [StoredMessage] = try keychain.update(Self.reading) { update in
            update.replica?[place.scope].inspectRetired(place.log, messages)
            return update.replica?[place.scope].late(in: place.log, messages) ?? []
        }
        for stored in late {
            guard let message = try fetch(stored.hash, in: place), message.header.kind == .batch,
                let key = try keyring(place.scope)?[message.header.keyID],
                let batch = try? message.batch(under: key.key)
            else { continue }
            try keychain.update(Self.reading) { update in
                try update.keepReplaced(batch.records, in: place.scope)
                update.replica?[place.scope].keptLate(stored)
            }
        }
    }

    /// Writes the rows that could not be written before.
    private func showDeferred() throws {
        try keychain.update(Self.reading) { update in
            var changes: [ReplicaChange] = []
            update.replica?.showDeferred(self.view(isLocked: update.isLocked), &changes)
            try update.apply(changes, bringing: [:])
        }
    }
}

/// A message was joined.
package struct SyncProgress: Hashable, Sendable {
    /// Its author.
    package let device: DeviceID
    package let scope: KeyScope
    /// Its number in the author's log.
    package let number: UInt64

    init(_ device: DeviceID, _ scope: KeyScope, _ number: UInt64) {
        (self.device, self.scope, self.number) = (device, scope, number)
    }
}

/// How the join of a message began.
enum JoinStart {
    /// The join goes on slice by slice.
    case begun
    /// Its log waits.
    case refused(JoinRefusal)
    /// Its author broke a rule.
    case invalid(SyncError)
}
