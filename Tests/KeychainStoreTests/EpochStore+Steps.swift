// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSecretMemory
import ValetSystem

@testable import ValetKeychainKeys
@testable import ValetKeychainRows
@testable import ValetKeychainStore

/// Epoch changes in single steps.
extension EpochStore {
    private static let operation = "test"

    /// Begins the next epoch and leaves it at that: rows are still those of the older one.
    ///
    /// - Returns: What the rest of it takes.
    @discardableResult
    func beginEpoch(_ passcode: KeychainPasscode? = nil) throws -> BegunEpoch {
        let begun = try store.perform(.keys, Self.operation) { keys in
            let header = try keys.header()
            let change = try keys.change(
                header,
                .protector(
                    keys.protector(of: header, passcode)),
                to: NextEpoch(passcode: passcode, stretching: .lowest))
            return try keys.begin(change, after: header)
        }
        return try #require(begun)
    }

    /// Brings an epoch change to its end.
    func finishEpoch(_ begun: BegunEpoch? = nil) throws {
        let isDone = try store.perform(.keys, Self.operation) { keys in
            try EpochFinisher(keychain: keys.keychain).finish(before: .never, of: begun)
        }
        #expect(isDone)
        #expect(try !store.keychain.status().isRotating)
    }

    /// Rows that come before all others: each write during an epoch change seals so many anew,
    /// and leaves what is added afterwards as it is.
    func addFillers(forWrites count: Int) throws {
        let additions = (0..<(128 * count)).map {
            Addition(.generic("filler \($0)", service: "fillers"), value: nil)
        }
        try store.perform(ItemTransfer(additions: additions), for: caller)
    }

    /// How many rows of service `service` there are under each epoch's keys, the older first.
    func rowCounts() throws -> [Int] {
        let counts = try store.perform(.read, Self.operation) { snapshot in
            var counts = [0, 0]
            let run = try snapshot.store.all.start()
            while try run.step() {
                let row = try SealedRow(run)
                counts[snapshot.state.isNewest(row.header) ? 1 : 0] += 1
            }
            return counts
        }
        return try #require(counts)
    }

    func items(_ query: ItemQuery, _ parts: ItemParts = [.attributes, .value]) throws
        -> [StoredItem]
    {
        do throws(KeychainFailure) {
            return try store.copy(query, parts, for: caller).items
        } catch {
            if error.code == .itemNotFound { return [] }
            throw error
        }
    }

    func accounts(_ query: ItemQuery) throws -> [String?] { try items(query).map(\.account) }

    @discardableResult
    func add(_ item: NewItem, _ value: String = "value") throws -> StoredItem {
        try store.add(Addition(item, value: .text(value)), for: caller)
    }

    func set(_ item: NewItem, _ value: String) throws {
        try store.set(Addition(item, value: .text(value)), for: caller)
    }

    @discardableResult
    func update(_ query: ItemQuery, _ changes: ItemChanges, _ value: String? = nil) throws -> Int {
        try store.update(query, changes, value: value.map(SecretValue.text), for: caller)
    }

    @discardableResult
    func delete(_ query: ItemQuery) throws -> Int { try store.delete(query, for: caller) }

    /// The accounts of the service of the samples, as the typed call lists them.
    func listed(_ protectionClass: ProtectionClass = .whenUnlocked) throws -> [AttributeValue] {
        try store.accounts(
            of: PasswordService(
                service: "service", accessGroup: nil, isSynchronizable: false,
                protectionClass: protectionClass), for: caller
        ).items
    }

    /// The value of an item read by its name: the fast path.
    func named(_ account: String, as protectionClass: ProtectionClass = .whenUnlocked) throws
        -> String?
    {
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: protectionClass)
        return try store.value(of: PasswordName(account, in: service), for: caller).map {
            String(decoding: $0.array, as: UTF8.self)
        }
    }
}
