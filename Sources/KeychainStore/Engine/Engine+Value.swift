// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import Sealing
internal import SecretMemory

/// An item's value; the value is nil for an item without one.
struct FoundValue {
    let value: SecretValue?
}

/// The fast path: one statement that also tells whether the keys at hand are still the right ones.
extension Engine {
    /// The value of the item with that primary key; nil if there is none.
    func value(
        _ query: ItemQuery, _ group: AccessGroup, _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> FoundValue? {
        try withReader(deadline) { (store) throws(KeychainFailure) in
            while true {
                let known = lastKnownState
                let state = if let known { known } else { try load(store, operation) }
                let lookup = ValueLookup(query, group, state)
                let answer = try translating(operation) { try lookup.run(store) }
                switch answer {
                case .found(let value): return value
                case .absent: return nil
                case .stale: _ = try load(store, operation)
                }
                guard !deadline.hasPassed else {
                    throw KeychainFailure(.timedOut, during: operation)
                }
            }
        }
    }

    private func load(
        _ store: StoreConnection, _ operation: String
    ) throws(KeychainFailure) -> KeychainState {
        let transaction = try translating(operation) { try ReadTransaction(on: store.connection) }
        let state = try currentState(store)
        _ = consume transaction
        return state
    }
}

/// One attempt to read the value of the item with a given primary key.
private struct ValueLookup {
    enum Answer {
        case found(FoundValue)
        case absent
        /// The keychain's settings or keys have changed: load them and try again.
        case stale
    }

    private let query: ItemQuery
    private let state: KeychainState
    private let account: Digest
    private let primaryKey: Digest

    init(_ query: ItemQuery, _ group: AccessGroup, _ state: KeychainState) {
        self.query = query
        self.state = state
        let itemClass = query.itemClass
        let attributes = query.attributes
        account = state.hasher.attribute(
            .account, attributes[.account] ?? .text(""), itemClass, group: group)
        primaryKey = state.hasher.primaryKey(
            itemClass, attributes, group: group,
            isSynchronizable: query.synchronizable == .synchronizedOnly)
    }

    func run(_ store: StoreConnection) throws -> Answer {
        let run = try store.value.start()
        try run.bind(account, at: 1)
        try run.bind(primaryKey, at: 2)
        guard try run.step() else {
            throw KeychainFailure(
                .keychainDamaged, during: "read an item", message: "the settings are missing",
                path: store.connection.path, hint: KeychainFailure.damageHint)
        }
        guard run.int64(0) == state.settings.stamp else { return .stale }
        guard !run.isNull(1) else { return .absent }
        let header = try header(run)
        guard !header.flags.contains(.tombstone),
            query.protectionClass == nil || query.protectionClass == header.protectionClass
        else { return .absent }
        guard let cipher = state.cipher(opening: header) else { throw RowDamage.seal }
        guard !run.isNull(9) else {
            return .found(FoundValue(value: try nothing(cipher, header, run)))
        }
        let value = try run.withBlob(7) { (names: Span<UInt8>) throws(RowDamage) in
            try run.withBlob(8) { (details: Span<UInt8>) throws(RowDamage) in
                try run.withBlob(9) { (secret: Span<UInt8>) throws(RowDamage) in
                    try cipher.openValue(header, names: names, details: details, secret: secret)
                }
            }
        }
        return .found(FoundValue(value: value))
    }

    /// An item without a value: its details say so, or the value was taken away.
    private func nothing(
        _ cipher: ItemCipher, _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(RowDamage) -> SecretValue? {
        try cipher.checkHasNoValue(header, names: run.blob(7), details: run.blob(8))
        return nil
    }

    private func header(_ run: borrowing Statement.Run) throws(RowDamage) -> RowHeader {
        guard let number = UInt8(exactly: run.int64(4)),
            let protectionClass = ProtectionClass(rawValue: number),
            let flags = RowFlags(column: run.int64(5))
        else { throw .column }
        return RowHeader(
            number: run.int64(1), salt: run.int64(2), version: run.int64(3),
            itemClass: query.itemClass, protectionClass: protectionClass, flags: flags,
            keyID: try run.fixedBytes(6), primaryKey: primaryKey)
    }
}
