// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `Opening a keychain` {
    let keychain = TestKeychain()

    init() throws {
        try keychain.add(.generic("a"), "v")
        keychain.reopen()
    }

    private var files: [String] {
        let names = try? FileManager.default.subpathsOfDirectory(atPath: keychain.folder)
        return (names ?? []).sorted()
    }

    private func path(_ name: String) -> String { keychain.folder + "/" + name }

    private func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: path(name), toPath: path(other))
    }

    @Test func `Opening a keychain makes its files private`() throws {
        for (name, mode) in [
            ("", 0o700), ("device", 0o700), ("keychain.db", 0o600), ("device/device.key", 0o600),
            ("keychain.lock", 0o600),
        ] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
            #expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
        }
    }

    @Test func `A new keychain has the marks of its format`() throws {
        #expect(try keychain.number("PRAGMA application_id") == 0x5641_4C54)
        #expect(try keychain.number("PRAGMA user_version") == 1)
        #expect(try keychain.number("PRAGMA page_size") == 4096)
    }

    @Test(
        arguments: [
            "ALTER TABLE item ADD COLUMN more INTEGER", "DROP INDEX item_by_change",
            "CREATE INDEX more ON item (class)", "CREATE TABLE more (a INTEGER)",
            "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END",
            "CREATE VIEW v AS SELECT * FROM item", "DROP TABLE former",
            "ALTER TABLE former RENAME COLUMN salt TO pepper",
        ] as [StaticString])
    func `Opening a keychain refuses a schema that differs`(_ sql: StaticString) throws {
        try keychain.tamper(sql)
        #expect(failure { _ = try keychain.value(.exact("a")) } == .keychainDamaged)
        #expect(failure { try keychain.add(.generic("b")) } == .keychainDamaged)
        #expect(!keychain.damage().isEmpty)
    }

    /// spec/keys-and-states.md §8, case 10.
    @Test(arguments: ["keychain.db", "device/device.key"])
    func `Opening a keychain creates nothing while one of its two files is missing`(_ name: String)
        throws
    {
        try move(name, to: "away")
        let before = files
        #expect(failure { _ = try keychain.value(.exact("a")) } == .incomplete)
        #expect(failure { try keychain.add(.generic("b")) } == .incomplete)
        #expect(failure { try keychain.set(.generic("a"), "w") } == .incomplete)
        #expect(failure { try keychain.delete(.exact("a")) } == .incomplete)
        #expect(try keychain.store.keychain.status().state == .incomplete)
        #expect(keychain.store.keychain.diagnose().contains { $0.severity == .broken })
        // Looking may leave SQLite's own two files behind.
        #expect(
            Set(files).subtracting(before).isSubset(of: ["keychain.db-wal", "keychain.db-shm"]))
        try move("away", to: name)
        keychain.reopen()
        #expect(try keychain.value(.exact("a")) == "v")
    }

    @Test func `Opening a keychain treats an empty database as none`() throws {
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path("keychain.db" + suffix))
        }
        try move("keychain.db", to: "away")
        let isMade = FileManager.default.createFile(
            atPath: path("keychain.db"), contents: nil, attributes: [.posixPermissions: 0o600])
        #expect(isMade)
        #expect(failure { _ = try keychain.value(.exact("a")) } == .incomplete)
        #expect(failure { try keychain.add(.generic("b")) } == .incomplete)
    }

    /// docs/FORMAT.md §2.1: the process ended between steps 3 and 4.
    @Test func `Opening a keychain finishes its interrupted creation`() throws {
        let wal = path("keychain.db-wal")
        // Nothing but the room that it keeps.
        #expect(try Data(contentsOf: URL(fileURLWithPath: wal)).allSatisfy { $0 == 0 })
        try move("keychain.db", to: "keychain.db.new")
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path("keychain.db" + suffix))
        }
        #expect(try keychain.value(.exact("a")) == "v")
        #expect(!files.contains("keychain.db.new"))
    }

    @Test func `Opening a keychain does not finish a creation under another key`() throws {
        let stranger = TestKeychain()
        try stranger.add(.generic("a"))
        stranger.store.close()
        let manager = FileManager.default
        for suffix in ["", "-wal", "-shm"] {
            try? manager.removeItem(atPath: path("keychain.db" + suffix))
        }
        try manager.copyItem(
            atPath: stranger.folder + "/keychain.db", toPath: path("keychain.db.new"))
        #expect(failure { _ = try keychain.value(.exact("a")) } == .incomplete)
        #expect(failure { try keychain.add(.generic("b")) } == .incomplete)
        #expect(files.contains("keychain.db.new") && !files.contains("keychain.db"))
    }

    /// spec/keys-and-states.md §8, case 9.
    @Test func `Opening a keychain refuses the device key of another one and changes nothing`()
        throws
    {
        let stranger = TestKeychain()
        try stranger.add(.generic("a"))
        try move("device/device.key", to: "away")
        let manager = FileManager.default
        try manager.copyItem(
            atPath: stranger.folder + "/device/device.key", toPath: path("device/device.key"))
        let before = try Data(contentsOf: URL(fileURLWithPath: path("keychain.db")))
        #expect(failure { _ = try keychain.value(.exact("a")) } == .keyUnavailable)
        #expect(failure { try keychain.set(.generic("a"), "w") } == .keyUnavailable)
        #expect(try keychain.store.keychain.status().state == .keyUnavailable)
        keychain.reopen()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path("keychain.db"))) == before)
        try manager.removeItem(atPath: path("device/device.key"))
        try move("away", to: "device/device.key")
        #expect(try keychain.value(.exact("a")) == "v")
    }

    @Test(arguments: [0, 10, 42, 121])
    func `Opening a keychain refuses a changed device key`(_ offset: Int) throws {
        let url = URL(fileURLWithPath: path("device/device.key"))
        var bytes = try Data(contentsOf: url)
        bytes[offset] ^= 1
        let file = try FileHandle(forUpdating: url)
        try file.write(contentsOf: bytes)
        try file.close()
        #expect(failure { _ = try keychain.value(.exact("a")) } == .keychainDamaged)
        #expect(failure { try keychain.add(.generic("b")) } == .keychainDamaged)
    }

    @Test(arguments: ["keychain.db", "device/device.key", "device", ""])
    func `Opening a keychain refuses files that others may read`(_ name: String) throws {
        let isFolder = !name.contains(".")
        try FileManager.default.setAttributes(
            [.posixPermissions: isFolder ? 0o755 : 0o644], ofItemAtPath: path(name))
        #expect(failure { _ = try keychain.value(.exact("a")) } == .insecureFiles)
        #expect(failure { try keychain.add(.generic("b")) } == .insecureFiles)
    }

    @Test func `Opening a keychain reports once what is wrong with a file`() throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o750], ofItemAtPath: keychain.folder)
        let error = #expect(throws: KeychainFailure.self) { try keychain.add(.generic("b")) }
        #expect(error?.path == keychain.folder)
        #expect(
            error?.description
                == "could not open the keychain: the group or others have permissions ("
                + keychain.folder + ")")
        #expect(error?.hint == "chmod 700 \(keychain.folder)")
    }

    @Test func `Opening a keychain refuses a file that is not a database`() throws {
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path("keychain.db" + suffix))
        }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path("keychain.db")))
        try file.write(contentsOf: Data(repeating: 7, count: 4096))
        try file.close()
        #expect(failure { _ = try keychain.value(.exact("a")) } == .keychainDamaged)
        #expect(!keychain.damage().isEmpty)
    }

    @Test func `An opened keychain notices that another took its place`() throws {
        #expect(try keychain.value(.exact("a")) == "v")
        let other = TestKeychain()
        try other.add(.generic("a"), "other")
        other.store.close()
        keychain.reopen()
        let manager = FileManager.default
        for name in ["keychain.db", "keychain.db-wal", "keychain.db-shm", "device/device.key"] {
            try? manager.removeItem(atPath: path(name))
            try? manager.copyItem(atPath: other.folder + "/" + name, toPath: path(name))
        }
        #expect(try keychain.value(.exact("a")) == "other")
    }

    @Test func `An opened keychain describes itself`() throws {
        try keychain.add(.generic("b", isSynchronizable: true))
        try keychain.delete(.exact("b", .any))
        let status = try keychain.store.keychain.status()
        #expect(status.state == .noPasscode)
        #expect(status.level == .file)
        #expect(status.itemCount == 1)
        #expect(status.epoch == 1)
        #expect(status.formatVersion == 1)
        #expect(status.keychainID?.count == 32)
        #expect(status.deviceKeyPath == path("device/device.key"))
        #expect(status.quarantinedRowCount == 0)
        #expect(!status.isReadOnly)
        #expect(try keychain.number("SELECT count(*) FROM item") == 2)
    }
}
