// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet
import ValetDatabase
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSystem

/// Stands still in the middle of a write: inside a transaction, with the keychain's lock.
final class TransactionHolder {
    private let directory: PrivateDirectory
    private let connection: Connection
    private var held: HeldLock?
    private var transaction: Transaction?

    init(folder: String) throws {
        directory = try PrivateDirectory.open(folder, creating: false)
        held = try FileLock("keychain.lock", in: directory).acquire(before: .never)
        connection = try Connection(
            to: "keychain.db", in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        transaction = try Transaction(on: connection)
        try Statement("DELETE FROM former", on: connection).execute()
        try Statement(
            "UPDATE item SET logical_time = logical_time + 1", on: connection
        ).execute()
    }

    /// Does in this process whatever looks at the files; returns what `doctor` is unhappy with.
    func examine() throws -> String {
        for name in ["keychain.db", "keychain.db-wal", "keychain.db-shm", "keychain.lock"] {
            _ = try directory.check(file: name)
        }
        let other = try PrivateDirectory.open(directory.path, creating: false)
        _ = try other.names()
        let session = try KeychainSession.current()
        _ = try session.store.keychain.status()
        let findings = session.store.keychain.diagnose().filter { $0.severity != .fine }
        _ = try Agent.valet.allKeys()
        session.store.close()
        return findings.map(\.message).joined(separator: "; ")
    }

    deinit {
        _ = transaction.take()
        _ = held.take()
    }
}
