// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetSecretService

@Suite struct `Items of the Secret Service` {
    private let keychain = TestKeychain()

    private var holdings: Holdings {
        Holdings(keychain)
    }

    private func secret(_ text: String) -> SecretValue { SecretValue(SecretBytes.text(text)) }

    private func store(
        _ attributes: [LookupName: String], in collection: String = CollectionList.login
    ) throws -> String {
        let record = SecretRecord(
            label: "a label", attributes: attributes, contentType: "text/plain")
        return try holdings.items(of: collection)
            .store(record, secret("value"), replacing: false).id
    }

    // Promise: 20.1
    @Test func `Secrets of valets and of other groups are not given out`() throws {
        try keychain.add("a")
        let query = ItemQuery(.genericPassword, attributes: [.account: .text("a")])
        let item = try #require(try keychain.session.attributes(of: query).items.first)
        let id = Hexadecimal.text(item.reference.itemID)
        let items = holdings.items(of: CollectionList.login)
        #expect(try items.record(of: id) == nil)
        #expect(try items.secret(of: id) == nil)
        #expect(try !items.change(id, SecretChange(label: "mine")))
        #expect(try !items.delete(id))
        #expect(try items.ids(having: nil).isEmpty)
        #expect(try holdings.search(["a": "b"]).unlocked.isEmpty)
        #expect(try keychain.session.attributes(of: query).items.count == 1)
    }

    // Promise: 20.1
    @Test func `An item belongs to its collection alone`() throws {
        let name = try holdings.makeCollection(label: "other", alias: "")
        let id = try store(["n": "1"], in: name)
        let (own, login) = (holdings.items(of: name), holdings.items(of: CollectionList.login))
        #expect(try own.record(of: id)?.label == "a label")
        #expect(try login.record(of: id) == nil)
        #expect(try !login.delete(id))
        #expect(try login.ids(having: ["n": "1"]).isEmpty)
        #expect(try own.ids(having: ["n": "1"]) == [id])
        try holdings.list.delete(name)
        #expect(try own.record(of: id) == nil)
    }

    // Promise: 20.1
    @Test(arguments: ["", "0", "zz", "00000000000000000000000000000000", "..", "é"])
    func `What is no id leads to no item`(_ id: String) throws {
        _ = try store(["n": "1"])
        let items = holdings.items(of: CollectionList.login)
        #expect(try items.record(of: id) == nil)
        #expect(try items.secret(of: id) == nil)
        #expect(try !items.delete(id))
        #expect(try items.ids(having: nil).count == 1)
    }

    // Promise: 20.3
    @Test func `A locked keychain tells which items have attributes, and no more`() throws {
        try keychain.setPasscode()
        let id = try store(["n": "1"])
        try keychain.store.keychain.lock()
        let items = holdings.items(of: CollectionList.login)
        #expect(try items.isLocked())
        #expect(try items.ids(having: ["n": "1"]) == [id])
        #expect(try items.ids(having: ["n": "2"]).isEmpty)
        let path = ItemPath(collection: CollectionList.login, id: id).text
        #expect(try holdings.search(["n": "1"]).locked == [path])
        for body in [
            { _ = try items.record(of: id) }, { _ = try items.secret(of: id) },
            { _ = try items.change(id, SecretChange(label: "x")) },
        ] {
            #expect(throws: KeychainFailure.self) { try body() }
        }
        try keychain.unlock()
        #expect(try items.secret(of: id)?.value.byteCount == 5)
    }

    @Test func `Aliases lead to collections that there are`() throws {
        let list = holdings.list
        #expect(try list.target(ofAlias: "default") == CollectionList.login)
        #expect(try list.target(ofAlias: "mine") == nil)
        let name = try holdings.makeCollection(label: "My keys", alias: "mine")
        #expect(name == "My_keys")
        #expect(try holdings.makeCollection(label: "My keys", alias: "") == "My_keys_2")
        #expect(try holdings.makeCollection(label: "", alias: "") == "collection")
        #expect(try holdings.makeCollection(label: "renamed", alias: "mine") == name)
        #expect(try list.record(of: name)?.label == "renamed")
        try list.setAlias("default", to: name)
        #expect(try list.target(ofAlias: "default") == name)
        try list.delete(name)
        #expect(try list.target(ofAlias: "mine") == nil)
        #expect(try list.target(ofAlias: "default") == CollectionList.login)
    }
}

@Suite struct `Damage in the Secret Service` {
    private let keychain = TestKeychain()
    private let holdings: Holdings

    init() { holdings = Holdings(keychain, sharing: [AccessGroup("shared")]) }

    private func store(_ attributes: [LookupName: String], _ value: String, replacing: Bool = false)
        throws -> String
    {
        let record = SecretRecord(label: "l", attributes: attributes, contentType: "text/plain")
        return try holdings.items(of: CollectionList.login)
            .store(record, SecretValue(SecretBytes.text(value)), replacing: replacing).id
    }

    private func fails(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            return (error as? KeychainFailure)?.code == .damaged
        }
    }

    // Promise: 14.2
    @Test func `A search does not give the second of two items as the only one`() throws {
        let ids = try [store(["n": "1"], "first"), store(["n": "1"], "second")]
        let other = try store(["n": "2"], "other")
        try keychain.damageFirstItem()
        let items = holdings.items(of: CollectionList.login)
        #expect(fails { _ = try items.ids(having: ["n": "1"]) })
        #expect(fails { _ = try holdings.search(["n": "1"]) })
        #expect(fails { _ = try store(["n": "1"], "new", replacing: true) })
        #expect(fails { _ = try items.secret(of: ids[0]) })
        #expect(fails { _ = try items.exists(ids[0]) })
        #expect(try items.ids(having: ["n": "2"]) == [other])
        #expect(try holdings.search(["n": "2"]).unlocked.count == 1)
        #expect(try items.ids(having: nil).contains(ids[1]))
    }

    @Test func `A damaged item of a shared group is not absent to a search for it`() throws {
        for (service, account) in [("s", "a"), ("s", "b"), ("t", "a")] {
            let item = NewItem(
                .genericPassword,
                attributes: [.service: .text(service), .account: .text(account)],
                accessGroup: AccessGroup("shared"))
            try holdings.list.session.add(item, value: SecretValue(SecretBytes.text("value")))
        }
        try keychain.damageFirstItem()
        let items = holdings.items(of: Holdings.collection(of: AccessGroup("shared")))
        #expect(fails { _ = try items.ids(having: ["service": "s", "account": "a"]) })
        #expect(fails { _ = try items.ids(having: ["username": "a"]) })
        #expect(try items.ids(having: ["service": "s", "username": "b"]).count == 1)
        #expect(try items.ids(having: ["service": "t"]).count == 1)
        #expect(try items.ids(having: nil).count == 2)
        #expect(try holdings.search(["service": "t"]).unlocked.count == 1)
    }

    @Test func `A damaged alias does not lead to the usual collection`() throws {
        try holdings.list.create("other", label: "Other", alias: "default")
        #expect(try holdings.list.target(ofAlias: "default") == "other")
        try keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE number = 2")
        #expect(fails { _ = try holdings.list.target(ofAlias: "default") })
        #expect(try holdings.list.record(of: "other")?.label == "Other")
        try keychain.tamper("UPDATE item SET names = zeroblob(72) WHERE number = 1")
        #expect(fails { _ = try holdings.list.record(of: "other") })
        #expect(try holdings.list.record(of: "another") == nil)
    }
}

@Suite struct `Bounds of the Secret Service` {
    private let keychain = TestKeychain()

    private func record(_ byteCount: Int = 0) -> SecretRecord {
        SecretRecord(
            label: String(repeating: "x", count: byteCount), attributes: [:],
            contentType: "text/plain")
    }

    // Promise: 20.5
    @Test func `The collection in memory is full at some time, and takes more after a removal`()
        throws
    {
        let items = SessionItems()
        let value = SecretValue(SecretBytes(byteCount: 1 << 20))
        var ids: [String] = []
        #expect(throws: KeychainFailure.self) {
            while ids.count < 1_000 {
                ids.append(try items.store(record(), value, replacing: false).id)
            }
        }
        #expect(ids.count == 63)
        #expect(try items.ids(having: nil) == ids)
        #expect(throws: KeychainFailure.self) {
            try items.change(
                ids[0], SecretChange(secret: (SecretValue(SecretBytes(byteCount: 4 << 20)), "")))
        }
        #expect(try items.secret(of: ids[0])?.value.byteCount == 1 << 20)
        #expect(try items.delete(ids[0]))
        #expect(try items.store(record(), value, replacing: false).id == "64")
    }

    // Promise: 20.5
    @Test func `A label that is too long is refused, and nothing is stored`() throws {
        let items = Holdings(keychain).items(of: CollectionList.login)
        let value = SecretValue(SecretBytes.text("value"))
        let limit = DesktopItem.maximalLabelByteCount
        let failure = #expect(throws: KeychainFailure.self) {
            try items.store(record(limit + 1), value, replacing: true)
        }
        #expect(failure?.code == .invalidRequest)
        let id = try items.store(record(limit), value, replacing: true).id
        #expect(throws: KeychainFailure.self) {
            try items.change(
                id, SecretChange(label: String(repeating: "x", count: limit + 1)))
        }
        #expect(try items.ids(having: nil) == [id])
    }
}

@Suite struct `Paths of the Secret Service` {
    @Test func `A path names one object, and its object has that path`() {
        let item = ItemPath(collection: "login", id: "00ff")
        for path: ObjectPath in [
            .service, .collection("login"), .alias("default"), .item(item), .session(7),
            .prompt(.max),
        ] {
            #expect(ObjectPath(path.text) == path)
        }
    }

    @Test(arguments: [
        "", "/", "/org", "/org/freedesktop/secret", "/org/freedesktop/secrets/",
        "/org/freedesktop/secrets/collection", "/org/freedesktop/secrets/collection/a/b/c",
        "/org/freedesktop/secrets/session/-1", "/org/freedesktop/secrets/session/x",
        "/org/freedesktop/secretsx/collection/login",
    ])
    func `Other paths name nothing`(_ path: String) { #expect(ObjectPath(path) == nil) }
}
