// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetKeychainModel

/// The plan alone, for items that are not stored anywhere.
@Suite struct `What a migration plans` {
    private struct Value: MigratableValue, Equatable {
        let text: String
        var isEmpty: Bool { text.isEmpty }

        func isEqual(to other: Value) -> Bool { text == other.text }
    }

    private struct Item: MigratableItem {
        let accountText: String?
        var serviceText: String? = "E"
        let groupName: String? = "app"
        let isSynchronizable = false
        var knownClass: ProtectionClass? = .whenUnlocked
        let value: Value? = Value(text: "v")
    }

    private typealias Plan = MigrationPlan<Item>

    private let valet = ValetIdentity(
        identifier: "E", isExplicit: true, accessibility: .afterFirstUnlock)
    /// Swift takes each for the text before it.
    private let alike = ["é", "e\u{301}", "VAL_KeychainCanaryUsername"]
    private let kelvin = "VAL_\u{212A}eychainCanaryUsername"

    private func accounts(_ plan: Plan) -> [[UInt8]] {
        plan.additions.compactMap { addition in
            if case .text(let text)? = addition.item.attributes[.account] {
                Array(text.utf8)
            } else {
                nil
            }
        }
    }

    @Test func `Items that keep key and value change where they are`() throws {
        let plan = try Plan([Item(accountText: "k")], into: valet, removing: true, Plan.keep)
        #expect(plan.changes.count == 1 && plan.additions.isEmpty && plan.removals.isEmpty)
    }

    @Test(arguments: [("k2", "v"), ("k", "v2"), ("k2", "v2")])
    func `A changed key or value takes the place of the item`(_ key: String, _ value: String) throws
    {
        let plan = try Plan([Item(accountText: "k")], into: valet, removing: true) { _, _ in
            (key, Value(text: value))
        }
        #expect(plan.changes.isEmpty && plan.removals.map(\.accountText) == ["k"])
        #expect(accounts(plan) == [Array(key.utf8)])
        #expect(plan.additions.map(\.value) == [Value(text: value)])
        #expect(plan.addedKeys == (key == "k" ? [] : [ExactName(key)]))
    }

    @Test func `Keys that look alike are two keys`() throws {
        var plan = try Plan(
            alike.prefix(2).map { Item(accountText: $0, serviceText: "other") }, into: valet,
            removing: false, Plan.keep)
        #expect(accounts(plan) == alike.prefix(2).map { Array($0.utf8) })
        #expect(plan.addedKeys.count == 2)
        plan = try Plan([Item(accountText: alike[0])], into: valet, removing: true) { _, value in
            (alike[1], value)
        }
        #expect(plan.changes.isEmpty && accounts(plan) == [Array(alike[1].utf8)])
    }

    @Test func `A key that looks like the canary's is copied, and the canary is not`() throws {
        let items = [alike[2], kelvin].map { Item(accountText: $0, serviceText: "other") }
        let plan = try Plan(items, into: valet, removing: true, Plan.keep)
        #expect(accounts(plan) == [Array(kelvin.utf8)])
        #expect(plan.removals.count == 2)
    }
}

@Suite struct `Names in sets` {
    @Test func `Values of attributes compare byte by byte`() {
        let names = ["é", "e\u{301}", "K", "\u{212A}"]
        #expect(Set(names.map { AttributeValue.text($0) }).count == 4)
        #expect(Set(names.map { ExactName($0) }).count == 4)
        #expect(AttributeValue.text("a") == .text("a") && AttributeValue.text("a") != .bytes([97]))
        #expect(AttributeValue.number(1) == .number(1) && AttributeValue.date(1) != .date(2))
    }
}
