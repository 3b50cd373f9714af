// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `A backup of a keychain` {
    let file = BackupPath()

    // Promise: 10.2
    @Test func `A backup has every item that may leave the device and counts the others`() throws {
        let keychain = try TestKeychain.withEverything()
        let report = try keychain.backUp(to: file)
        #expect(
            report
                == BackupReport(
                    itemCount: TestKeychain.migratableCount, thisDeviceOnlyCount: 3,
                    accessControlledCount: 0, damagedCount: 0))
        let backup = try keychain.open(file)
        #expect(try backup.verify().itemCount == TestKeychain.migratableCount)
        let names = try backup.items().compactMap { item -> String? in
            guard case .text(let name)? = item.properties.attributes[.account] else { return nil }
            return name
        }
        #expect(
            names.sorted() == [
                "decorated", "empty", "large", "net", "of class ak", "of class ck", "of class dk",
                "synchronized", "without value",
            ])
    }

    /// A valet's canary is no secret: no list shows it.
    @Test(arguments: [false, true])
    func `A backup has no canary, and a restore brings none`(_ isOld: Bool) throws {
        let service = ServiceName.standard(
            .valet, identifier: "i", accessibility: "AccessibleWhenUnlocked")
        let canary = NewItem.generic(ServiceName.canaryAccount, service: service)
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        try keychain.add(canary)
        try keychain.add(.generic(ServiceName.canaryAccount))
        #expect(try keychain.store.keychain.status().itemCount == 2)
        if isOld {
            try writeBackup(of: [canary, .generic("a"), .generic("b")])
        } else {
            #expect(try keychain.backUp(to: file) == BackupReport(itemCount: 2))
        }
        let backup = try keychain.open(file)
        #expect(try backup.verify().itemCount == 2)
        var names: [AttributeValue?] = []
        try backup.forEachItem { names.append($0.properties.attributes[.service]) }
        #expect(names == [.text("service"), .text("service")])
        let other = TestKeychain()
        try other.add(canary)
        #expect(try other.restore(file, nil, isDryRun: true) == RestoreReport(addedCount: 2))
        #expect(try other.restore(file, nil) == RestoreReport(addedCount: 2))
        #expect(try TestKeychain().restore(file, nil).addedCount == 2)
    }

    private func writeBackup(of items: [NewItem]) throws {
        let origin = BackupOrigin(keychainID: try KeychainID(Array(1...16)), milliseconds: 0)
        var writer = try BackupWriter(
            to: file.path, replacing: false, origin: origin, passphrase: BackupPath.secret(),
            cost: .lowest)
        for item in items {
            try writer.append(
                BackupItem(item.inGroup("app"), logicalTime: 1, value: .text("v")))
        }
        _ = try writer.finish()
    }

    /// Attributes have no limit of their own (spec/secitem.md §2.1), and a backup has one.
    @Test func `An item with too many bytes of attributes can be left out of a backup`() throws {
        let (keychain, file) = (TestKeychain(), BackupPath())
        let bytes = [UInt8](repeating: 1, count: 16 << 20)
        try keychain.add(.generic("large", [.generic: .bytes(bytes)]))
        try keychain.add(.generic("a"))
        #expect(failure { _ = try keychain.backUp(to: file) } == .valueTooLarge)
        let report = try keychain.backUp(to: file, skippingDamaged: true)
        #expect(report.itemCount == 1 && report.damagedCount == 1)
        #expect(keychain.damage() == [])
    }

    @Test func `A backup names its origin`() throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        try keychain.backUp(to: file)
        let backup = try keychain.open(file)
        #expect(try keychain.store.keychain.status().keychainID == backup.keychainID)
        #expect(backup.date == Double(keychain.clock.nanoseconds / 1_000_000) / 1000 - 978_307_200)
    }

    @Test func `A backup file contains no names and no values in the clear`() throws {
        let keychain = TestKeychain()
        let canaries = ["canary-account", "canary-service", "canary-label", "canary-value"]
        try keychain.add(
            .generic(canaries[0], service: canaries[1], [.label: .text(canaries[2])]), canaries[3])
        try keychain.backUp(to: file)
        let text = String(decoding: try file.bytes, as: Unicode.ASCII.self)
        #expect(text.hasPrefix("VALETBAK"))
        for canary in canaries + ["canary"] { #expect(!text.contains(canary)) }
    }

    // Promise: 10.5
    @Test func `A backup is of one moment while others write`() throws {
        let keychain = TestKeychain()
        for number in 0..<20 { try keychain.add(.generic("\(number)")) }
        let writing = keychain.otherProcess()
        let caller = keychain.caller
        let (isDone, moveCount) = (Flag(), Counter())
        Thread {
            for number in 20... {
                if isDone.isSet { break }
                // Each commit leaves twenty.
                let old = try? writing.copy(
                    .exact("\(number - 20)"), .attributes, for: caller)
                guard let version = try? old?.items.first?.version else { break }
                let item = Addition(.generic("\(number)"), value: .text("v"))
                let move = ItemTransfer(additions: [item], deletions: [version])
                guard (try? writing.perform(move, for: caller)) != nil else { break }
                moveCount.increment()
            }
        }.start()
        defer { isDone.set() }
        for _ in 0..<4 {
            let before = moveCount.value
            #expect(try keychain.backUp(to: file, replacing: true).itemCount == 20)
            #expect(moveCount.value > before)
        }
    }

    // Promise: 10.3
    @Test func `A backup refuses another passphrase`() throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        try keychain.backUp(to: file)
        let locked = try BackupFile(at: file.path, besides: keychain.store)
        let error = #expect(throws: KeychainFailure.self) {
            _ = try locked.open(with: BackupPath.secret("Open sesame"))
        }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.message == "wrong passphrase")
        #expect(error?.path == file.path)
    }

    @Test func `A backup refuses an empty passphrase`() throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        let error = #expect(throws: KeychainFailure.self) {
            var request = BackupRequest(path: file.path)
            request.cost = .lowest
            _ = try keychain.store.keychain.backUp(request, passphrase: SecretBytes(byteCount: 0))
        }
        #expect(error?.code == .invalidRequest)
        #expect(!file.exists)
    }

    @Test(arguments: [("1234567", true), ("12345678", false), ("ÄÖÜ", true)])
    func `A short backup passphrase is recognised by its characters`(
        _ text: String, _ isShort: Bool
    ) {
        #expect(Keychain.isShort(passphrase: BackupPath.secret(text)) == isShort)
    }
}

@Suite struct `A backup that cannot be made` {
    let file = BackupPath()

    /// Among them a class and a flag that would have the item left out, if they were believed.
    static let damages: [StaticString] = [
        "UPDATE item SET names = zeroblob(72) WHERE number = ?1",
        "UPDATE item SET secret = zeroblob(72) WHERE number = ?1",
        "UPDATE item SET secret = NULL WHERE number = ?1",
        "UPDATE item SET protection = 99 WHERE number = ?1",
        "UPDATE item SET protection = 4 WHERE number = ?1",
        "UPDATE item SET flags = 3 WHERE number = ?1",
        "UPDATE item SET epoch = 1000 WHERE number = ?1",
    ]

    // Promise: 10.5
    @Test(arguments: damages)
    func `A backup of damaged items fails and names their number`(_ sql: StaticString) throws {
        let keychain = TestKeychain()
        for account in ["a", "b", "c"] { try keychain.add(.generic(account)) }
        for account in ["a", "c"] {
            let item = try #require(try keychain.item(.exact(account)))
            try keychain.tamper(sql, item.parameter)
        }
        let error = #expect(throws: KeychainFailure.self) { try keychain.backUp(to: file) }
        #expect(error?.code == .damaged)
        #expect(error?.message == "2 items are damaged")
        #expect(!file.exists)
        let report = try keychain.backUp(to: file, skippingDamaged: true)
        #expect(report == BackupReport(itemCount: 1, damagedCount: 2))
        #expect(try keychain.open(file).verify().itemCount == 1)
    }

    // Promise: 10.5
    @Test(arguments: [false, true])
    func `A backup of damaged former values names them so`(_ hasDamagedItem: Bool) throws {
        let history = History()
        try history.set("1", "2", "3")
        let item = try #require(try history.item())
        try history.keychain.tamper("UPDATE former SET secret = zeroblob(72)")
        if hasDamagedItem { try history.keychain.tamper(Self.damages[0], item.parameter) }
        let error = #expect(throws: KeychainFailure.self) { try history.keychain.backUp(to: file) }
        #expect(error?.code == .damaged)
        let words = hasDamagedItem ? "1 item and 2 former values are" : "2 former values are"
        #expect(error?.message == words + " damaged")
        #expect(!file.exists)
        let report = try history.keychain.backUp(to: file, skippingDamaged: true)
        #expect(
            report
                == BackupReport(
                    itemCount: hasDamagedItem ? 0 : 1, damagedCount: hasDamagedItem ? 1 : 0,
                    damagedFormerCount: 2))
    }

    @Test func `A failed backup leaves the existing file unchanged`() throws {
        let keychain = TestKeychain()
        let item = try keychain.add(.generic("a"))
        try keychain.backUp(to: file)
        let before = try file.bytes
        var error = #expect(throws: KeychainFailure.self) { try keychain.backUp(to: file) }
        #expect(error?.code == .invalidRequest && error?.message == "the file exists already")
        try keychain.tamper(Self.damages[0], item.parameter)
        error = #expect(throws: KeychainFailure.self) {
            try keychain.backUp(to: file, replacing: true)
        }
        #expect(error?.code == .damaged)
        #expect(try file.bytes == before)
    }

    @Test func `A backup without a keychain fails`() throws {
        let keychain = TestKeychain()
        let error = #expect(throws: KeychainFailure.self) { try keychain.backUp(to: file) }
        #expect(error?.code == .itemNotFound)
        #expect(!file.exists && !FileManager.default.fileExists(atPath: keychain.folder))
    }

    // Promise: 10.9
    @Test(arguments: ["/keychain.db", "/backup", "/device/device.key", "/../{name}/x"])
    func `A backup among the keychain's own files is refused`(_ place: String) throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        let name = keychain.folder.split(separator: "/").last.map(String.init) ?? ""
        var request = BackupRequest(
            path: keychain.folder + place.replacingOccurrences(of: "{name}", with: name))
        request.isReplacing = true
        let error = #expect(throws: KeychainFailure.self) {
            _ = try keychain.store.keychain.backUp(request, passphrase: BackupPath.secret())
        }
        #expect(error?.code == .invalidRequest)
        #expect(try keychain.value(.exact("a")) == "value")
    }

    @Test(arguments: [("", KeychainFailure.Code.inputOutput), ("/a", .inputOutput)])
    func `A backup into a missing folder fails`(_ suffix: String, _ code: KeychainFailure.Code)
        throws
    {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        let request = BackupRequest(path: TestKeychain.newFolder() + suffix + "/file")
        let error = #expect(throws: KeychainFailure.self) {
            _ = try keychain.store.keychain.backUp(request, passphrase: BackupPath.secret())
        }
        #expect(error?.code == code && error?.systemError == ENOENT)
    }
}

@Suite struct `A file that is no backup` {
    // Promise: 10.9
    @Test(arguments: ["keychain.db", "keychain.db-wal", "keychain.lock"])
    func `The keychain's own files are not opened as a backup`(_ name: String) throws {
        let keychain = TestKeychain()
        try keychain.add(.generic("a"))
        let link = BackupPath()
        try FileManager.default.createSymbolicLink(
            atPath: link.path, withDestinationPath: keychain.folder + "/" + name)
        for path in [keychain.folder + "/" + name, link.path] {
            let error = #expect(throws: KeychainFailure.self) {
                _ = try BackupFile(at: path, besides: keychain.store)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test func `A file that is not a backup is refused`() throws {
        let file = BackupPath()
        try file.write(Array("a letter to my aunt".utf8))
        let error = #expect(throws: KeychainFailure.self) {
            _ = try BackupFile(at: file.path, besides: TestKeychain().store)
        }
        #expect(error?.code == .damaged && error?.message == "it is not a backup")
    }
}
