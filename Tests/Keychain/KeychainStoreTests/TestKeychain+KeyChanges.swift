// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

extension ItemStore {
    /// Like ``workOnKeys(_:checkingSettings:_:)``, for a body that may throw anything.
    func tryOnKeys<R>(
        _ operation: String, _ body: (KeychainPasscodes) throws -> R
    ) throws(KeychainFailure) -> R {
        try workOnKeys(operation) { (keys) throws(KeychainFailure) in
            try failing(operation) { try body(keys) }
        }
    }

    /// Like ``readRows(_:_:)``, for a body that may throw anything.
    func tryOnRows<R>(
        _ operation: String, _ body: (inout RowSnapshot) throws -> R
    ) throws(KeychainFailure) -> R? {
        try readRows(operation) { (snapshot) throws(KeychainFailure) in
            try failing(operation) { try body(&snapshot) }
        }
    }
}

/// Runs `body`, and turns any error into a failure of `operation`.
func failing<R>(_ operation: String, _ body: () throws -> R) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch let failure as KeychainFailure {
        throw failure
    } catch let error as SystemError {
        throw KeychainFailure(error, during: operation)
    } catch {
        throw KeychainFailure(.internalFault, during: operation, message: "\(error)")
    }
}

/// Key changes in single steps.
extension TestKeychain {
    private static let operation = "test"

    /// Changes the keys while a reader keeps the former ones from being erased.
    func rotateKeysBesideReader() throws {
        _ = try store.tryOnRows(Self.operation) { snapshot in
            // The first read fixes what the transaction sees.
            _ = try snapshot.store.sync.readMark()
            let outcome = try store.keychain.rotateKeys(nil)
            #expect(outcome.pendingErasure?.code == .timedOut)
        }
        #expect(try store.keychain.status().isErasePending)
    }

    /// Erases the former keys, as a write does.
    func eraseFormerKeys() throws {
        try store.tryOnKeys(Self.operation) { keys in
            if let failure = OldKeyErasure(keys.keychain).eraseAfterChange(keys.deadline) {
                throw failure
            }
        }
    }

    /// Adds several batches of rows for a key change.
    func addBatches(_ count: Int) throws {
        let additions = (0..<(128 * count)).map {
            Addition(.generic("filler \($0)", service: "fillers"), value: nil)
        }
        try store.perform(ItemTransfer(additions: additions), for: caller)
    }

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
