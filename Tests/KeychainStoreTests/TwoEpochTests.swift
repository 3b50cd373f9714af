// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSecretMemory
import ValetSystem

@testable import ValetKeychainKeys
@testable import ValetKeychainRows
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.4, between steps 2 and 4.
@Suite struct `Items of two epochs` {
    let epochs = EpochStore()
    static let service: ItemQuery = .generic([.service: .text("service")])

    /// Items a, b and c; then a new epoch, which `b` is moved to.
    private func prepare(writes: Int = 8) throws {
        try epochs.addFillers(forWrites: writes)
        for account in ["a", "b", "c"] {
            try epochs.add(.generic(account, [.label: .text("l")]), "value of \(account)")
        }
        try epochs.beginEpoch()
        try epochs.update(.exact("b"), ItemChanges(), "value of b")
        try expectTwoEpochs()
    }

    private func expectTwoEpochs() throws {
        let counts = try epochs.rowCounts()
        #expect(counts[0] >= 2 && counts[1] >= 1, "\(counts)")
        #expect(try epochs.store.keychain.status().isRotating)
    }

    /// Both before and after the change has come to its end.
    private func atBothTimes(_ body: () throws -> Void) throws {
        try expectTwoEpochs()
        try body()
        try epochs.finishEpoch()
        try body()
        #expect(try epochs.rowCounts()[0] == 0)
        #expect(epochs.keychain.damage() == [])
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 0)
    }

    @Test func `Items of two epochs are read by name, by query and all at once`() throws {
        try prepare()
        try atBothTimes { () throws in
            for account in ["a", "b", "c"] {
                #expect(try epochs.named(account) == "value of \(account)")
                #expect(try epochs.value(account) == "value of \(account)")
            }
            #expect(throws: KeychainFailure.self) { try epochs.named("d") }
            #expect(epochs.code { _ = try epochs.named("d") } == .itemNotFound)
            let values = try epochs.items(Self.service).map(\.text)
            #expect(values == ["value of a", "value of b", "value of c"])
        }
    }

    @Test func `Items of two epochs are damaged if they say that they are another sort`() throws {
        try prepare()
        try epochs.keychain.tamper("UPDATE item SET flags = 1 WHERE change_number IS NULL")
        for account in ["a", "b", "c"] {
            #expect(epochs.code { _ = try epochs.named(account) } == .damaged)
        }
    }

    @Test func `Items of two epochs come in the order of adding`() throws {
        try prepare()
        try epochs.add(.generic("d"))
        try atBothTimes { () throws in
            #expect(try epochs.accounts(Self.service) == ["a", "b", "c", "d"])
            var first = Self.service
            first.limit = 1
            #expect(try epochs.accounts(first) == ["a"])
            #expect(try epochs.listed() == ["a", "b", "c", "d"].map(AttributeValue.text))
            #expect(try epochs.accounts(.generic([.label: .text("l")])) == ["a", "b", "c"])
        }
    }

    @Test func `Items of two epochs come group by group`() throws {
        try epochs.addFillers(forWrites: 4)
        try epochs.add(.generic("z").inGroup("two"))
        try epochs.add(.generic("a").inGroup("one"))
        try epochs.add(.generic("y").inGroup("two"))
        try epochs.beginEpoch()
        try epochs.update(.exact("y"), ItemChanges(), "new")
        try atBothTimes { () throws in
            #expect(try epochs.accounts(Self.service) == ["a", "z", "y"])
            #expect(try epochs.listed() == ["a", "z", "y"].map(AttributeValue.text))
        }
    }

    @Test func `Items of two epochs cannot be added twice`() throws {
        try prepare()
        for account in ["a", "b"] {
            #expect(epochs.code { try epochs.add(.generic(account)) } == .duplicateItem)
        }
        try atBothTimes { () throws in
            #expect(try epochs.accounts(Self.service) == ["a", "b", "c"])
            #expect(try epochs.named("a") == "value of a")
        }
    }

    @Test func `Items of two epochs are replaced where they are`() throws {
        try prepare()
        let before = try epochs.items(Self.service).map(\.reference)
        try epochs.set(.generic("a"), "new a")
        try epochs.set(.generic("b"), "new b")
        try atBothTimes { () throws in
            #expect(try epochs.items(Self.service).map(\.text) == ["new a", "new b", "value of c"])
            #expect(try epochs.items(Self.service).map(\.reference) == before)
            #expect(try epochs.named("a") == "new a")
            #expect(try epochs.accounts(.generic([.label: .text("l")])) == ["a", "b", "c"])
        }
    }

    @Test func `Items of two epochs are changed together`() throws {
        try prepare()
        let changes = ItemChanges(attributes: [.label: .text("new")])
        #expect(try epochs.update(.generic([.label: .text("l")]), changes) == 3)
        try atBothTimes { () throws in
            #expect(try epochs.accounts(.generic([.label: .text("new")])) == ["a", "b", "c"])
            #expect(try epochs.accounts(.generic([.label: .text("l")])) == [])
        }
    }

    @Test func `Items of two epochs keep others from taking their primary key`() throws {
        try prepare()
        for (from, to) in [("b", "a"), ("a", "b"), ("a", "c")] {
            let changes = ItemChanges(attributes: [.account: .text(to)])
            #expect(epochs.code { try epochs.update(.exact(from), changes) } == .duplicateItem)
        }
        try epochs.update(.exact("a"), ItemChanges(attributes: [.account: .text("x")]))
        try epochs.update(.exact("b"), ItemChanges(attributes: [.account: .text("a")]))
        try atBothTimes { () throws in
            #expect(try epochs.accounts(Self.service) == ["x", "a", "c"])
            #expect(try epochs.named("a") == "value of b")
            #expect(try epochs.named("x") == "value of a")
        }
    }

    @Test func `Items of two epochs are deleted by name and by attribute`() throws {
        try prepare()
        #expect(try epochs.delete(.exact("a")) == 1)
        try epochs.add(.generic("d", [.label: .text("l")]))
        #expect(try epochs.accounts(Self.service) == ["b", "c", "d"])
        #expect(try epochs.delete(.generic([.label: .text("l")])) == 3)
        try epochs.add(.generic("e"))
        try epochs.finishEpoch()
        #expect(try epochs.accounts(Self.service) == ["e"])
        #expect(epochs.keychain.damage() == [])
    }

    @Test func `Items of two epochs are deleted by attributes that only the open item shows`()
        throws
    {
        try prepare()
        let date = try #require(epochs.items(.exact("a")).first?.attributes[.creationDate])
        #expect(try epochs.delete(.generic([.creationDate: date, .label: .text("l")])) == 3)
        #expect(try epochs.accounts(Self.service) == [])
    }

    @Test func `Items of two epochs keep their references`() throws {
        try prepare()
        let references = try epochs.items(Self.service).map(\.reference)
        try atBothTimes { () throws in
            let found = try references.map { try epochs.accounts(ItemQuery($0)) }
            #expect(found == [["a"], ["b"], ["c"]])
        }
        try epochs.beginEpoch()
        #expect(try epochs.delete(ItemQuery(references[0])) == 1)
        #expect(try epochs.items(ItemQuery(references[0])).isEmpty)
        #expect(try epochs.accounts(ItemQuery(references[1])) == ["b"])
    }

    @Test func `Items of two epochs leave tombstones in their own epoch`() throws {
        try epochs.addFillers(forWrites: 8)
        for account in ["a", "b", "c"] {
            try epochs.add(.generic(account, isSynchronizable: true))
        }
        try epochs.delete(.exact("a", .any))
        try epochs.beginEpoch()
        try epochs.delete(.exact("b", .any))
        #expect(try tombstoneTimes().count == 2)
        // Over the tombstone of the older epoch, and over that of the newer one.
        let old = try tombstoneTimes()
        try epochs.add(.generic("a", isSynchronizable: true), "again")
        try epochs.set(.generic("b", isSynchronizable: true), "again")
        let third = epochs.code { try epochs.add(.generic("c", isSynchronizable: true)) }
        #expect(third == .duplicateItem)
        try expectTwoEpochs()
        #expect(try tombstoneTimes() == [])
        let rows = try epochs.keychain.rows().filter { $0.header.flags == .synchronizable }
        #expect(rows.count == 3)
        #expect(rows.suffix(2).allSatisfy { $0.logicalTime > (old.min() ?? .max) })
        try epochs.finishEpoch()
        #expect(try epochs.accounts(.exact("a", .any)) == ["a"])
        #expect(try epochs.accounts(.exact("b", .any)) == ["b"])
        #expect(epochs.keychain.damage() == [])
    }

    private func tombstoneTimes() throws -> [Int64] {
        try epochs.keychain.rows().filter { $0.header.flags.contains(.tombstone) }
            .map(\.logicalTime)
    }

    @Test func `Items of two epochs with view hints come after those without`() throws {
        let hint: [Attribute: AttributeValue] = [.syncViewHint: .text("h")]
        try epochs.addFillers(forWrites: 4)
        try epochs.add(.generic("a", hint), "hinted")
        try epochs.beginEpoch()
        #expect(try epochs.named("a") == "hinted")
        #expect(epochs.code { try epochs.add(.generic("a", hint)) } == .duplicateItem)
        try epochs.add(.generic("a"), "plain")
        try atBothTimes { () throws in
            #expect(try epochs.named("a") == "plain")
            #expect(try epochs.items(.exact("a")).map(\.text) == ["plain", "hinted"])
            var query = ItemQuery.exact("a")
            query.attributes[.syncViewHint] = .text("h")
            #expect(try epochs.items(query).map(\.text) == ["hinted"])
        }
    }

    @Test func `Items of two epochs are found by attributes of every kind`() throws {
        try epochs.addFillers(forWrites: 4)
        let more: [Attribute: AttributeValue] = [
            .path: .text("/p"), .port: .number(443), .comment: .text("c"), .type: .number(7),
        ]
        try epochs.add(.internet("i", more))
        try epochs.add(.internet("j"))
        try epochs.add(.internet("k", more))
        try epochs.beginEpoch()
        try epochs.update(
            ItemQuery(.internetPassword, attributes: [.account: .text("k")]), ItemChanges(), "new")
        try atBothTimes { () throws in
            for (attribute, value) in more {
                let query = ItemQuery(.internetPassword, attributes: [attribute: value])
                #expect(try epochs.accounts(query) == ["i", "k"])
            }
            let plain = ItemQuery(.internetPassword, attributes: [.port: .number(0)])
            #expect(try epochs.accounts(plain) == ["j"])
            var host = ItemQuery(.internetPassword)
            host.hostOrSubdomainOfHost = "www.example.com"
            #expect(try epochs.accounts(host) == ["i", "j", "k"])
        }
    }

    @Test func `Damaged items of two epochs are replaced`() throws {
        try prepare()
        let row = try #require(epochs.items(.exact("a")).first)
        try epochs.keychain.tamper(
            "UPDATE item SET secret = zeroblob(64) WHERE number = ?1", row.parameter)
        #expect(epochs.code { _ = try epochs.named("a") } == .damaged)
        try epochs.set(.generic("a"), "new")
        #expect(try epochs.named("a") == "new")
        try epochs.finishEpoch()
        #expect(try epochs.accounts(Self.service) == ["b", "c", "a"])
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 1)
    }
}
