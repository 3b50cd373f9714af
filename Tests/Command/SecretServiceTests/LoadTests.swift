// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetSecretService

/// What one program may ask for, so that others are answered.
@Suite struct `A program that asks for much` {
    private let keychain = TestKeychain()
    private let holdings: Holdings

    init() { holdings = Holdings(keychain) }

    /// The path of a search for items with these attributes, and its item.
    private func postponed(
        _ attributes: [LookupName: String] = ["n": "1"]
    ) throws -> (path: String, item: ItemPath) {
        let record = SecretRecord(label: "", attributes: attributes, contentType: "text/plain")
        let value = SecretValue(SecretBytes.text("value"))
        let id = try holdings.items(of: CollectionList.login)
            .store(record, value, replacing: false).id
        return (
            try holdings.postponed(attributes).text,
            ItemPath(collection: CollectionList.login, id: id)
        )
    }

    private func isTimedOut(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            return (error as? KeychainFailure)?.code == .timedOut
        }
    }

    // Promise: 20.5
    @Test func `A call ends at its deadline, however many objects it names`() throws {
        let (path, item) = try postponed()
        let ended = holdings.begun(nil, within: .zero)
        for object in [path, item.text, ObjectPath.collection("login").text] {
            #expect(isTimedOut { _ = try ended.unlocking([object]) })
            #expect(try holdings.begun(nil).unlocking([object]).0 == [object])
        }
        for id in [item.id, String(path.split(separator: "/").last ?? "")] {
            let item = ItemPath(collection: CollectionList.login, id: id)
            #expect(isTimedOut { _ = try ended.secret(of: item, through: .plain, "/") })
            #expect(try holdings.begun(nil).secret(of: item, through: .plain, "/") != nil)
        }
    }

    // Promise: 20.5
    @Test func `A read ends when its client has left`() throws {
        let (path, _) = try postponed()
        let departure = Cancellation()
        let begun = holdings.begun(departure)
        #expect(try begun.unlocking([path]).0 == [path])
        departure.cancel()
        #expect(isTimedOut { _ = try begun.unlocking([path]) })
    }

    // Promise: 20.5
    @Test func `The thread of the bus makes no search for a path`() throws {
        let (path, item) = try postponed()
        guard case .item(let search)? = ObjectPath(path) else { return }
        #expect(try holdings.actual(search) == item)
        #expect(isTimedOut { _ = try holdings.quick.actual(search) })
        #expect(try holdings.quick.actual(item) == item)
    }

    // Promise: 20.5
    @Test func `The collection in memory has the limits of the keychain`() throws {
        let items = SessionItems()
        let value = SecretValue(SecretBytes.text("v"))
        let long = String(repeating: "x", count: LookupAttributes.maximalByteCount)
        let label = String(repeating: "x", count: DesktopItem.maximalLabelByteCount + 1)
        let many = (0...LookupAttributes.maximalCount).map { (LookupName("\($0)"), "") }
        let tooMany = Dictionary(uniqueKeysWithValues: many)
        func record(
            _ attributes: [LookupName: String], label: String = "", type: String = ""
        ) -> SecretRecord {
            SecretRecord(label: label, attributes: attributes, contentType: type)
        }
        let id = try items.store(record(["": long]), value, replacing: false).id
        for record in [
            record(["n": long]), record(tooMany), record([:], label: label),
            record([:], type: label),
        ] {
            let failure = #expect(throws: KeychainFailure.self) {
                try items.store(record, value, replacing: true)
            }
            #expect(failure?.code == .invalidRequest)
        }
        for change in [
            SecretChange(label: label), SecretChange(attributes: ["n": long]),
            SecretChange(secret: (value, label)),
        ] {
            #expect(throws: KeychainFailure.self) { try items.change(id, change) }
        }
        #expect(try items.ids(having: ["": long]) == [id])
        #expect(try items.ids(having: ["n": long]).isEmpty)
        #expect(try items.record(of: id)?.attributes == ["": long])
    }

    // Promise: 20.5
    @Test func `An alias or a label with very many accents takes no longer than another one`()
        throws
    {
        let begin = Deadline.now
        let accents = String(repeating: "\u{301}\u{323}", count: 8_000)
        for number in 0..<50 {
            let alias = "a" + accents + "\(number)"
            _ = try holdings.makeCollection(label: alias, alias: alias)
            #expect(try holdings.list.target(ofAlias: alias) != nil)
        }
        #expect(try holdings.list.aliases() == ["default", "login"])
        #expect(Deadline.now - begin < 60_000_000_000)
    }

    // Promise: 20.5
    @Test func `Waiting calls are counted by their bytes, until they are answered`() {
        let budget = ByteBudget(100)
        var shares = [budget.take(60), budget.take(40)]
        #expect(shares.allSatisfy { $0 != nil })
        #expect(budget.take(1) == nil && budget.take(0) != nil)
        shares.removeFirst()
        #expect(budget.take(61) == nil && budget.take(60) != nil)
        #expect(budget.take(nil) == nil)
    }

    // Promise: 20.5
    @Test func `Answers are counted by their bytes, and forgotten with time`() {
        var answers = AnswerAllowance()
        let begin = Deadline.now
        func isUsedUp(after seconds: Int64) -> Bool {
            answers.isUsedUp(at: begin + seconds * 1_000_000_000)
        }
        #expect(!isUsedUp(after: 0))
        answers.take((64 << 20) - 1)
        #expect(!isUsedUp(after: 0))
        answers.take(32 << 20)
        #expect(isUsedUp(after: 1))
        #expect(!isUsedUp(after: 3))
        for _ in 0..<2 {
            #expect(!isUsedUp(after: 3_600))
            answers.take(32 << 20)
        }
        #expect(isUsedUp(after: 3_600))
    }
}
