// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSyncStores
internal import ValetSystem

/// What the store shows of one log: the headers of its messages, verified, and which parts are
/// there. A session keeps it, so that each message is fetched for its header once.
struct LogShelf {
    /// A message whose header and signature are right.
    struct Shown {
        let name: StoredName
        let message: StoredMessage
        let header: MessageHeader
        /// Of a base, the indices that its parts must have.
        let partCount: UInt32
    }

    /// Why a message is not read yet, or not at all.
    enum Refusal: Hashable {
        /// Bytes of another form.
        case foreign
        /// Bytes that may still be arriving.
        case partial
        /// A later version.
        case newer
        /// The author broke a rule: its log is read no further.
        case invalid(SyncError.Rule)
        /// It names an entry of the roster that is not here, or a key that this device does not
        /// have.
        case unknown
    }

    private(set) var shown: [StoredName: Shown] = [:]
    private(set) var refused: [StoredName: Refusal] = [:]
    private(set) var names: Set<StoredName> = []
    var foreignCount = 0
    var isTooLong = false
    /// Bases whose parts did not fit when they were read.
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

    /// The names of the parts of a base, by index; nil where one is missing.
    func parts(of base: Shown) -> [StoredName]? {
        var byIndex: [UInt32: StoredName] = [:]
        for name in names where name.number == base.name.number {
            if let part = name.part { byIndex[part] = name }
        }
        let list = (0..<base.partCount).compactMap { byIndex[$0] }
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

    /// The names of all parts of one number.
    func partNames(_ number: UInt64) -> Set<StoredName> {
        names.filter { $0.number == number && $0.part != nil }
    }

    /// Takes a new list of names, and returns those that are to be fetched: new ones, and ones that
    /// could not be read last time.
    mutating func update(_ listing: StoreListing) -> [StoredName] {
        names = Set(listing.names)
        foreignCount = listing.foreignCount
        isTooLong = listing.isTooLong
        shown = shown.filter { names.contains($0.key) }
        refused = refused.filter { names.contains($0.key) }
        return listing.names.filter { name in
            guard name.part == nil, shown[name] == nil else { return false }
            switch refused[name] {
            case nil, .partial, .unknown: return true
            case .foreign, .newer, .invalid: return false
            }
        }
    }

    mutating func show(_ entry: Shown) {
        refused[entry.name] = nil
        shown[entry.name] = entry
    }

    mutating func forget(_ name: StoredName) { shown[name] = nil }

    mutating func refuse(_ name: StoredName, _ refusal: Refusal) { refused[name] = refusal }
}

extension SyncSession {
    /// Looks at what the store has of all logs of members, and of those that have left, in the open
    /// scopes.
    ///
    /// - Throws: ``StoreError``, ``KeychainFailure``.
    func lookAtLogs(_ scopes: [KeyScope]) throws {
        let places = try store.logs(of: circle.circle, by: storeDeadline)
        shelves = shelves.filter { places.contains($0.key) }
        for place in places where scopes.contains(place.scope) {
            guard place.log.belongs(to: place.device) else { continue }
            switch roster.membership(of: place.device) {
            case .member(let member): try look(at: place, member)
            case .left(let leaver): try look(at: place, leaver.member)
            case .none: shelves[place] = nil
            }
        }
        try keepNewNames()
    }

    private func look(at place: LogPlace, _ member: Member) throws {
        let listing = try store.list(.log(place), from: 0, by: storeDeadline)
        var shelf = shelves[place] ?? LogShelf()
        let unread = shelf.update(listing)
        for chunk in unread.chunks(of: StoreLimits.readCount) {
            let answers = try store.read(chunk, in: .log(place), by: storeDeadline)
            for (name, answer) in zip(chunk, answers) {
                switch answer {
                case .bytes(let bytes):
                    try examine(bytes, name, place, member, &shelf)
                case .partial: shelf.refuse(name, .partial)
                case .foreign: shelf.refuse(name, .foreign)
                case .missing: break
                }
            }
        }
        shelves[place] = shelf
    }

    private func examine(
        _ bytes: [UInt8], _ name: StoredName, _ place: LogPlace, _ member: Member,
        _ shelf: inout LogShelf
    ) throws {
        do {
            let message = try verified(bytes, in: place, by: member)
            guard message.header.name.number == name.number else {
                throw SyncError(.malformed, .number, in: .message)
            }
            guard roster.contains(message.header.roster),
                let held = try keyring(place.scope)?[message.header.keyID]
            else { return shelf.refuse(name, .unknown) }
            note(message.header.roster, namedBy: place.device)
            shelf.show(try shown(message, name, under: held))
            recent.keep(message)
        } catch let error as SyncError {
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
            header: message.header, partCount: partCount)
    }

    /// Reads bytes as a message of a log.
    ///
    /// - Throws: ``SyncError``.
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

    /// The message `hash` of a log, fetched again if it was let go.
    ///
    /// - Returns: Nil if the store does not give it any more.
    func fetch(_ hash: SyncHash, in place: LogPlace) throws -> VerifiedMessage? {
        if let message = recent[hash] { return message }
        guard let entry = shelves[place]?.entry(of: hash) else { return nil }
        let answer = try store.read([entry.name], in: .log(place), by: storeDeadline).first
        guard case .bytes(let bytes)? = answer, let member = author(of: place),
            let message = try? verified(bytes, in: place, by: member), message.hash == hash
        else {
            // Other bytes have the name now: the next round looks at them.
            shelves[place]?.forget(entry.name)
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
    /// 64 messages of the greatest size.
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
