// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §7.
@Suite struct `The rules of deleting` {
    @Test(arguments: rules)
    func `The rules of deleting hold for what is deleted`(_ rule: Rule) { rule.check() }

    @Test(arguments: refusals)
    func `The rules of deleting hold for what is refused and deletes nothing`(_ rule: Rule) {
        rule.check()
    }

    static let rules: [Rule] = [
        Rule(
            "§7 all matches",
            [
                .add("a"), .add("b"), .add("c", ["labl": "x"]),
                .delete(["labl": "x"]), .left("a", "b"), .delete([:]), .left(),
            ]),
        Rule("§7 zero matches", [.delete([:], -25300), .add("a"), .delete(["acct": "b"], -25300)]),
        Rule(
            "§7 only a class: its local items in all groups",
            [
                .add("a"), .add("b", ["agrp": "second"]), .add("s", ["sync": true]),
                .add(inet(["acct": "i"])), .delete([:]), .left("i", "s"),
            ]),
        Rule(
            "§7 return flags are ignored",
            [.add("a"), .delete(["r_Data": true, "r_Attributes": true]), .left()]),
        Rule("§7 a value is not compared", [.add("a"), .delete(["v_Data": Data([9])]), .left()]),
        Rule(
            "§7 an attribute of another value",
            [
                .add("a"), .delete(["pdmn": "ck"], -25300), .delete(["labl": "x"], -25300),
                .left("a"),
            ]),
        Rule(
            "§7 a reference, local or synchronized",
            [
                .add("a"), .add("b"), .add("s", ["sync": true]), .reference("a", ["acct": "a"]),
                .reference("s", ["sync": true]), .delete(["v_PersistentRef": Kept("a")]),
                .delete(["v_PersistentRef": Kept("s"), "class": nil]), .left("b"),
            ]),
        Rule(
            "§7 a reference of what is gone",
            [
                .add("a"), .reference("a", [:]), .delete([:]),
                .delete(["v_PersistentRef": Kept("a")], -25300),
            ]),
        Rule(
            "§7 a reference and attributes",
            [
                .add("a"), .reference("a", [:]),
                .delete(["v_PersistentRef": Kept("a"), "acct": "b"], -25300),
                .delete(["v_PersistentRef": Kept("a"), "acct": "a"]), .left(),
            ]),
        Rule("§7 nobody may be asked", [.add("a"), .delete(["u_AuthUI": "u_AuthUIF"]), .left()]),
        Rule("§7 an unlimited number", [.add("a"), .delete(["m_Limit": -1]), .left()]),
        Rule(
            "§3.3 macOS: match keys that narrow no search for passwords have no effect",
            ["m_Limit", "m_CaseInsensitive", "m_SubjectContains", "m_TrustedOnly"].flatMap {
                [
                    .add("a"), .add("b"), .add("c"), .delete(["acct": "b", $0: 1]),
                    .left("a", "c"), .delete([$0: "m_LimitAll"]), .left(),
                ]
            }),
        Rule(
            "§3.3 macOS: a limit of one deletes every match, a limit of 0, too",
            [
                .add("a"), .add("b"), .delete(["m_Limit": "m_LimitOne"]), .left(),
                .add("a"), .add("b"), .delete(["m_Limit": 0]), .left(),
            ]),
        Rule(
            "§3.3 macOS: the types of what has no effect are not looked at",
            [
                .add("a"), .delete(["m_Limit": true, "r_Data": 1, "v_Data": "a", "acls": 1]),
                .left(),
            ]),
        Rule("§7 the key is free", [.add("a"), .delete([:]), .add("a"), .left("a")]),
    ]

    static let refusals: [Rule] = refused.map { description, query, status in
        Rule(description, [.add("a"), .delete(query, status), .left("a")])
    }

    private static let refused: [(String, [String: any Sendable], OSStatus)] = [
        ("§7 a list that names the items", ["m_ItemList": [Data()]], -50),
        ("§7 a list of keychains", ["m_SearchList": ["a"]], -50),
        ("§7 issuers", ["m_Issuers": [Data()]], -50), ("§7 a policy", ["m_Policy": 1], -50),
        ("§7 a host", ["m_HostOrSubdomainOfHost": "a"], -50),
        ("§7 an unknown match key", ["m_X": true], -50),
        ("§7 an unknown return key", ["r_X": true], -50),
        ("§7 skipping", ["u_AuthUI": "u_AuthUIS"], -50),
        ("§7 a reference of 12 bytes", ["v_PersistentRef": old], -50),
        ("§7 one of 12 bytes and attributes", ["v_PersistentRef": old, "acct": "a"], -50),
        ("§7 an object", ["v_Ref": 1], -50), ("§7 a list of items", ["u_ItemList": [1]], -50),
        ("§7 an unknown attribute", ["zzzz": 1], -25303),
    ]
}
