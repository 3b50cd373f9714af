// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetSecretService

@Suite struct `The Secret Service before the first unlock` {
    private let keychain = TestKeychain()
    private let holdings: Holdings

    init() { holdings = Holdings(keychain) }

    private func store(
        _ attributes: [LookupName: String], in collection: String = CollectionList.login
    ) throws -> String {
        let record = SecretRecord(label: "l", attributes: attributes, contentType: "text/plain")
        let id = try holdings.items(of: collection)
            .store(record, SecretValue(SecretBytes.text("value")), replacing: false).id
        return ItemPath(collection: collection, id: id).text
    }

    private func close() throws {
        try keychain.setPasscode()
        try keychain.store.keychain.lock(all: true)
        #expect(try holdings.isBeforeFirstUnlock())
    }

    private func code(_ body: () throws -> Void) -> KeychainFailure.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.code
        }
    }

    // Promise: 20.3
    @Test func `A search is answered with one locked item, which is the found one afterwards`()
        throws
    {
        let path = try store(["n": "1"])
        try close()
        let found = try holdings.search(["n": "1"])
        #expect(found.unlocked.isEmpty)
        #expect(found.locked.count == 1)
        guard case .item(let item)? = found.locked.first.flatMap(ObjectPath.init) else {
            Issue.record("not the path of an item")
            return
        }
        #expect(try holdings.properties(of: .item(item)).first?.name == "Locked")
        #expect(try holdings.present(found.locked) == found.locked)
        #expect(code { _ = try holdings.items(of: item.collection).secret(of: item.id) } == .locked)
        try keychain.unlock()
        #expect(try holdings.actual(item).text == path)
        #expect(try holdings.present(found.locked) == found.locked)
    }

    @Test func `A search that finds nothing leads to nothing after the unlock`() throws {
        _ = try store(["n": "1"])
        try close()
        let everywhere = try holdings.search(["n": "2"]).locked
        let here = try holdings.search(["n": "2"], in: CollectionList.login).map(\.text)
        #expect(everywhere != here)
        try keychain.unlock()
        #expect(try holdings.present(everywhere + here).isEmpty)
    }

    @Test func `A search of one collection finds no item of another`() throws {
        let name = try holdings.makeCollection(label: "other", alias: "")
        let path = try store(["n": "1"], in: name)
        try close()
        let login = try #require(
            try holdings.search(["n": "1"], in: CollectionList.login).first)
        let other = try #require(try holdings.search(["n": "1"], in: name).first)
        let everywhere = try holdings.search(["n": "1"]).locked
        try keychain.unlock()
        #expect(try holdings.present([login.text]).isEmpty)
        #expect(try holdings.actual(other).text == path)
        #expect(try holdings.present(everywhere) == everywhere)
    }

    @Test func `Attributes that fit into no path are locked, not absent`() throws {
        try close()
        let long: [LookupName: String] = ["n": String(repeating: "x", count: 20_000)]
        #expect(code { _ = try holdings.search(long) } == .locked)
    }

    @Test(arguments: ["search_", "search_0", "search_zz", "searchall_00", "search", "0a"])
    func `What holds no search is the id of an item`(_ id: String) {
        #expect(PostponedSearch(id: id) == nil)
    }

    // Promise: 20.3
    @Test func `Collections and their aliases are closed, and have their names`() throws {
        try holdings.list.create("work", label: "My work", alias: "default")
        try close()
        #expect(try holdings.list.target(ofAlias: "default") == CollectionList.login)
        #expect(try holdings.list.target(ofAlias: "other") == nil)
        for (name, label) in [("work", "work"), ("login", "login"), ("session", "Session")] {
            #expect(try holdings.record(of: name)?.label == label)
        }
        #expect(try holdings.items(of: "work").ids(having: nil).isEmpty)
        #expect(try holdings.items(of: "work").isLocked())
        #expect(code { _ = try holdings.makeCollection(label: "new", alias: "") } == .locked)
        #expect(code { try holdings.list.setAlias("a", to: "work") } == .locked)
        #expect(code { _ = try store(["n": "1"]) } == .locked)
        try keychain.unlock()
        #expect(try holdings.list.target(ofAlias: "default") == "work")
        #expect(try holdings.record(of: "work")?.label == "My work")
        #expect(try holdings.record(of: "nothing") == nil)
    }
}

@Suite struct `Unlocking the Secret Service` {
    private let keychain = TestKeychain()
    private let holdings: Holdings
    private let login = ObjectPath.collection(CollectionList.login).text
    private let session = ObjectPath.collection(CollectionList.session).text

    init() { holdings = Holdings(keychain) }

    private func item(in collection: String) throws -> String {
        let record = SecretRecord(label: "l", attributes: ["n": "1"], contentType: "text/plain")
        let id = try holdings.items(of: collection)
            .store(record, SecretValue(SecretBytes.text("value")), replacing: false).id
        return ItemPath(collection: collection, id: id).text
    }

    @Test func `What is never locked is open at once, and nobody is asked for it`() throws {
        let (kept, inMemory) = try (item(in: "login"), item(in: "session"))
        try keychain.setPasscode()
        try keychain.store.keychain.lock()
        let (open, prompt) = try holdings.unlocking([session, inMemory])
        #expect(open == [session, inMemory])
        #expect(prompt == nil)
        let (some, other) = try holdings.unlocking([login, session, kept])
        #expect(some == [session])
        #expect(other?.objects == [login, kept])
        #expect(other?.isForPasscode == true)
        try keychain.unlock()
        #expect(try holdings.unlocking([login, session, kept]).0 == [login, session, kept])
    }

    @Test func `What does not exist is neither open nor asked for`() throws {
        let kept = try item(in: "login")
        let nothing = [
            ObjectPath.collection("nothing").text, kept.dropLast() + "x", "/", "/org/example",
            ObjectPath.session(1).text, ObjectPath.alias("nothing").text, ObjectPath.root,
        ].map { String($0) }
        #expect(try holdings.unlocking(nothing + [kept]).0 == [kept])
        try keychain.setPasscode()
        try keychain.store.keychain.lock()
        let (open, prompt) = try holdings.unlocking(nothing)
        #expect(open.isEmpty)
        #expect(prompt == nil)
    }

    // Promise: 20.3
    @Test func `A locked item shows the label that was last read, and no secret`() throws {
        let path = try item(in: "login")
        guard case .item(let item)? = ObjectPath(path) else { return }
        try keychain.setPasscode()
        func label() throws -> String? {
            let found = try holdings.properties(of: .item(item)).first { $0.name == "Label" }
            guard case .text(let label)? = found?.value else { return nil }
            return label
        }
        try keychain.store.keychain.lock()
        #expect(try label()?.isEmpty == true)
        let record = SecretRecord(label: "l", attributes: ["n": "1"], contentType: "text/plain")
        holdings.remembered.remember(record, of: item)
        #expect(try label() == "l")
        #expect(throws: KeychainFailure.self) {
            try holdings.items(of: item.collection).secret(of: item.id)
        }
        holdings.remembered.forgetAll()
        #expect(try label()?.isEmpty == true)
    }

    @Test func `A record that is too long is not remembered, and the former one not kept`() {
        let records = LockedItemLabels()
        let item = ItemPath(collection: "login", id: "00")
        var record = SecretRecord(label: "l", attributes: ["n": "1"], contentType: "text/plain")
        records.remember(record, of: item)
        #expect(records.record(of: item)?.label == "l")
        record.attributes["n"] = String(repeating: "x", count: 5_000)
        records.remember(record, of: item)
        #expect(records.record(of: item) == nil)
    }

    @Test func `A client is told of as many items as it can have in view`() {
        var seen = SeenItems()
        for number in 0..<2_000 {
            seen.add(ItemPath(collection: "login", id: "\(number % 1_500)"))
        }
        #expect(seen.paths.count == 1_000)
        var long = SeenItems()
        for number in 0..<100 {
            let id = String(repeating: "x", count: 30_000) + "\(number)"
            long.add(ItemPath(collection: "login", id: id))
        }
        #expect(long.paths.count == 8)
    }
}
