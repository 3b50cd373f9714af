// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSystem

// Writes bases, and deletes files that a base has made unnecessary: docs/SYNC.md §4 "A base brings
// nothing new", §5 "Writing".

extension SyncSession {
    /// The most files that are read in search of one part.
    private static let partCandidateCount = 1_024
    private static let writingBase = "write a base for other devices"

    func isBaseDue(_ scope: KeyScope) throws(KeychainFailure) -> Bool {
        var messages: [LogID: [StoredMessage]] = [:]
        for (place, shelf) in shelves where place.scope == scope {
            guard case .member = roster.membership(of: place.device) else { continue }
            messages[place.log, default: []] += shelf.messages
        }
        let (isDue, unreachable) = try look { replica in
            (replica[scope].isBaseDue, replica[scope].unreachable(in: messages))
        }
        let lasting = lasting.unreachable[scope, default: LastingStates()].update(
            unreachable, at: machine.milliseconds())
        return isDue || !lasting.isEmpty
    }

    /// Writes a base now, unless a pending change has to go into a batch first.
    ///
    /// - Returns: Whether the base is in the store.
    /// - Throws: ``KeychainFailure``, ``KeychainFailure/Code/noCircleKeys``.
    @discardableResult
    package func sendBase(_ scope: KeyScope) throws(KeychainFailure) -> Bool {
        let key = try newestKey(in: scope)
        let (draft, snapshot) = try keychain.updateBeginningBase(Self.writingBase) {
            update -> BaseDraft? in
            // A base that was broken off has used its number.
            update.replica?[scope].abandonBase()
            guard update.replica?[scope].mayBeginBase == true else { return nil }
            return update.replica?[scope].beginBase()
        }
        defer { snapshot?.close() }
        guard let draft else { return false }
        guard let snapshot else {
            try abandonBase(scope)
            return false
        }
        do {
            guard let built = try write(draft, scope, key, snapshot) else {
                try abandonBase(scope)
                return false
            }
            return try append(built, draft, scope)
        } catch {
            try abandonBase(scope)
            throw error
        }
    }

    func abandonBase(_ scope: KeyScope) throws(KeychainFailure) {
        try keychain.update(Self.writingBase) { $0.replica?[scope].abandonBase() }
    }

    private typealias Written = (message: BuiltMessage, byteCount: Int)

    /// Puts the parts into the store, one by one, and builds the base.
    ///
    /// - Returns: Nil if a live record cannot be read (`valet doctor` names it), if the base has
    ///   too many parts, or if the scope is closed.
    private func write(
        _ draft: BaseDraft, _ scope: KeyScope, _ key: CircleKeyring.Held,
        _ snapshot: HeldSnapshot
    ) throws(KeychainFailure) -> Written? {
        let header = header(.base, draft.name, after: draft.previous, scope, key)
        var writer = PartWriter(self, header, draft.table, key)
        let dots = (Array(draft.live.keys) + Array(draft.cloud)).sorted()
        for dot in dots {
            try checkpoint()
            var record: SyncRecord?
            if draft.live[dot] != nil {
                do {
                    record = try snapshot.record(dot, in: scope)
                } catch {
                    guard error.code == .damaged else { throw error }
                    report.add(.unreadableRecord, scope: scope)
                    return nil
                }
            }
            try writer.append(BasePart.Entry(dot, record))
        }
        try writer.finish()
        guard writer.hashes.count <= Base.maximalPartCount else {
            report.add(.circleIsTooLarge, scope: scope)
            return nil
        }
        let base = draft.base(at: machine.milliseconds(), parts: writer.hashes)
        let built = try withIdentity(scope) {
            base.built(header, under: key.key, signedBy: $0.signing, random: machine.random())
        }
        return built.map { ($0, writer.byteCount + $0.bytes.count) }
    }

    private func append(
        _ built: Written, _ draft: BaseDraft, _ scope: KeyScope
    ) throws(KeychainFailure) -> Bool {
        // The hash must be known afterwards, whatever becomes of the base.
        try keychain.update(Self.writingBase) {
            $0.replica?[scope].sendBase(hash: built.message.hash)
        }
        let place = LogPlace(circle.circle, circle.device, scope, draft.name.log)
        let position = LogPosition(number: draft.name.number, hash: built.message.hash)
        let outcome = try store.append(
            built.message.bytes, at: position, to: .log(place), after: heads[draft.name.log],
            by: storeDeadline)
        guard outcome == .stored else {
            if case .otherHead(let head) = outcome { heads[draft.name.log] = head }
            try abandonBase(scope)
            return false
        }
        heads[draft.name.log] = position
        try keychain.update(Self.writingBase) { update in
            update.replica?[scope].confirmBase(draft)
            update.replica?[scope].countBase(byteCount: built.byteCount)
        }
        times.bases[place.log] = LogTimes.Base(
            number: draft.name.number, milliseconds: machine.milliseconds())
        try keepTimes()
        return true
    }
}

private struct PartWriter {
    private(set) var hashes: [SyncHash] = []
    private(set) var byteCount = 0
    private let session: SyncSession
    private let header: MessageHeader
    private let table: LogTable
    private let key: CircleKeyring.Held
    private var entries: [BasePart.Entry] = []
    private var plaintextByteCount = BasePart.emptyByteCount

    init(
        _ session: SyncSession, _ header: MessageHeader, _ table: LogTable,
        _ key: CircleKeyring.Held
    ) {
        (self.session, self.header, self.table, self.key) = (session, header, table, key)
    }

    mutating func append(_ entry: BasePart.Entry) throws(KeychainFailure) {
        if plaintextByteCount + entry.byteCount > BasePart.maximalPlaintextByteCount {
            try finish()
        }
        entries.append(entry)
        plaintextByteCount += entry.byteCount
    }

    mutating func finish() throws(KeychainFailure) {
        guard !entries.isEmpty else { return }
        let index = UInt32(hashes.count)
        let part = BasePart(entries: entries).built(
            BasePart.Place(header, index: index), table: table, under: key.key,
            random: session.machine.random())
        let place = LogPlace(header.circle, header.device, header.scope, header.name.log)
        let outcome = try session.store.put(
            [StoreFile(number: header.name.number, part: index, bytes: part.bytes)],
            in: .log(place), by: session.storeDeadline)
        guard outcome == .stored else {
            throw KeychainFailure.store(
                .storeMalformed, during: "write a base", reason: "its name is taken")
        }
        hashes.append(part.hash)
        byteCount += part.bytes.count
        entries = []
        plaintextByteCount = BasePart.emptyByteCount
    }
}

// MARK: - Deleting

/// Times that decide when unnecessary files may be deleted.
struct LogTimes: Hashable {
    struct Base: Hashable, ByteField {
        let number: UInt64
        let milliseconds: UInt64

        init(number: UInt64, milliseconds: UInt64) {
            (self.number, self.milliseconds) = (number, milliseconds)
        }

        init<E>(from reader: inout ByteReader<E>) throws(E) {
            (number, milliseconds) = try reader.fields()
        }

        func append(to bytes: inout [UInt8]) { bytes += [UInt8](fields: number, milliseconds) }
    }

    /// The last base in each own log.
    var bases: [LogID: Base] = [:]
    /// When each retired log of this device was last seen to grow, and up to which number.
    var retired: [LogID: Base] = [:]
    /// The devices that were removed or have left and whose logs are still to be deleted, and since
    /// when; `.max` until this device has read all of their messages that count.
    var removed: [DeviceID: UInt64] = [:]
    /// When broken-off writes and forgotten mails were last removed from the store.
    var leftovers: UInt64 = 0

    init() {}

    /// Parses ``bytes``. If they are malformed, all times are empty, and logs are deleted later.
    init(parsing bytes: [UInt8]) {
        do {
            (bases, retired, removed, leftovers) = try bytes.fields(of: .message)
        } catch {
            self = LogTimes()
        }
    }

    var bytes: [UInt8] { [UInt8](fields: bases, retired, removed, leftovers) }
}

extension SyncSession {
    private static let day: UInt64 = 86_400_000

    func keepTimes() throws(KeychainFailure) {
        let bytes = times.bytes
        try keychain.set(.logTimes, bytes, during: "note when logs were written")
    }

    /// Schedules one deletion of the logs of devices that have left or are about to be removed.
    /// ``tidy()`` deletes them when a day has passed since `milliseconds`, and both scopes have a
    /// base that was written since then. It forgets this of devices that are still members.
    ///
    /// - Parameter milliseconds: When this device had read all of their messages that count; `.max`
    ///   if that is still to come.
    package func deleteLogsLater(of devices: [DeviceID], since milliseconds: UInt64)
        throws(KeychainFailure)
    {
        for device in devices where times.removed[device] == nil {
            times.removed[device] = milliseconds
        }
        try keepTimes()
    }

    func oweBases() throws(KeychainFailure) {
        try keychain.update(Self.writingBase) { update in
            for scope in KeyScope.allCases { update.replica?[scope].oweBase() }
        }
    }

    /// Whether this device has read all messages that the *leave* of `device` names; true for a
    /// device that was removed, of which no further message counts.
    func hasRead(_ device: DeviceID) throws(KeychainFailure) -> Bool {
        guard case .left(let leaver) = roster.membership(of: device) else { return true }
        guard try openScopes().contains(.whileUnlocked) else { return false }
        return try look { replica in
            leaver.last.allSatisfy {
                replica[$0.scope].position(of: $0.name.log).number >= $0.name.number
            }
        }
    }

    /// Whether both scopes have a base that was written since `milliseconds`.
    private func haveBases(since milliseconds: UInt64) throws(KeychainFailure) -> Bool {
        guard try openScopes().contains(.whileUnlocked) else { return false }
        let bases = times.bases
        return try look { replica in
            KeyScope.allCases.allSatisfy {
                bases[replica[$0].own.id].map { $0.milliseconds >= milliseconds } ?? false
            }
        }
    }

    /// Deletes the logs of devices that were removed or have left, once bases replace them.
    private func deleteForeignLogs(_ now: UInt64) throws(KeychainFailure) {
        let before = times.removed
        for (device, since) in before.sorted(by: { $0.key < $1.key }) {
            if roster.accepted.members[device] != nil {
                // Its removal was noted, and then not published.
                times.removed[device] = nil
            } else if since == .max {
                guard try hasRead(device) else { continue }
                // A base that was written before lacks what came late.
                times.removed[device] = now
                try oweBases()
            } else if isDayOld(since, now), try haveBases(since: since) {
                try checkpoint()
                try store.deleteLogs(of: device, in: circle.circle, by: storeDeadline)
                times.removed[device] = nil
            }
        }
        if times.removed != before { try keepTimes() }
    }

    /// Deletes files that are not needed any more: docs/SYNC.md §5, §6.
    package func tidy() throws(KeychainFailure) {
        let now = machine.milliseconds()
        for scope in try openScopes() {
            let (own, retired) = try look {
                ($0[scope].own, $0[scope].retiredLogs)
            }
            for (place, shelf) in shelves
            where place.scope == scope && place.device == circle.device {
                if place.log == own.id {
                    try deleteBeforeBase(place, shelf, now)
                } else if retired.contains(place.log) {
                    try deleteRetired(place, shelf, now)
                }
            }
        }
        try deleteForeignLogs(now)
        guard isDayOld(times.leftovers, now) else { return }
        times.leftovers = now
        // Nothing depends on this cleanup, so its failure, such as in a folder that others fill,
        // does not end the round.
        try? store.removeLeftovers(by: storeDeadline)
        var last: Int64? = 0
        while let number = last {
            last = try keychain.update("forget items that are gone") {
                (update) throws(KeychainFailure) in
                try update.forgetUnusedNumbers(after: number)
            }
        }
        try keepTimes()
    }

    private func isDayOld(_ milliseconds: UInt64, _ now: UInt64) -> Bool {
        now > milliseconds && now - milliseconds > Self.day
    }

    private func deleteBeforeBase(_ place: LogPlace, _ shelf: LogShelf, _ now: UInt64)
        throws(KeychainFailure)
    {
        guard let base = times.bases[place.log] else { return }
        // A store that was set back may have lost the base. A base of this round is not on the
        // shelf.
        let isThere = shelf.all.contains {
            $0.name.number == base.number && $0.base?.isComplete == true
        }
        guard isThere || base.milliseconds >= report.milliseconds else { return }
        let isElsewhere = report.devices.values.contains {
            $0.reads[place.log] ?? 0 >= base.number
        }
        guard store.guarantee == .inTheStore || isElsewhere || isDayOld(base.milliseconds, now)
        else { return }
        let old = shelf.names.filter { $0.number < base.number }
        guard !old.isEmpty else { return }
        // This device must not delete foreign messages, which a copy of this keychain has written.
        let foreign = try look { replica in
            Set(shelf.all.filter { !replica[place.scope].own.isOwn($0) }.map(\.name.number))
        }
        let names = old.filter { !foreign.contains($0.number) }.sorted()
        if !names.isEmpty { try store.delete(names, in: place, by: storeDeadline) }
    }

    private func deleteRetired(_ place: LogPlace, _ shelf: LogShelf, _ now: UInt64)
        throws(KeychainFailure)
    {
        let last = shelf.names.map(\.number).max() ?? 0
        guard let seen = times.retired[place.log], seen.number == last else {
            times.retired[place.log] = LogTimes.Base(number: last, milliseconds: now)
            return try keepTimes()
        }
        let foreign = try look { replica in
            replica[place.scope].foreign(in: place.log, shelf.all)
        }
        let age = now - min(now, seen.milliseconds)
        let names = shelf.names.filter { name in
            age > (foreign.contains(name.number) ? 365 : 30) * Self.day
        }.sorted()
        if !names.isEmpty { try store.delete(names, in: place, by: storeDeadline) }
    }
}

// Joins a base. Its parts may have many records, so all parts are stored in the keychain before the
// first slice, and each part is opened again when a slice needs its records.

extension SyncSession {
    private static let readingBase = "read a base of another device"

    func join(
        _ base: Base, _ message: VerifiedMessage, under key: CircleKeyring.Held,
        _ place: LogPlace
    ) throws(KeychainFailure) -> Joined {
        if try isOwnLogNamed(in: base.table, by: place) { return .success(true) }
        guard try storeParts(of: base, message, place) else { return .success(false) }
        var parts = OpenedParts(base, message, key, place.scope)
        var live: [Dot: RecordSummary] = [:]
        var cloud: [Dot] = []
        while !parts.isComplete {
            let read = try keychain.update(Self.readingBase) { (update) throws(KeychainFailure) in
                try parts.next(update)
            }
            switch read {
            case .success(let entries):
                for (dot, summary) in entries {
                    if let summary { live[dot] = summary } else { cloud.append(dot) }
                }
            case .failure(let error):
                try forgetIncoming(place.scope)
                return .failure(error)
            }
        }
        let incoming = IncomingMessage(
            base, named: message.header.name, hash: message.hash, live: live, cloud: cloud)
        let begun = try keychain.update(Self.readingBase) { (update) throws(KeychainFailure) in
            try self.begin(incoming, in: place, update)
        }
        return try finish(begun, message, place, (base.milliseconds, base.table)) {
            (dot, update) throws(KeychainFailure) in
            try parts.record(dot, update)
        }
    }

    /// Stores all parts of a base in the keychain, unless a join that was broken off has stored
    /// them.
    ///
    /// - Returns: false if the store does not give all of them.
    private func storeParts(
        of base: Base, _ message: VerifiedMessage, _ place: LogPlace
    ) throws(KeychainFailure) -> Bool {
        let scope = place.scope
        let isKept = try keychain.update(Self.readingBase) { (update) throws(KeychainFailure) in
            guard try update.incoming(scope) == message.encoded else { return false }
            // Parts were stored in their order.
            if base.parts.isEmpty { return true }
            return try update.incomingPart(base.parts.count - 1, scope) != nil
        }
        if isKept { return true }
        guard let shelf = shelves[place], let entry = shelf.entry(of: message.hash),
            let names = shelf.parts(of: entry)
        else {
            try forgetIncoming(scope)
            return false
        }
        try keychain.update(Self.readingBase) { (update) throws(KeychainFailure) in
            try update.setIncoming(message.encoded, scope)
        }
        for chunk in Array(names.enumerated()).chunks(of: StoreLimits.readCount) {
            let answers = try store.read(
                chunk.map { $0.element[0] }, in: .log(place), by: storeDeadline)
            for (part, answer) in zip(chunk, answers) {
                let bytes = try self.part(
                    base.parts[part.offset], answer, else: part.element.dropFirst(), place)
                guard let bytes else {
                    shelves[place]?.brokenBases[message.hash] = shelf.partNames(entry.name.number)
                    try forgetIncoming(scope)
                    return false
                }
                try keychain.update(Self.readingBase) { (update) throws(KeychainFailure) in
                    try update.setIncomingPart(bytes, part.offset, scope)
                }
            }
        }
        return true
    }

    /// The bytes with that hash: `first`, or those of one of the `others`.
    private func part(
        _ hash: SyncHash, _ first: StoredBytes, else others: ArraySlice<StoredName>,
        _ place: LogPlace
    ) throws(KeychainFailure) -> [UInt8]? {
        if case .bytes(let bytes) = first, BuiltPart.hash(of: bytes) == hash { return bytes }
        for name in others.prefix(Self.partCandidateCount) {
            try checkpoint()
            let answer = try store.read([name], in: .log(place), by: storeDeadline).first
            if case .bytes(let bytes)? = answer, BuiltPart.hash(of: bytes) == hash { return bytes }
        }
        return nil
    }
}

/// The parts of a base that is being joined. One of them is in memory at a time.
private struct OpenedParts {
    private let key: CircleKeyring.Held
    private let scope: KeyScope
    private var reader: BasePartReader
    /// For each part that was read: its first dot, and the reader in its state before the part.
    private var starts: [(dot: Dot, reader: BasePartReader)] = []
    private var current: (index: Int, records: [Dot: SyncRecord])?

    init(_ base: Base, _ message: VerifiedMessage, _ key: CircleKeyring.Held, _ scope: KeyScope) {
        (self.key, self.scope) = (key, scope)
        reader = BasePartReader(base, message.header)
    }

    var isComplete: Bool { reader.isComplete }

    /// Reads and checks the next part. Returns its dots, each with the summary of its record, or
    /// with nil if it has none. There must be a next part.
    mutating func next(
        _ update: SyncUpdate
    ) throws(KeychainFailure) -> Result<[(dot: Dot, summary: RecordSummary?)], SyncError> {
        let before = reader
        let bytes = try update.incomingPart(starts.count, scope) ?? []
        let part: BasePart
        do { part = try reader.read(bytes, under: key.key) } catch { return .failure(error) }
        if let first = part.entries.first { starts.append((first.dot, before)) }
        var read: [(dot: Dot, summary: RecordSummary?)] = []
        for entry in part.entries {
            guard let record = entry.record else {
                read.append((entry.dot, nil))
                continue
            }
            switch try update.summary(of: record, in: scope) {
            case .success(let summary): read.append((entry.dot, summary))
            case .failure(let error): return .failure(error)
            }
        }
        return .success(read)
    }

    /// The record of a dot that the base has.
    mutating func record(
        _ dot: Dot, _ update: SyncUpdate
    ) throws(KeychainFailure) -> SyncRecord? {
        guard let index = starts.lastIndex(where: { $0.dot <= dot }) else { return nil }
        if current?.index != index {
            var reader = starts[index].reader
            let bytes = try update.incomingPart(index, scope) ?? []
            // It was sound when the join began.
            guard let part = try? reader.read(bytes, under: key.key) else {
                throw KeychainFailure(.row(.damagedContent), during: update.operation)
            }
            var records: [Dot: SyncRecord] = [:]
            for entry in part.entries { records[entry.dot] = entry.record }
            current = (index, records)
        }
        return current?.records[dot]
    }
}
