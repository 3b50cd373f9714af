// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// An item's value; the value is nil for an item without one.
struct FoundValue {
    let value: SecretValue?
    /// Whether the item needs a person or a password: it was not opened then.
    var needsPerson = false

    static var needingPerson: FoundValue { FoundValue(value: nil, needsPerson: true) }
}

/// What is asked for by name.
struct ValueRequest {
    let name: PasswordName
    /// Whether to open the value, or only to tell whether it is there.
    let opening: Bool
    /// What opens a value that it has opened before.
    let proof: PresenceProof?
}

/// The fast path: one statement that also tells whether the keys at hand are still the right ones.
extension Engine {
    /// The value of the item of that name in `group`; nil if there is none.
    func value(
        _ request: ValueRequest, _ group: AccessGroup, _ deadline: Deadline
    ) throws(KeychainFailure) -> FoundValue? {
        let operation = "read an item"
        return try withReader(deadline) { (store) throws(KeychainFailure) in
            var doubts = EpochDoubts()
            while true {
                guard let state = try state(store, operation, &doubts) else {
                    try awaitChange(operation, deadline, &doubts)
                    continue
                }
                let answer = try translating(operation) {
                    try find(request, group, state, store)
                }
                switch answer {
                case .found(let value):
                    renewIfUsed(state.facts, deadline)
                    return value
                case .absent: return nil
                case .stale: store.forgetWhatWasSeen()
                }
                guard !deadline.hasPassed else {
                    throw KeychainFailure(.timedOut, during: operation)
                }
            }
        }
    }

    private func find(
        _ request: ValueRequest, _ group: AccessGroup, _ state: KeychainState,
        _ store: StoreConnection
    ) throws -> ValueLookup.Answer {
        let newest = ValueLookup(request, group, state, state.hasher)
        let answer = try newest.run(store)
        guard case .absent = answer, let older = state.older else { return answer }
        return try ValueLookup(request, group, state, older.hasher).run(store)
    }

    /// What was seen of the keychain, if its keys are still what is open; else what there is now.
    ///
    /// - Returns: nil as ``believed(_:_:)``.
    private func state(
        _ store: StoreConnection, _ operation: String, _ doubts: inout EpochDoubts
    ) throws(KeychainFailure) -> KeychainState? {
        if let seen = store.seenState, isOpen(seen), RequiredLevel.isMet(by: seen.facts) {
            return seen
        }
        let reading = try load(store, operation)
        let state = try believed(reading, &doubts)
        if let state { try RequiredLevel.check(state.facts, operation) }
        store.seenState = state
        return state
    }

    /// Reads the stamp and notes at which data version it was seen.
    private func load(
        _ store: StoreConnection, _ operation: String
    ) throws(KeychainFailure) -> StateReading {
        try translating(operation) {
            let transaction = try ReadTransaction(on: store.connection)
            store.forgetWhatWasSeen()
            let reading = try currentState(store)
            store.seenDataVersion = try store.connection.dataVersion()
            _ = consume transaction
            return reading
        }
    }
}

/// One attempt to read the value of the item with a given name.
private struct ValueLookup {
    enum Answer {
        case found(FoundValue)
        case absent
        /// The keychain's settings or keys have changed: load them and try again.
        case stale
    }

    private let request: ValueRequest
    private let state: KeychainState
    private let service: ServicePlace

    private var name: PasswordName { request.name }
    private var opening: Bool { request.opening }

    init(
        _ request: ValueRequest, _ group: AccessGroup, _ state: KeychainState,
        _ hasher: IndexHasher
    ) {
        self.request = request
        self.state = state
        service = hasher.place(of: request.name.service, in: group)
    }

    func run(_ store: StoreConnection) throws -> Answer {
        if let row = store.rowCache.row(name.account, service) {
            let run = try store.anything.start()
            guard try run.step(), try isCurrent(store) else { return .stale }
            guard fits(row.header) else { return .absent }
            guard opening || row.header.flags.presence == nil else {
                return .found(.needingPerson)
            }
            return .found(opening ? try open(row) : FoundValue(value: try check(row.header)))
        }
        let place = service.place(of: name.account)
        let run = try store.value.start()
        try run.bind(place.group, at: 1)
        try run.bind(place.place, at: 2)
        try run.bind(place.primaryKey, at: 3)
        let isThere = try run.step()
        guard try isCurrent(store) else { return .stale }
        guard isThere else { return .absent }
        let header = try RowHeader(value: run, primaryKey: place.primaryKey)
        guard fits(header) else { return .absent }
        guard !header.flags.isGuarded || (mayOpen(header) && !run.isNull(8)) else {
            return .found(.needingPerson)
        }
        guard opening else { return .found(FoundValue(value: try check(header))) }
        guard !run.isNull(8) else {
            return .found(FoundValue(value: try nothing(header, run)))
        }
        guard SpareMemory.has(3, copiesOf: run.byteCount(8)) else {
            throw SystemError(.outOfMemory, during: "read an item")
        }
        let row = ValueRow(
            header: header, names: try run.tag(6), details: try run.tag(7), secret: run.blob(8))
        store.rowCache.add(row, name.account, service)
        return .found(try open(row))
    }

    /// Whether nothing has been committed since the stamp was read: asked inside a transaction.
    private func isCurrent(_ store: StoreConnection) throws(SystemError) -> Bool {
        try store.connection.dataVersion() == store.seenDataVersion
    }

    private func fits(_ header: RowHeader) -> Bool {
        !header.flags.contains(.tombstone)
            && header.protectionClass == name.service.protectionClass
    }

    /// Whether a value that takes more than the key of its class may be opened here: it is not
    /// cached, and takes the long way, if it takes a password.
    private func mayOpen(_ header: RowHeader) -> Bool {
        opening && request.proof != nil && !header.flags.contains(.password)
    }

    /// An item that is not opened still has to be one that could be.
    private func check(_ header: RowHeader) throws(RowFailure) -> SecretValue? {
        _ = try state.cipher(opening: header)
        return nil
    }

    private func open(_ row: ValueRow) throws(RowFailure) -> FoundValue {
        let cipher = try state.cipher(opening: row.header)
        if row.header.flags.presence != nil {
            // What an item demands is read once for each proof, where all of it is opened.
            guard let tag = ValueTag(of: row.secret), request.proof?.hasGranted(tag) == true
            else { return .needingPerson }
        }
        let parts = ValueParts(header: row.header, names: row.names, details: row.details)
        return FoundValue(value: try cipher.openValue(parts, row.secret.span, request.proof))
    }

    /// An item without a value: its details say so, or the value was taken away.
    private func nothing(
        _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(RowFailure) -> SecretValue? {
        try state.cipher(opening: header).checkHasNoValue(
            header, names: run.blob(6), details: run.blob(7))
        return nil
    }
}

extension RowHeader {
    /// Reads the header of the row that `run` is at, of ``StoreConnection/value``.
    fileprivate init(
        value run: borrowing Statement.Run, primaryKey: IndexHash
    ) throws(RowFailure) {
        guard let number = UInt8(exactly: run.int64(3)),
            let protectionClass = ProtectionClass(rawValue: number),
            let flags = RowFlags(column: run.int64(4))
        else { throw .column }
        self.init(
            number: run.int64(0), salt: run.int64(1), version: run.int64(2),
            itemClass: .genericPassword, protectionClass: protectionClass, flags: flags,
            keyID: try run.fixedBytes(5), primaryKey: primaryKey)
    }
}
