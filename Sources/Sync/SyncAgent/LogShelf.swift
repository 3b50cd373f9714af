// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

/// What the store shows of one log: the verified headers of its messages, and the names of the
/// parts. A session keeps it, so that it fetches each message only once for its header.
struct LogShelf {
    /// A message whose header and signature are right.
    struct Shown {
        let name: StoredName
        let message: StoredMessage
        /// The number of parts of a base; their indices begin at 0.
        let partCount: UInt32
    }

    /// Why a message is not read yet, or not at all.
    enum Refusal: Hashable {
        case foreign
        /// Bytes that may still be arriving.
        case partial
        case newer
        /// The author broke a rule: its log is read no further.
        case invalid(SyncError.Rule)
        /// It names a roster entry or a key that this device does not have.
        case unknown
    }

    var shown: [StoredName: Shown] = [:]
    private(set) var refused: [StoredName: Refusal] = [:]
    private(set) var names: Set<StoredName> = []
    private var parts: [UInt64: [StoredName]] = [:]
    private(set) var foreignCount = 0
    private(set) var foreignNames: [String] = []
    /// Whether the store has more files than one round reads.
    var isTooLong = false
    /// Bases whose parts did not fit when they were read, with the names of these parts.
    var brokenBases: [SyncHash: Set<StoredName>] = [:]

    /// The messages to choose from: up to the first one that breaks a rule.
    var messages: [StoredMessage] {
        let end =
            refused.filter { if case .invalid = $0.value { true } else { false } }
            .keys.map(\.number).min() ?? .max
        return shown.values.filter { $0.message.name.number < end }.map { current($0) }
            .sorted { ($0.name, $0.hash) < ($1.name, $1.hash) }
    }

    /// All messages, also those after one that breaks a rule.
    var all: [StoredMessage] { shown.values.map { current($0) } }

    func entry(of hash: SyncHash) -> Shown? { shown.values.first { $0.message.hash == hash } }

    /// The names of the parts of a base, by index; nil if one is missing. In a folder anybody can
    /// add further files with the index of a part: these come in random order.
    func parts(of base: Shown) -> [[StoredName]]? {
        let byIndex = Dictionary(
            grouping: (parts[base.name.number] ?? []).filter { $0.part != nil }
        ) { $0.part ?? 0 }
        let list = (0..<base.partCount).compactMap { byIndex[$0]?.shuffled() }
        return list.count == base.partCount ? list : nil
    }

    private func current(_ entry: Shown) -> StoredMessage {
        guard let base = entry.message.base else { return entry.message }
        let isBroken = brokenBases[entry.message.hash].map { $0 == partNames(entry.name.number) }
        let isComplete = parts(of: entry) != nil && isBroken != true
        return StoredMessage(
            name: entry.message.name, hash: entry.message.hash, previous: entry.message.previous,
            base: .init(own: base.own, table: base.table, isComplete: isComplete))
    }

    func partNames(_ number: UInt64) -> Set<StoredName> { Set(parts[number] ?? []) }

    /// Takes a new list of names, and returns the ones to fetch: new ones, and ones that could not
    /// be read last time. Above ``ReadingLimits/newLogCount`` names the order is random: an
    /// attacker who floods the store cannot choose which of them are read first.
    mutating func update(_ listing: StoreListing) -> [StoredName] {
        names = Set(listing.names)
        parts = Dictionary(grouping: listing.names.filter { $0.part != nil }, by: \.number)
        (foreignCount, foreignNames) = (listing.foreignCount, listing.foreignNames)
        isTooLong = listing.isTooLong
        shown = shown.filter { names.contains($0.key) }
        refused = refused.filter { names.contains($0.key) }
        var (new, retried): ([StoredName], [StoredName]) = ([], [])
        for name in listing.names where name.part == nil && shown[name] == nil {
            switch refused[name] {
            case nil: new.append(name)
            case .partial, .unknown: retried.append(name)
            case .foreign, .newer, .invalid: break
            }
        }
        if retried.count > ReadingLimits.retryCount {
            retried = Array(retried.shuffled().prefix(ReadingLimits.retryCount))
        }
        let unread = retried + new
        return unread.count > ReadingLimits.newLogCount ? unread.shuffled() : unread.sorted()
    }

    mutating func show(_ entry: Shown) {
        refused[entry.name] = nil
        shown[entry.name] = entry
    }

    mutating func refuse(_ name: StoredName, _ refusal: Refusal) { refused[name] = refusal }
}

extension SyncSession {
    /// Lists the store's files of all logs of members and leavers, in the open scopes.
    func lookAtLogs(_ scopes: [KeyScope]) throws(KeychainFailure) {
        let state = roster.accepted
        let places = try logs(of: state.members.keys.sorted() + state.leavers.keys.sorted())
        let present = Set(places)
        shelves = shelves.filter { present.contains($0.key) }
        for place in places where scopes.contains(place.scope) {
            try checkpoint()
            if let member = author(of: place) {
                try look(at: place, member)
            } else {
                shelves[place] = nil
            }
        }
        // The authors of these messages cannot pretend later that they did not know these entries.
        if rosterShelf.isUnkept { try keepNames() }
    }

    /// The logs of devices in the store. If there are more than a circle may have, the result has
    /// those that this device reads already, and some of the others.
    func logs(of devices: [DeviceID]) throws(KeychainFailure) -> [LogPlace] {
        let shown = try store.logs(of: devices, in: circle.circle, by: storeDeadline).filter {
            $0.log.belongs(to: $0.device)
        }
        guard shown.count > ReadingLimits.newLogCount else { return shown }
        let halves = Dictionary(devices.map { ($0.high, $0) }, uniquingKeysWith: { $1 })
        let read = try look { replica in
            KeyScope.allCases.flatMap { scope in
                (replica[scope].positions.keys + [replica[scope].own.id]).compactMap { log in
                    halves[log.high].map { LogPlace(circle.circle, $0, scope, log) }
                }
            }
        }
        for device in Set(shown.map(\.device)) { report.add(.logIsTooLong, device: device) }
        return Array(Set(read))
            + Set(shown).subtracting(read).shuffled().prefix(ReadingLimits.newLogCount)
    }

    private func look(at place: LogPlace, _ member: Member) throws(KeychainFailure) {
        let listing = try store.list(.log(place), by: storeDeadline)
        var shelf = shelves[place] ?? LogShelf()
        defer { shelves[place] = shelf }
        var room = ReadingLimits.byteCount
        for chunk in shelf.update(listing).chunks(of: StoreLimits.readCount) {
            try checkpoint()
            guard room > 0 else {
                shelf.isTooLong = true
                break
            }
            let answers = try store.read(chunk, in: .log(place), by: storeDeadline)
            for (name, answer) in zip(chunk, answers) {
                switch answer {
                case .bytes(let bytes):
                    try examine(bytes, name, place, member, &shelf)
                    if shelf.refused[name] != nil { room -= min(room, bytes.count) }
                case .partial:
                    shelf.refuse(name, .partial)
                    room -= min(room, MessageFormat.maximalByteCount)
                case .foreign: shelf.refuse(name, .foreign)
                case .missing: break
                }
            }
        }
    }

    private func examine(
        _ bytes: [UInt8], _ name: StoredName, _ place: LogPlace, _ member: Member,
        _ shelf: inout LogShelf
    ) throws(KeychainFailure) {
        let keyring = try keyring(place.scope)
        do throws(SyncError) {
            let message = try verified(bytes, in: place, by: member)
            guard message.header.name.number == name.number else {
                throw SyncError(.malformed, .number, in: .message)
            }
            guard roster.contains(message.header.roster),
                let held = keyring?[message.header.keyID]
            else { return shelf.refuse(name, .unknown) }
            if roster.note(message.header.roster, namedBy: place.device) {
                rosterShelf.isUnkept = true
            }
            shelf.show(try shown(message, name, under: held))
            recent.keep(message)
        } catch {
            shelf.refuse(name, LogShelf.Refusal(error))
        }
    }

    private func shown(
        _ message: VerifiedMessage, _ name: StoredName, under held: CircleKeyring.Held
    ) throws(SyncError) -> LogShelf.Shown {
        var base: StoredMessage.StoredBase?
        var partCount: UInt32 = 0
        if message.header.kind == .base {
            let opened = try message.base(under: held.key)
            base = .init(own: opened.own, table: opened.table, isComplete: false)
            partCount = UInt32(opened.parts.count)
        }
        return LogShelf.Shown(
            name: name,
            message: StoredMessage(
                name: message.header.name, hash: message.hash,
                previous: message.header.previous, base: base),
            partCount: partCount)
    }

    /// Reads bytes as a message of a log.
    func verified(
        _ bytes: [UInt8], in place: LogPlace, by member: Member
    ) throws(SyncError) -> VerifiedMessage {
        let received = try ReceivedMessage(parsing: bytes)
        let header = received.header
        guard header.circle == place.circle, header.scope == place.scope,
            header.device == place.device, header.name.log == place.log
        else { throw SyncError(.malformed, .log, in: .message) }
        return try received.verified(by: member.signingKey(place.scope))
    }

    /// The message `hash` of a log, fetched again if it is not kept.
    ///
    /// - Returns: Nil if the store does not give it any more.
    func fetch(_ hash: SyncHash, in place: LogPlace) throws(KeychainFailure) -> VerifiedMessage? {
        if let message = recent[hash] { return message }
        guard let entry = shelves[place]?.entry(of: hash) else { return nil }
        let answer = try store.read([entry.name], in: .log(place), by: storeDeadline).first
        guard case .bytes(let bytes)? = answer, let member = author(of: place),
            let message = try? verified(bytes, in: place, by: member), message.hash == hash
        else {
            // Other bytes have the name now: the next round looks at them.
            shelves[place]?.shown[entry.name] = nil
            return nil
        }
        return message
    }

    func author(of place: LogPlace) -> Member? {
        switch roster.membership(of: place.device) {
        case .member(let member): member
        case .left(let leaver): leaver.member
        case .none: nil
        }
    }
}

extension LogShelf.Refusal {
    fileprivate init(_ error: SyncError) {
        switch error.code {
        case .malformed, .tampered: self = .foreign
        case .newer: self = .newer
        case .invalid: self = .invalid(error.rule)
        case .wrongKey: self = .unknown
        }
    }
}

/// Messages that were just fetched for their headers, and will be joined next.
struct RecentMessages {
    /// At most 16 MiB, because a message has at most 256 KiB.
    private static let limit = 64

    private var messages: [SyncHash: VerifiedMessage] = [:]
    private var order: [SyncHash] = []

    subscript(hash: SyncHash) -> VerifiedMessage? { messages[hash] }

    mutating func keep(_ message: VerifiedMessage) {
        guard messages[message.hash] == nil else { return }
        messages[message.hash] = message
        order.append(message.hash)
        if order.count > Self.limit { messages[order.removeFirst()] = nil }
    }

    mutating func forget(_ hash: SyncHash) {
        messages[hash] = nil
        order.removeAll { $0 == hash }
    }
}
