// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §6.
@Suite struct `The rules of updating` {
    @Test(arguments: scope + keys)
    func `The rules of updating hold for what is changed`(_ rule: Rule) { rule.check() }

    @Test(arguments: refusals)
    func `The rules of updating hold for what is refused and changes nothing`(_ rule: Rule) {
        rule.check()
    }

    static let scope: [Rule] = [
        Rule(
            "§6 every match is changed",
            [
                .add("a"), .add("b"), .update([:], ["labl": "x"]),
                .copy(["labl": "x", "m_Limit": -1, "r_Data": true], .values(["a", "b"])),
            ]),
        Rule("§6 zero matches", [.add("a"), .update(["acct": "b"], ["labl": "x"], -25300)]),
        Rule(
            "§6 what is not named stays",
            [
                .add("a", ["labl": "l", "gena": Data([1])]), .reference("a", [:]),
                .update([:], ["icmt": "c"]), .reference("a", [:]),
                .copy(
                    ["r_Attributes": true, "r_Data": true],
                    .has(["labl": "l", "gena": Data([1]), "icmt": "c", "v_Data": Data("a".utf8)])),
            ]),
        Rule(
            "§6 a value is replaced",
            [
                .add("a"), .update([:], ["v_Data": Data("b".utf8)]),
                .copy(["r_Data": true], .value("b")),
            ]),
        Rule(
            "§6 an item gets a value",
            [
                .add(["acct": "a"]), .update([:], ["v_Data": Data()]),
                .copy(["r_Data": true], .value("")),
            ]),
        Rule(
            "§6 nothing is changed but the date",
            [.add("a"), .update([:], [:]), .copy(["r_Data": true], .value("a"))]),
        Rule(
            "§6 the value of the query is not compared",
            [.add("a"), .update(["v_Data": Data("x".utf8)], ["labl": "y"])]),
        Rule(
            "§6 an attribute is emptied, not removed",
            [
                .add("a", ["labl": "l"]), .update([:], ["labl": ""]), .copy(["labl": ""]),
                .copy(["r_Attributes": true], .has(["labl": ""])),
            ]),
        Rule(
            "§6 an attribute gets another type",
            [
                .add("a", ["labl": "l"]), .update([:], ["labl": Data([1])]),
                .copy(["r_Attributes": true], .has(["labl": Data([1])])),
            ]),
        Rule(
            "§6 the protection class is changed",
            [
                .add("a"), .update([:], ["pdmn": "ck"]),
                .copy(["pdmn": "ck", "r_Data": true], .value("a")), .copy(["pdmn": "ak"], -25300),
            ]),
        Rule(
            "§6 a reference and attributes",
            [
                .add("a"), .add("b"), .reference("a", ["acct": "a"]),
                .update(["v_PersistentRef": Kept("a"), "acct": "a"], ["labl": "x"]),
                .update(["v_PersistentRef": Kept("a"), "acct": "b"], ["labl": "x"], -25300),
                .copy(["labl": "x", "m_Limit": -1, "r_Data": true], .values(["a"])),
            ]),
        Rule(
            "§3.3 macOS: return flags and match keys that narrow nothing have no effect",
            [
                .add("a"), .add("b"),
                .update(["r_Data": true, "r_Ref": 1, "m_Limit": "m_LimitOne"], ["labl": "x"]),
                .copy(["labl": "x", "m_Limit": -1, "r_Data": true], .values(["a", "b"])),
                .update(["m_CaseInsensitive": true, "acct": "a"], ["labl": "y"]),
                .copy(["labl": "y", "m_Limit": -1, "r_Data": true], .values(["a"])),
            ]),
        Rule(
            "§6 return flags that are false",
            [.add("a"), .update(["r_Data": false, "u_AuthUI": "u_AuthUIF"], ["labl": "x"])]),
    ]

    static let keys: [Rule] = [
        Rule(
            "§6 a key that is free",
            [
                .add("a"), .reference("a", [:]), .update([:], ["acct": "b"]), .left("b"),
                .reference("a", ["acct": "b"]), .copy(["acct": "a"], -25300), .add("a"),
            ]),
        Rule(
            "§6 a key that is taken",
            [
                .add("a"), .add("b"), .update(["acct": "a"], ["acct": "b", "labl": "x"], -25299),
                .left("a", "b"), .copy(["labl": "x"], -25300),
            ]),
        Rule(
            "§6 several matches and one key",
            [
                .add("a"), .add("b"), .update([:], ["acct": "c"], -25299), .left("a", "b"),
            ]),
        Rule(
            "§6 the second match collides and the first stays as it was",
            [
                .add("a", ["svce": "1"]), .add("a", ["svce": "2"]), .add("b", ["svce": "2"]),
                .update(["acct": "a"], ["acct": "b"], -25299), .left("a", "a", "b"),
            ]),
        Rule(
            "§6 the key that it has",
            [.add("a"), .update(["acct": "a"], ["acct": "a", "labl": "x"]), .copy(["labl": "x"])]),
        Rule(
            "§2.1 the key that it has, as other bytes of another type",
            [
                .add("a"), .update([:], ["acct": Data("a".utf8)]),
                .copy(["r_Attributes": true], .has(["acct": Data("a".utf8)])),
            ]),
        Rule(
            "§6 a key where a synchronized item was deleted",
            [
                .add("a", ["sync": true]), .delete(["sync": true]), .add("b", ["sync": true]),
                .reference("b", ["sync": true]), .update(["sync": true], ["acct": "a"]), .left("a"),
                .reference("b", ["sync": true]),
            ]),
        Rule(
            "§6 hint and token are part of the key",
            [
                .add("a", ["vwht": "h"]), .update([:], ["vwht": "g"]), .copy(["vwht": "g"]),
                .update([:], ["tkid": "t"]), .copy(["tkid": "t", "vwht": "g"]),
            ]),
    ]

    /// Each is asked of two items whose label is “kept”.
    static let refusals: [Rule] = refused.map { row in
        Rule(
            row.description,
            [
                .add("a", ["labl": "kept"]), .add("b", ["labl": "kept"]),
                .reference("a", ["acct": "a"]), .update(row.query, row.changes, row.status),
                .copy(["labl": "kept", "m_Limit": -1, "r_Data": true], .values(["a", "b"])),
                .left("a", "b"),
            ])
    }

    private static let refused: [Refusal] = [
        Refusal("§6 the class in the changes", [:], ["class": "genp"], -25303),
        Refusal("§6 a return flag in the changes", [:], ["r_Data": true], -25303),
        Refusal("§6 a match key in the changes", [:], ["m_Limit": 1], -25303),
        Refusal("§6 a use key in the changes", [:], ["u_OpPrompt": "a"], -25303),
        Refusal("§6 a reference in the changes", [:], ["v_PersistentRef": Kept("a")], -25303),
        Refusal("§6 an object in the changes", [:], ["v_Ref": 1], -25303),
        Refusal("§6 an unknown attribute", [:], ["zzzz": 1], -25303),
        Refusal("§6 an attribute of another class", [:], ["srvr": "a"], -25303),
        Refusal("§6 null for an attribute", [:], ["labl": NSNull()], -50),
        Refusal("§6 a boolean for text", [:], ["labl": true], -50),
        Refusal("§6 null for a value", [:], ["v_Data": NSNull()], -50),
        Refusal("§6 text for a value", [:], ["v_Data": "a"], -50),
        Refusal("§6 one fault beside what is right", [:], ["labl": "x", "zzzz": 1], -25303),
        Refusal("§6 a foreign group", [:], ["agrp": "foreign"], -34018),
        Refusal("§9.5 akpu without a passcode", [:], ["pdmn": "akpu"], -25291),
        Refusal("§6 an unknown return flag", ["r_X": true], ["labl": "x"], -50),
        Refusal("§6 an unknown match key", ["m_X": true], ["labl": "x"], -50),
        Refusal("§6 a list that names the items", ["m_ItemList": ["a"]], ["labl": "x"], -50),
        Refusal("§6 a host", ["m_HostOrSubdomainOfHost": "a"], ["labl": "x"], -50),
        Refusal("§6 skipping", ["u_AuthUI": "u_AuthUIS"], ["labl": "x"], -50),
        Refusal("§6 a list of items", ["u_ItemList": ["a"]], ["labl": "x"], -50),
        Refusal(
            "§6 another class", ["v_PersistentRef": stranger], ["labl": "x"], -25306),
        Refusal("§6 a reference of 12 bytes", ["v_PersistentRef": old], ["labl": "x"], -50),
        Refusal(
            "§6 one of 12 bytes and attributes", ["v_PersistentRef": old, "acct": "a"], [:], -50),
        Refusal("§6 a key that is taken", ["acct": "a"], ["acct": "b", "labl": "x"], -25299),
        Refusal("§6 one key for all", [:], ["acct": "c", "labl": "x"], -25299),
    ]

    /// An update that fails.
    struct Refusal {
        let description: String
        let query: [String: any Sendable]
        let changes: [String: any Sendable]
        let status: OSStatus

        init(
            _ description: String, _ query: [String: any Sendable],
            _ changes: [String: any Sendable], _ status: OSStatus
        ) {
            self.description = description
            self.query = query
            self.changes = changes
            self.status = status
        }
    }
}

let stranger = Data("inet".utf8) + Data(count: 16)
let old = Data("genp".utf8) + Data([0, 0, 0, 0, 0, 0, 0, 1])
