// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

// Promise: 14.13
/// docs/FORMAT.md §7.
@Suite struct `A keychain of a later version` {
    let keychain = TestKeychain()

    init() throws {
        try keychain.add(.generic("a"), "v")
    }

    private func check(isReadable: Bool, isWritable: Bool) {
        let calls: [(Bool, () throws -> Void)] = [
            (isReadable, { _ = try keychain.value(.exact("a")) }),
            (isReadable, { _ = try keychain.items(.generic()) }),
            (isReadable, { _ = try keychain.store.keychain.status() }),
            (isWritable, { try keychain.add(.generic("b")) }),
            (isWritable, { try keychain.set(.generic("b"), "w") }),
            (isWritable, { try keychain.update(.exact("b"), ItemChanges()) }),
            (isWritable, { try keychain.delete(.exact("b")) }),
            (isWritable, { _ = try keychain.store.keychain.repairIndexes() }),
            (isWritable, { _ = try keychain.store.keychain.rotateKeys(nil) }),
        ]
        for (isAllowed, call) in calls {
            #expect(failure(call) == (isAllowed ? nil : .newerFormat))
        }
    }

    /// A program that had it open sees it in its very next call; so does one that opens it.
    private func checkBoth(isReadable: Bool, isWritable: Bool) {
        check(isReadable: isReadable, isWritable: isWritable)
        keychain.reopen()
        check(isReadable: isReadable, isWritable: isWritable)
    }

    @Test func `A keychain of a later version that demands nothing is read and written`() throws {
        try keychain.rewriteSettings { _ in }
        checkBoth(isReadable: true, isWritable: true)
    }

    @Test(arguments: [2, Int64(UInt32.max)])
    func `A keychain that demands a later writer is read`(_ version: Int64) throws {
        try keychain.rewriteSettings { $0.minWriter = version }
        checkBoth(isReadable: true, isWritable: false)
    }

    @Test(arguments: [32, 33, 62])
    func `A keychain with an unknown feature for writers is read`(_ bit: Int64) throws {
        try keychain.rewriteSettings { $0.features = 1 << bit }
        checkBoth(isReadable: true, isWritable: false)
    }

    @Test(arguments: [0, 1, 31])
    func `A keychain with an unknown feature for readers is not read`(_ bit: Int64) throws {
        try keychain.rewriteSettings { $0.features = 1 << bit }
        checkBoth(isReadable: false, isWritable: false)
    }

    @Test func `A keychain that demands a later reader is not read`() throws {
        try keychain.rewriteSettings { $0.minReader = 2 }
        checkBoth(isReadable: false, isWritable: false)
    }

    @Test func `A keychain in another format is not read`() throws {
        try keychain.rewriteSettings { $0.format = 2 }
        checkBoth(isReadable: false, isWritable: false)
    }

    /// Earlier builds wrote this record (decision 28). It follows the first record, of 127 bytes.
    @Test func `A keychain with the record of an erasure secret is refused as newer`() throws {
        try keychain.tamper(
            """
            UPDATE keybag SET bytes = CAST(
                substr(bytes, 1, 52) || x'0009' || substr(bytes, 55, 127) || x'012200000000'
                || substr(bytes, 182) AS BLOB)
            """)
        keychain.reopen()
        check(isReadable: false, isWritable: false)
    }

    @Test func `A keychain of a later version keeps its settings`() throws {
        try keychain.rewriteSettings { $0.minWriter = 2 }
        #expect(failure { try keychain.delete(.exact("a")) } == .newerFormat)
        try keychain.rewriteSettings { $0.minWriter = 1 }
        #expect(try keychain.value(.exact("a")) == "v")
    }
}

// Promise: 1.9
/// docs/FORMAT.md §4.3: what the MAC covers.
@Suite struct `Settings that somebody changed` {
    let keychain = TestKeychain()

    init() throws {
        try keychain.add(.generic("a"), "v")
    }

    /// The second number of a pair passes for the first where only its lower 32 bits are looked at.
    @Test(
        arguments: [
            "UPDATE keychain SET format = 0", "UPDATE keychain SET format = 1 - 4294967296",
            "UPDATE keychain SET min_reader = 0", "UPDATE keychain SET min_reader = 1 - 4294967296",
            "UPDATE keychain SET min_writer = 0", "UPDATE keychain SET min_writer = 1 - 4294967296",
            "UPDATE keychain SET min_writer = 2", "UPDATE keychain SET features = 4294967296",
            "UPDATE keychain SET features = -9223372036854775807 - 1",
            "UPDATE keychain SET keychain_id = zeroblob(16)", "UPDATE keychain SET epoch = 2",
            "UPDATE keychain SET epoch = 0", "UPDATE keychain SET epoch = -1",
            "DELETE FROM keychain", "DELETE FROM keybag", "UPDATE keybag SET epoch = 2",
            "UPDATE keybag SET bytes = x''", "UPDATE keybag SET bytes = substr(bytes, 2)",
        ] as [StaticString])
    func `Changed settings are damage`(_ sql: StaticString) throws {
        try keychain.tamper(sql)
        keychain.reopen()
        #expect(failure { _ = try keychain.value(.exact("a")) } == .keychainDamaged)
        #expect(failure { try keychain.add(.generic("b")) } == .keychainDamaged)
        #expect(!keychain.damage().isEmpty)
    }

    /// A later version raised it; somebody would like an old program to write all the same.
    @Test func `Changed settings do not undo the demand of a later version`() throws {
        try keychain.rewriteSettings { $0.minWriter = 2 }
        try keychain.tamper("UPDATE keychain SET min_writer = 2 - 4294967296")
        keychain.reopen()
        #expect(failure { try keychain.add(.generic("b")) } == .keychainDamaged)
    }

    @Test func `Settings under the same stamp are not read again`() throws {
        _ = try keychain.value(.exact("a"))
        try keychain.tamper("UPDATE keychain SET stamp = stamp + 1")
        #expect(try keychain.value(.exact("a")) == "v")
    }
}

@Suite struct `Another process` {
    let keychain = TestKeychain()
    let other: ItemStore

    init() throws {
        try keychain.add(.generic("a"), "v")
        other = keychain.otherProcess()
    }

    private func value(_ account: String) throws -> String? {
        try other.value(of: .exact(account), for: keychain.caller).map {
            String(decoding: $0.array, as: UTF8.self)
        }
    }

    @Test func `Another process sees every write`() throws {
        #expect(try value("a") == "v")
        try keychain.set(.generic("a"), "new")
        #expect(try value("a") == "new")
        try keychain.delete(.exact("a"))
        #expect(failure { _ = try value("a") } == .itemNotFound)
        other.close()
    }

    @Test func `Another process relies on nothing that it has not read itself`() throws {
        #expect(try value("a") == "v")
        try keychain.rewriteSettings { $0.minWriter = 2 }
        let addition = Addition(.generic("b"), value: nil)
        #expect(failure { _ = try other.add(addition, for: keychain.caller) } == .newerFormat)
        #expect(try value("a") == "v")
        try keychain.rewriteSettings { $0.minReader = 2 }
        #expect(failure { _ = try value("a") } == .newerFormat)
        other.close()
    }

    // Promise: 1.9
    @Test func `A process that meets the keybag of another keychain stops`() throws {
        let stranger = TestKeychain()
        try stranger.add(.generic("a"), "stranger")
        let keybag = try stranger.tamper { connection in
            let run = try Statement("SELECT bytes FROM keybag", on: connection).start()
            #expect(try run.step())
            return run.blob(0)
        }
        #expect(try value("a") == "v")
        try keychain.tamper("UPDATE keybag SET bytes = ?1", .bytes(keybag))
        try keychain.tamper("UPDATE keychain SET stamp = stamp + 1")
        #expect(failure { _ = try value("a") } == .keychainDamaged)
        other.close()
    }
}
