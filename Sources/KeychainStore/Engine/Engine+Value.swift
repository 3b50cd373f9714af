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
    /// The value of the item of that name in `group`; nil if there is none.
    ///
    /// - Parameter opening: Whether to open the value, or only to tell whether it is there.
    func value(
        _ name: PasswordName, _ group: AccessGroup, opening: Bool, _ deadline: Deadline
    ) throws(KeychainFailure) -> FoundValue? {
        let operation = "read an item"
        return try withReader(deadline) { (store) throws(KeychainFailure) in
            while true {
                let known = store.seenState
                let state = if let known { known } else { try load(store, operation) }
                let lookup = ValueLookup(name, group, state)
                let answer = try translating(operation) { try lookup.run(store, opening: opening) }
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

    /// Reads the stamp and notes at which data version it was seen.
    private func load(
        _ store: StoreConnection, _ operation: String
    ) throws(KeychainFailure) -> KeychainState {
        try translating(operation) {
            let transaction = try ReadTransaction(on: store.connection)
            let state = try currentState(store)
            store.seenDataVersion = try store.connection.dataVersion()
            store.seenState = state
            _ = consume transaction
            return state
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

    private let protectionClass: ProtectionClass
    private let state: KeychainState
    private let place: ItemPlace

    init(_ name: PasswordName, _ group: AccessGroup, _ state: KeychainState) {
        protectionClass = name.service.protectionClass
        self.state = state
        place = state.place(of: name, in: group)
    }

    func run(_ store: StoreConnection, opening: Bool) throws -> Answer {
        let run = try store.value.start()
        try run.bind(place.account.bytes, at: 1)
        try run.bind(place.primaryKey.bytes, at: 2)
        let isThere = try run.step()
        guard try store.connection.dataVersion() == store.seenDataVersion else { return .stale }
        guard isThere else { return .absent }
        let header = try header(run)
        guard !header.flags.contains(.tombstone), protectionClass == header.protectionClass else {
            return .absent
        }
        guard opening else { return .found(FoundValue(value: nil)) }
        guard let cipher = state.cipher(opening: header) else { throw RowDamage.seal }
        guard !run.isNull(8) else {
            return .found(FoundValue(value: try nothing(cipher, header, run)))
        }
        let value = try cipher.openValue(
            header, names: run.blob(6), details: run.blob(7), secret: run.blob(8))
        return .found(FoundValue(value: value))
    }

    /// An item without a value: its details say so, or the value was taken away.
    private func nothing(
        _ cipher: ItemCipher, _ header: RowHeader, _ run: borrowing Statement.Run
    ) throws(RowDamage) -> SecretValue? {
        try cipher.checkHasNoValue(header, names: run.blob(6), details: run.blob(7))
        return nil
    }

    private func header(_ run: borrowing Statement.Run) throws(RowDamage) -> RowHeader {
        guard let number = UInt8(exactly: run.int64(3)),
            let protectionClass = ProtectionClass(rawValue: number),
            let flags = RowFlags(column: run.int64(4))
        else { throw .column }
        return RowHeader(
            number: run.int64(0), salt: run.int64(1), version: run.int64(2),
            itemClass: .genericPassword, protectionClass: protectionClass, flags: flags,
            keyID: run.blob(5), primaryKey: place.primaryKey.bytes)
    }
}
