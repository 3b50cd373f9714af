// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// What an attacker without a key can do to the files.
extension TestKeychain {
    /// The row of an item as it is stored.
    func row(_ item: StoredItem) throws -> SealedRow {
        try tamper { connection in
            let run = try Statement(
                """
                SELECT item.*, group_hash, service_hash, place_hash
                FROM item LEFT JOIN place ON place.id = item.place WHERE number = ?1
                """, on: connection
            ).start()
            try run.bind(item.number, at: 1)
            #expect(try run.step())
            return try SealedRow(run)
        }
    }

    /// All rows, tombstones too.
    func rows() throws -> [SealedRow] {
        try tamper { connection in
            let run = try Statement(
                """
                SELECT item.*, group_hash, service_hash, place_hash
                FROM item LEFT JOIN place ON place.id = item.place ORDER BY number
                """, on: connection
            ).start()
            var rows: [SealedRow] = []
            while try run.step() { rows.append(try SealedRow(run)) }
            return rows
        }
    }

    /// What `doctor` says is damaged.
    func damage() -> [String] {
        store.keychain.diagnose().filter { $0.severity == .damage }.map(\.message)
    }
}

/// What a program can do that has the device key.
extension TestKeychain {
    /// The keys of every row.
    func rowKeys() throws -> RowKeys {
        try tamper { connection in
            let header = try KeychainHeader.load(
                from: RowConnection(connection), at: store.location)
            let secret = try DeviceSecretSource(location: store.location)
                .secret(of: header, until: .immediately)
            return try KeySet(
                header, try header.unlock(with: Protector(secret)), opened: nil
            ).rows
        }
    }

    /// Changes the settings under a MAC that is right, as a later version of the library may.
    func rewriteSettings(_ change: (inout KeychainSettings) -> Void) throws {
        try tamper { connection in
            let source = DeviceSecretSource(location: store.location)
            let header = try KeychainHeader.load(
                from: RowConnection(connection), at: store.location)
            var (settings, locked) = (header.settings, header.keybag)
            let secret = try source.secret(of: header, until: .immediately)
            settings.stamp &+= 1
            change(&settings)
            let root = try Protector(secret).rootKey(of: locked)
            let body = Array(locked.encoded.dropLast(Digest.byteCount))
            let mac = KeyedHash.digest(root, .keybagMAC) { hash in
                hash.append(body)
                hash.append(settings.authenticatedBytes)
            }
            locked = try LockedKeybag(parsing: body + mac.bytes)
            let transaction = try Transaction(on: connection)
            try Statement("DELETE FROM keychain", on: connection).execute()
            try Statement("DELETE FROM keybag", on: connection).execute()
            try settings.insert(into: connection)
            try locked.insert(into: connection)
            try transaction.commit()
        }
    }
}

extension StoredItem {
    /// The number of the item's row: the first half of its id.
    var number: Int64 {
        Int64(bitPattern: reference.itemID.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    var parameter: TestKeychain.Parameter { .number(number) }
}

/// What a disk does to pages.
extension TestKeychain {
    /// The pages of a table or an index, counted from 1.
    func pages(of name: String) throws -> [Int64] {
        try tamper { connection in
            let run = try Statement(
                "SELECT pageno FROM dbstat WHERE name = ?1 ORDER BY pageno", on: connection
            ).start()
            try run.bind(name, at: 1)
            var pages: [Int64] = []
            while try run.step() { pages.append(run.int64(0)) }
            return pages
        }
    }

    /// Changes a page of the file, which no program has open then.
    func change(page: Int64, _ change: (inout [UInt8]) -> Void) throws {
        reopen()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/keychain.db"))
        try file.seek(toOffset: UInt64(page - 1) * 4096)
        var bytes = Array(try #require(try file.read(upToCount: 4096)))
        change(&bytes)
        try file.seek(toOffset: UInt64(page - 1) * 4096)
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// Runs `body`, whose writes to these tables and indexes the disk loses: their pages keep what
    /// they had, with checksums that fit.
    func losingWrites(of names: [String], _ body: () throws -> Void) throws {
        var before: [Int64: [UInt8]] = [:]
        for page in try names.flatMap(pages) { try change(page: page) { before[page] = $0 } }
        try body()
        for (page, bytes) in before { try change(page: page) { $0 = bytes } }
    }
}
