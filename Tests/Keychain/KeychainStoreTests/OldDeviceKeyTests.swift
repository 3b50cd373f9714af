// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.4, step 5: what is erased beside the device key, and what never is.
@Suite struct `A file with the name of a device key` {
    let keychain = TestKeychain()
    let folder: String
    static let number = String(repeating: "a1", count: 16)

    init() throws {
        folder = keychain.folder + "/device"
        try keychain.add("a")
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    private func contents(_ name: String) -> Data? {
        FileManager.default.contents(atPath: folder + "/" + name)
    }

    private func plant(_ name: String, _ contents: Data) {
        #expect(
            FileManager.default.createFile(
                atPath: folder + "/" + name, contents: contents,
                attributes: [.posixPermissions: 0o600]))
    }

    private func findings(_ name: String) -> [Finding] {
        keychain.store.keychain.diagnose().filter { $0.path == folder + "/" + name }
    }

    /// The device key of another keychain, and what that keychain is called.
    private static func foreignKey() throws -> (contents: Data, owner: String) {
        let other = TestKeychain()
        try other.add("b")
        let path = other.folder + "/device/device.key"
        let contents = try #require(FileManager.default.contents(atPath: path))
        return (contents, try #require(try other.store.keychain.status().keychainID))
    }

    /// The epochs of this keychain, from 1 on, each with a device key.
    private func outdatedKey() throws -> Data {
        let old = try #require(contents("device.key"))
        try keychain.store.keychain.rotateKeys(nil)
        return old
    }

    // What nobody but us may have written.

    @Test func `A device key that a key change has replaced is erased`() throws {
        let old = try #require(contents("device.key"))
        try keychain.rotateKeysBesideReader()
        plant("device.key." + Self.number, old)
        plant("device.key.\(Self.number).new-12ab", old)
        plant("device.key.new-3c", old)
        #expect(findings("device.key.new-3c").first?.hint?.contains("valet rotate") == true)
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names == ["device.key"])
        #expect(try keychain.value("a") == "value of a")
    }

    @Test func `An old device key that was partly written or erased is erased`() throws {
        let key = try #require(contents("device.key"))
        plant("device.key." + Self.number, Data(count: 122))
        plant("device.key.\(Self.number).new-1", key.prefix(60))
        plant("device.key.\(Self.number).new-2", key.prefix(5))
        plant("device.key.\(Self.number).new-3", Data())
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names == ["device.key"])
    }

    @Test func `Each device key is erased if several key changes had to leave theirs`() throws {
        for _ in 0..<3 { try keychain.rotateKeysBesideReader() }
        #expect(try names.count == 4)
        try keychain.eraseFormerKeys()
        #expect(try names.count == 1)
        keychain.store.close()
        #expect(try keychain.value("a") == "value of a")
    }

    // What somebody else may need.

    /// The database and its log.
    private func database() throws -> [String: Data] {
        keychain.store.close()
        let names = ["keychain.db", "keychain.db-wal"].map { keychain.folder + "/" + $0 }
        return Dictionary(
            uniqueKeysWithValues: names.compactMap { path in
                FileManager.default.contents(atPath: path).map { (path, $0) }
            })
    }

    private func put(_ database: [String: Data]) throws {
        for path in try self.database().keys { try FileManager.default.removeItem(atPath: path) }
        try? FileManager.default.removeItem(atPath: keychain.folder + "/keychain.db-shm")
        for (path, contents) in database {
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: contents, attributes: [.posixPermissions: 0o600]))
        }
    }

    // Promise: 14.9
    @Test func `The device key of a newer copy stays when an older copy gets new keys`() throws {
        let text = try keychain.store.keychain.createRecoveryKey(nil)
        let older = try database()
        try keychain.store.keychain.rotateKeys(nil)
        try keychain.add("b")
        let (newer, key) = (try database(), try #require(contents("device.key")))
        try put(older)
        try keychain.store.keychain.recover(with: text, settingPasscode: nil)
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try keychain.value("a") == "value of a")
        let other = try #require(try names.first { $0 != "device.key" })
        #expect(try names.count == 2 && contents(other) == key)
        let finding = try #require(findings(other).first)
        #expect(finding.severity == .warning && finding.message.contains("a newer copy"))
        #expect(finding.hint?.contains("rotate") == false)
        try put(newer)
        #expect(keychain.readable(of: ["a", "b"]) == ["a", "b"])
        // It becomes the usual one again, and is erased with the next change.
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names.allSatisfy { contents($0) != key })
    }

    // Promise: 14.9
    @Test func `A device key file that the user renamed stays`() throws {
        let old = try outdatedKey()
        for name in ["device.key.bak", "device.key.\(Self.number).bak", "device.key."] {
            plant(name, old)
        }
        let before = try names
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names == before)
        #expect(before.allSatisfy { $0 == "device.key" || contents($0) == old })
        let finding = try #require(findings("device.key.bak").first)
        #expect(finding.severity == .warning && finding.message.contains("another device key"))
        #expect(finding.hint?.contains("rotate") == false)
    }

    // Promise: 14.9
    @Test(arguments: ["device.key.notes", "device.key." + number])
    func `A file that is not a device key stays`(_ name: String) throws {
        let key = try #require(contents("device.key"))
        var damaged = key
        damaged[50] ^= 1
        var newer = key
        newer[9] = 2
        let strangers = [Data("my notes".utf8), key.prefix(60), damaged, newer, key + key]
        for contents in strangers {
            plant(name, contents)
            try keychain.store.keychain.rotateKeys(nil)
            #expect(self.contents(name) == contents)
            #expect(findings(name).first?.hint?.contains("move it away") == true)
            #expect(try !keychain.store.keychain.status().isErasePending)
        }
    }

    // Promise: 14.9
    @Test func `The device key of another keychain in the same folder stays`() throws {
        let given = folder + "/given"
        plant("given", Data((0..<32).map { UInt8($0) }))
        keychain.store.close()
        let bound = try keychain.store.takingDeviceKey(from: given)
        defer { bound.close() }
        try bound.keychain.rotateKeys(nil, movingDeviceKeyTo: .keyFile)
        #expect(try names == ["given"])
        let (key, owner) = try Self.foreignKey()
        for name in ["device.key", "device.key." + Self.number] { plant(name, key) }
        try bound.keychain.rotateKeys(nil)
        #expect(contents("device.key") == key && contents("device.key." + Self.number) == key)
        #expect(bound.keychain.strayDeviceKeys().isEmpty)
        let found = bound.keychain.diagnose().filter { $0.path == folder + "/device.key" }
        #expect(found.map(\.severity) == [.fine] && found.first?.hint == nil)
        #expect(found.first?.message.contains(owner) == true)
        // Back among them, it leaves the place to its holder.
        try bound.keychain.rotateKeys(nil, movingDeviceKeyTo: .ownFile)
        #expect(contents("device.key") == key)
        #expect(try bound.value(of: .exact("a"), for: keychain.caller) != nil)
    }

    // Promise: 14.9
    @Test func `An old device key stays if the recovery key replaced it`() throws {
        let text = try keychain.store.keychain.createRecoveryKey(nil)
        let (key, owner) = try Self.foreignKey()
        plant("device.key", key)
        keychain.store.close()
        try keychain.store.keychain.recover(with: text, settingPasscode: nil)
        for epoch in 2...4 as ClosedRange<UInt64> {
            #expect(contents("device.key") == key)
            keychain.store.close()
            #expect(try keychain.value("a") == "value of a")
            let status = try keychain.store.keychain.status()
            #expect(status.epoch == epoch && !status.isErasePending)
            #expect(try names.count == 2)
            let finding = try #require(keychain.store.keychain.strayDeviceKeys().first)
            #expect(finding.message.contains(owner))
            #expect(finding.hint?.contains("rotate") == false)
            try keychain.store.keychain.rotateKeys(nil)
        }
        try FileManager.default.removeItem(atPath: folder + "/device.key")
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try names == ["device.key"])
    }

    // What this keychain needs.

    enum Sight: CaseIterable {
        case zeros, foreign, text, exposed, nothing
    }

    // Promise: 14.10
    @Test(arguments: Sight.allCases)
    func `An old device key stays while the present one is invisible`(_ sight: Sight) throws {
        let old = try #require(contents("device.key"))
        try keychain.rotateKeysBesideReader()
        // This process has the keys, and goes on with them.
        #expect(try keychain.value("a") == "value of a")
        let own = try #require(try names.first { $0 != "device.key" })
        let new = try #require(contents(own))
        let seen: Data? =
            switch sight {
            case .zeros: Data(count: 122)
            case .foreign: try Self.foreignKey().contents
            case .text: Data("text".utf8)
            case .exposed: new
            case .nothing: nil
            }
        try FileManager.default.removeItem(atPath: folder + "/" + own)
        if let seen { plant(own, seen) }
        if sight == .exposed {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: folder + "/" + own)
        }
        #expect(failure { try keychain.eraseFormerKeys() } == .incomplete)
        #expect(contents("device.key") == old && contents(own) == seen)
        let mark = keychain.folder + "/" + OldKeyErasure.markerName
        #expect(FileManager.default.fileExists(atPath: mark))
        #expect(
            keychain.store.keychain.strayDeviceKeys().allSatisfy {
                $0.hint?.contains("erase it") != true
            })
        plant(own, new)
        try keychain.add("b")
        keychain.store.close()
        try keychain.add("c")
        #expect(try names == ["device.key"] && contents("device.key") == new)
        #expect(keychain.readable(of: ["a", "b", "c"]) == ["a", "b", "c"])
    }

    @Test func `A new device key replaces no other file`() throws {
        let old = try #require(contents("device.key"))
        try keychain.rotateKeysBesideReader()
        let oldID = old[26..<42].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        try FileManager.default.createDirectory(
            atPath: folder + "/device.key." + oldID.joined(), withIntermediateDirectories: false)
        try keychain.eraseFormerKeys()
        #expect(try names == ["device.key", "device.key." + oldID.joined()])
        #expect(try !keychain.store.keychain.status().isErasePending)
        keychain.store.close()
        #expect(try keychain.value("a") == "value of a")
    }

    @Test func `An old device key is not called useless while the present one is damaged`() throws {
        var key = try #require(contents("device.key"))
        key[50] ^= 1
        plant("device.key", key)
        keychain.store.close()
        #expect(keychain.store.keychain.strayDeviceKeys().isEmpty)
        #expect(findings("device.key").allSatisfy { $0.hint?.contains("shred") != true })
    }
}
