// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §8.
@Suite struct `The rules of persistent references` {
    @Test(arguments: forms + uses)
    func `The rules of persistent references hold for their form`(_ rule: Rule) { rule.check() }

    @Test(arguments: lifetime)
    func `The rules of persistent references hold for their lifetime`(_ rule: Rule) { rule.check() }

    static let forms: [Rule] = references.map { description, reference, status in
        Rule(
            description,
            [
                .add("a"), .copy(["v_PersistentRef": reference], status),
                .update(["v_PersistentRef": reference], [:], status),
                .delete(["v_PersistentRef": reference], status), .left("a"),
            ])
    }

    private static let references: [(String, any Sendable, OSStatus)] = [
        ("§8.2 too short", Data(), -50), ("§8.2 the old form", old, -50),
        ("§8.2 too long", Data("genp".utf8) + Data(count: 17), -50),
        ("§8.2 an unknown class", Data("xxxx".utf8) + Data(count: 16), -50),
        ("§8.2 another class", stranger, -25306), ("§8.2 a text", "genp", -50),
        ("§8.2 null", NSNull(), -50), ("§8.2 an array", [Data()], -50),
        ("§8.1 of a token", Data("tkpr".utf8) + Data(count: 16), -50),
        ("§8.2 of no item", Data("genp".utf8) + Data(count: 16), -25300),
    ]

    static let uses: [Rule] = [
        Rule(
            "§8.1 20 bytes that begin with the class",
            [
                .add("a"), .copy(["r_PersistentRef": true], .reference), .add(inet([:])),
                .copy(inet(["r_PersistentRef": true]), .reference),
            ]),
        Rule(
            "§8.2 alone, the class aside",
            [
                .add("a"), .reference("a", [:]),
                .copy(["v_PersistentRef": Kept("a"), "r_Data": true], .value("a")),
                .copy(["v_PersistentRef": Kept("a"), "class": nil, "r_Data": true], .value("a")),
                .copy(
                    ["v_PersistentRef": Kept("a"), "m_Limit": -1, "r_Data": true],
                    .values(["a"])),
                .copy(["v_PersistentRef": Kept("a"), "sync": "syna"]),
                .copy(["v_PersistentRef": Kept("a"), "v_Data": Data()]),
            ]),
        Rule(
            "§8.2 with an attribute: refused in a search alone",
            ["acct": "a", "cdat": Date(), "agrp": "first", "pdmn": "ak", "labl": "x"].map {
                .copy(["v_PersistentRef": Data("genp".utf8) + Data(count: 16), $0: $1], -50)
            }),
        Rule(
            "§3.3 macOS: the flag and the date of change beside it have no effect in a search",
            [
                .add("a"), .reference("a", [:]),
                .copy(["v_PersistentRef": Kept("a"), "sync": true, "r_Data": true], .value("a")),
                .copy(
                    ["v_PersistentRef": Kept("a"), "mdat": Date.distantPast, "r_Data": true],
                    .value("a")),
                .update(["v_PersistentRef": Kept("a"), "sync": true], [:], -25300),
                .delete(["v_PersistentRef": Kept("a"), "mdat": Date.distantPast], -25300),
            ]),
        Rule(
            "§3.3 in add: without effect",
            [
                .add("a"), .reference("a", ["acct": "a"]),
                .add("b", ["v_PersistentRef": Kept("a")]), .left("a", "b"),
                .copy(["v_PersistentRef": Kept("a"), "r_Data": true], .value("a")),
            ]),
    ]

    static let lifetime: [Rule] = [
        Rule(
            "§8.3 an update, of the key, too",
            [
                .add("a"), .reference("a", [:]), .update([:], ["acct": "b"]), .reference("a", [:]),
                .update([:], ["pdmn": "ck", "sync": true]), .reference("a", ["sync": true]),
                .copy(["v_PersistentRef": Kept("a"), "r_Data": true], .value("a")),
            ]),
        Rule(
            "§8.3 deleted and added again",
            [
                .add("a"), .reference("a", [:]), .delete([:]), .add("a"),
                .copy(["v_PersistentRef": Kept("a")], -25300),
            ]),
        Rule(
            "§8.3 the same for a synchronized item",
            [
                .add("a", ["sync": true]), .reference("a", ["sync": true]), .delete(["sync": true]),
                .add("a", ["sync": true]), .copy(["v_PersistentRef": Kept("a")], -25300),
            ]),
    ]
}
