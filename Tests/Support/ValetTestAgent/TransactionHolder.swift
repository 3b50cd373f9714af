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

/// Changes the settings as a later version of the library could.
enum LaterVersion {
    /// Takes the folder, a new stamp, the versions that readers and writers need, and the keybag
    /// that confirms them.
    ///
    /// - Returns: The number of rows at that time.
    static func demand(_ words: [String]) throws -> String {
        let numbers = words[1...3].compactMap { Int64($0) }
        let keybag = stride(from: 0, to: words[4].count, by: 2).compactMap { place in
            UInt8(words[4].dropFirst(place).prefix(2), radix: 16)
        }
        let directory = try PrivateDirectory.open(words[0], creating: false)
        let held = try FileLock("keychain.lock", in: directory).acquire(before: .never)
        let connection = try Connection(
            to: "keychain.db", in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(5)))
        let transaction = try Transaction(on: connection)
        let settings = try Statement(
            "UPDATE keychain SET stamp = ?1, min_reader = ?2, min_writer = ?3", on: connection
        ).start()
        for (place, number) in numbers.enumerated() {
            try settings.bind(number, at: Int32(place + 1))
        }
        try settings.finish()
        let bag = try Statement("UPDATE keybag SET bytes = ?1", on: connection).start()
        try bag.bind(keybag, at: 1)
        try bag.finish()
        let rows = try Statement("SELECT count(*) FROM item", on: connection).start()
        let count = try rows.step() ? rows.int64(0) : 0
        try rows.finish()
        try transaction.commit()
        _ = consume held
        return String(count)
    }
}
