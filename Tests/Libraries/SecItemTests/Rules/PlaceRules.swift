// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §4: items that are synchronized, and items that are not.
@Suite struct `The rules of synchronizing` {
    @Test(arguments: values + texts + others)
    func `The rules of synchronizing hold for what a search covers`(_ rule: Rule) { rule.check() }

    @Test(arguments: changes + protection + tombstones)
    func `The rules of synchronizing hold for which items are synchronizable`(_ rule: Rule) {
        rule.check()
    }

    /// §4.1: a value, and the accounts that it leaves when it deletes “l”, local, and “s”.
    static let values: [Rule] = rows.map { name, value, left in
        let found = ["l", "s"].filter { !left.contains($0) }
        return Rule(
            "§4.1 \(name)",
            [
                .add("l"), .add("s", ["sync": true]),
                .copy(["sync": value, "m_Limit": "m_LimitAll", "r_Data": true], .values(found)),
                .update(["sync": value], ["labl": "x"]),
                .copy(
                    ["labl": "x", "sync": "syna", "m_Limit": -1, "r_Data": true],
                    .values(found)),
                .delete(["sync": value]), Call(kind: .accounts, answer: .texts(left)),
            ])
    }

    private static let rows: [(String, (any Sendable)?, [String])] = [
        ("absent", nil, ["s"]), ("false", false, ["s"]), ("0", 0, ["s"]), ("\"0\"", "0", ["s"]),
        ("true", true, ["l"]), ("1", 1, ["l"]), ("\"1\"", "1", ["l"]), ("any", "syna", []),
        ("NSNumber of true", NSNumber(value: true), ["l"]),
        ("NSNumber of 0", NSNumber(value: 0), ["s"]),
    ]

    static let texts: [Rule] = ["x", "", "01", "true", "2"].map { (text: String) in
        Rule(
            "§4.1 the text “\(text)” matches nothing",
            [
                .add("l"), .add("s", ["sync": true]), .copy(["sync": text], -25300),
                .update(["sync": text], [:], -25300), .delete(["sync": text], -25300),
                .left("l", "s"),
            ])
    }

    static let others: [Rule] = [
        Rule("§4.1 another number matches nothing", [.add("l"), .copy(["sync": 2], -25300)]),
        Rule(
            "§4.1 data and dates are refused",
            [
                .copy(["sync": Data([1])], -50), .copy(["sync": Date()], -50),
                .delete(["sync": Data([1])], -50), .update(["sync": Date()], [:], -50),
            ]),
        Rule(
            "§4.1 a boxed boolean",
            [
                .add("s", ["sync": AnyHashable(true)]), .copy(["sync": AnyHashable(true)]),
                .copy(["sync": AnyHashable(false)], -25300), .copy(["sync": kCFBooleanTrue]),
            ]),
        Rule(
            "§4.1 a reference finds either kind",
            [
                .add("s", ["sync": true]), .reference("s", ["sync": true]),
                .copy(["v_PersistentRef": Kept("s"), "r_Data": true], .value("s")),
                .delete(["v_PersistentRef": Kept("s")]), .left(),
            ]),
    ]

    static let changes: [Rule] = [
        Rule("§4.2 added as true", [.add("a", ["sync": true]), .copy(["acct": "a"], -25300)]),
        Rule("§4.2 added as any is local", [.add("a", ["sync": "syna"]), .copy(["acct": "a"])]),
        Rule(
            "§4.2 from local to synchronized",
            [.add("a"), .update([:], ["sync": true]), .copy([:], -25300), .copy(["sync": true])]),
        Rule(
            "§4.2 from synchronized to local",
            [.add("a", ["sync": 1]), .update(["sync": 1], ["sync": false]), .copy([:])]),
        Rule(
            "§4.2 over an item that is there",
            [
                .add("a"), .add("a", ["sync": true]), .update([:], ["sync": true], -25299),
                .update(["sync": true], ["sync": 0], -25299), .copy([:]), .copy(["sync": true]),
            ]),
        Rule("§4.2 any sets nothing", [.add("a"), .update([:], ["sync": "syna"]), .copy([:])]),
        Rule(
            "§4.2 what is neither is refused in what is stored",
            [.add("a", ["sync": "x"], -50), .update([:], ["sync": 2], -50), .left()]),
    ]

    static let protection: [Rule] = ["aku", "cku", "dku"].map { (code: String) in
        Rule(
            "§4.3 \(code) may be synchronizable",
            [
                .add("a", ["sync": true, "pdmn": code]),
                .copy(["sync": true, "pdmn": code, "r_Data": true], .value("a")),
            ])
    }

    static let tombstones: [Rule] = [
        Rule(
            "§4.4 a tombstone is not seen and frees its key",
            [
                .add("a", ["sync": true]), .delete(["sync": true]), .left(),
                .copy(["sync": "syna"], -25300), .delete(["sync": "syna"], -25300),
                .update(["sync": "syna"], [:], -25300), .add("a", ["sync": true]), .left("a"),
            ]),
        Rule(
            "§4.4 an update moves a synchronized item away from its key",
            [
                .add("a", ["sync": true]), .update(["sync": true], ["acct": "b"]), .left("b"),
                .add("a", ["sync": true]), .left("a", "b"),
            ]),
    ]
}

/// spec/secitem.md §5: groups.
@Suite struct `The rules of access groups` {
    @Test(arguments: rules)
    func `The rules of access groups hold for where items are stored and found`(_ rule: Rule) {
        rule.check()
    }

    static let rules: [Rule] = [
        Rule("§5.2 by default the first", [.add("a"), .copy(["agrp": "first"])]),
        Rule(
            "§5.2 a group of the caller's",
            [
                .add("a", ["agrp": "second"]), .copy(["agrp": "first"], -25300),
                .copy(["agrp": "second"]), .copy(["r_Attributes": true], .has(["agrp": "second"])),
            ]),
        Rule(
            "§5.2 a search is about all groups",
            [
                .add("a"), .add("b", ["agrp": "second"]), .add("c", ["agrp": "app"]),
                .copy(["m_Limit": "m_LimitAll", "r_Data": true], .values(["a", "b", "c"])),
                .update([:], ["labl": "x"]),
                .copy(["labl": "x", "m_Limit": -1, "r_Data": true], .values(["a", "b", "c"])),
                .delete([:]), .left(),
            ]),
        Rule(
            "§5.2 a named group is the only one",
            [
                .add("a"), .add("b", ["agrp": "second"]),
                .update(["agrp": "second"], ["labl": "x"]),
                .copy(["labl": "x", "m_Limit": -1, "r_Data": true], .values(["b"])),
                .delete(["agrp": "second"]), .left("a"),
            ]),
        Rule(
            "§5.2 a group that the caller lacks",
            [
                .add("a", ["agrp": "foreign"], -34018), .copy(["agrp": "foreign"], -34018),
                .update(["agrp": "foreign"], [:], -34018), .delete(["agrp": "foreign"], -34018),
                .copy(["agrp": "FIRST"], -34018), .copy(["agrp": ""], -34018),
                .copy(["agrp": "*"], -34018),
            ]),
        Rule(
            "§5.2 the group of tokens",
            [
                .add("a", ["agrp": "com.apple.token"], -34018),
                .copy(["agrp": "com.apple.token"], -25300),
                .update(["agrp": "com.apple.token"], [:], -34018),
                .delete(["agrp": "com.apple.token"], -34018),
                .add("a"), .update([:], ["agrp": "com.apple.token"], -34018),
            ]),
        Rule(
            "§5.2 not a string",
            [
                .add("a", ["agrp": 1], -50), .copy(["agrp": 1], -50),
                .update(["agrp": 1], [:], -34018), .delete(["agrp": 1], -34018),
                .delete(["agrp": NSNull()], -34018), .update([:], ["agrp": 1], -50),
            ]),
        Rule(
            "§2.1 as UTF-8 in what is read and stored",
            [
                .add("a", ["agrp": Data("second".utf8)]), .copy(["agrp": Data("second".utf8)]),
                .copy(["agrp": AnyHashable("second")]), .copy(["agrp": Data([0xFF])], -50),
            ]),
        Rule(
            "§5.2 an item of a foreign group",
            [
                .add("a"), .reference("a", [:]), .caller("other"), .copy(["acct": "a"], -25300),
                .update(["acct": "a"], [:], -25300), .delete(["acct": "a"], -25300),
                .copy(["v_PersistentRef": Kept("a")], -25300),
                .update(["v_PersistentRef": Kept("a")], [:], -25300),
                .delete(["v_PersistentRef": Kept("a")], -25300), .add("a"), .left("a"),
                .caller("first"), .left("a"),
            ]),
        Rule(
            "§5.2 a new group in an update",
            [
                .add("a"), .reference("a", [:]), .update([:], ["agrp": "second"]),
                .copy(["agrp": "second"]), .copy(["agrp": "first"], -25300), .reference("a", [:]),
                .update([:], ["agrp": "foreign"], -34018), .copy(["agrp": "second"]),
            ]),
        Rule(
            "§5.2 a new group where the key is taken",
            [
                .add("a"), .add("a", ["agrp": "second"]),
                .update(["agrp": "first"], ["agrp": "second"], -25299), .left("a", "a"),
            ]),
        Rule(
            "§5.2 a foreign group in the changes, though nothing matches",
            [.update(["acct": "none"], ["agrp": "foreign"], -34018)]),
        Rule(
            "§5.1 the group of tokens is never the default, wherever it is listed",
            [
                .caller("com.apple.token", "mine"), .add("a"), .copy(["agrp": "mine"]),
                .delete([:]), .left(),
            ]),
        Rule(
            "§5.1 nothing but the group of tokens: nowhere to write",
            [
                .caller("com.apple.token"), .add("a", [:], -34018), .copy([:], -25300),
                .update([:], [:], -34018), .delete([:], -34018),
            ]),
    ]
}
