// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §3.1–§3.6, §3.10: which dictionaries are requests.
@Suite struct `The rules of queries` {
    /// Dictionaries, and what the four calls and the second dictionary of an update answer in an
    /// empty keychain: copy, add, update, what an update sets, delete.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let keys: @Sendable () -> Call.Keys
        let statuses: [OSStatus]

        init(
            _ description: String, _ keys: @autoclosure @escaping @Sendable () -> Call.Keys,
            _ statuses: OSStatus...
        ) {
            testDescription = description
            self.keys = keys
            self.statuses = statuses
        }
    }

    @Test(arguments: dispatch + classes + legality + pairs)
    func `The rules of queries hold for what each call answers`(_ row: Row) {
        #expect(
            row.statuses == [
                status(.copy(row.keys())), status(.add(row.keys())),
                status(.update(row.keys(), [:])),
                status(.update([:], row.keys()), after: .add("a", ["agrp": "second"])),
                status(.delete(row.keys())),
            ])
    }

    @Test(arguments: search)
    func `The rules of queries hold for what a search matches`(_ rule: Rule) { rule.check() }

    @Test(arguments: order)
    func `The rules of queries hold for which of several errors is reported`(_ rule: Rule) {
        rule.check()
    }

    /// What one call answers in a keychain of its own.
    private func status(_ call: Call, after first: Call? = nil) -> OSStatus {
        let keychain = RuleKeychain()
        if let first { _ = keychain.status(first) }
        return keychain.status(call)
    }

    // copy, add, update, what an update sets, delete
    static let dispatch: [Row] = [
        Row("§3.1 an attribute", ["acct": "a"], -25300, 0, -25300, 0, -25300),
        Row("§3.1 four characters unknown", ["xxxx": 1], -25303, -25303, -25303, -25303, -25303),
        Row(
            "§3.1 attributes are case-sensitive", ["ACCT": ""], -25303, -25303, -25303, -25303,
            -25303),
        Row("§3.1 an unknown match key", ["m_X": 1], -25300, -50, -50, -25303, -50),
        Row("§3.1 \"m\" alone", ["m": 1], -25300, -50, -50, -25303, -50),
        Row("§3.1 an unknown return key", ["r_X": true], -50, -50, -50, -25303, -50),
        Row("§3.1 an unknown use key", ["u_X": true], -50, -50, -50, -25303, -50),
        Row("§3.1 an unknown value key", ["v_X": Data()], -50, -50, -50, -25303, -50),
        Row("§3.1 an internal key", ["f_X": 1], -25300, 0, -25300, -25303, -25300),
        Row("§3.1 the selector", ["nleg": 1], -25300, 0, -25300, 0, -25300),
        Row("§3.1 another text", ["account": "a"], -50, -50, -50, -25303, -50),
        Row("§3.1 empty text", ["": "a"], -50, -50, -50, -25303, -50),
        Row("§3.1 128 keys", many(127), -25300, 0, -25300, -25303, -25300),
        Row("§3.1 129 keys", many(129), -50, -50, -50, -50, -50),
        Row("§1.2 a tombstone", ["tomb": 1], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 an app clip", ["clip": 1], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 a persona", ["musr": Data()], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 a digest", ["sha1": Data(count: 20)], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 a sharing group", ["ggrp": "a"], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 an internal id", ["UUID": "a"], -25303, -25303, -25303, -25303, -25303),
        Row("§1.2 a volume", ["volm": "a"], -25303, -25303, -25303, -25303, -25303),
        Row("§2.2 notes", inet(["binn": Data()]), -25303, -25303, -25303, -25303, -25303),
        Row("§1.7 leaving a tombstone", ["u_Tomb": true], -50, -50, -50, -25303, -50),
        Row("§1.7 a proof as bytes", ["u_CredRef": Data()], -50, -50, -50, -25303, -50),
        Row("§1.2 a keychain file", ["u_Keychain": "a"], -50, -50, -50, -25303, -50),
    ]

    static let classes: [Row] = [
        Row("§3.2 no class", ["class": nil], -50, -50, -50, 0, -50),
        Row("§3.2 an unknown class", ["class": "xxxx"], -25306, -25306, -25306, -25303, -25306),
        Row("§1.1 apls", ["class": "apls"], -25306, -25306, -25306, -25303, -25306),
        Row("§3.2 a number for a class", ["class": 1], -25306, -25306, -25306, -25303, -25306),
        Row("§3.2 null for a class", ["class": NSNull()], -25306, -25306, -25306, -25303, -25306),
        Row(
            "§3.2 data for a class", ["class": Data("genp".utf8)], -25306, -25306, -25306, -25303,
            -25306),
        Row(
            "§3.2 a boxed class", ["class": AnyHashable("genp")],
            -25300, 0, -25300, -25303, -25300),
        Row("§1.1 a key", ["class": "keys"], -25300, -4, -25300, -25303, -25300),
        Row("§1.1 a certificate", ["class": "cert"], -25300, -4, -25300, -25303, -25300),
        Row("§1.1 an identity", ["class": "idnt"], -25300, -4, -25300, -25303, -25300),
        Row("§3.2 a server", ["srvr": "a"], -25303, -25303, -25303, -25303, -25303),
        Row("§3.2 a port", ["port": 1], -25303, -25303, -25303, -25303, -25303),
        Row("§3.2 a key's tag", ["atag": "a"], -25303, -25303, -25303, -25303, -25303),
    ]

    // §3.3, in the order of its table.
    static let legality: [Row] = [
        Row("§3.3 both kinds", ["sync": "syna"], -25300, 0, -25300, 0, -25300),
        Row("§3.3 a protection class", ["pdmn": "ck"], -25300, 0, -25300, 0, -25300),
        Row("§3.3 dates", ["cdat": Date(), "mdat": Date()], -25300, 0, -25300, 0, -25300),
        Row("§3.3 a value", ["v_Data": Data()], -25300, 0, -25300, 0, -25300),
        Row("§3.3 a value of text", ["v_Data": "a"], -50, -50, -25300, -50, -25300),
        Row("§3.3 a value of null", ["v_Data": NSNull()], -50, -50, -25300, -50, -25300),
        Row("§3.3 a value of number", ["v_Data": 1], -50, -50, -25300, -50, -25300),
        Row("§3.3 a boxed value", ["v_Data": AnyHashable(Data())], -25300, 0, -25300, 0, -25300),
        Row("§3.3 an object", ["v_Ref": NSObject()], -50, -50, -50, -25303, -50),
        Row("§3.3 one", ["m_Limit": "m_LimitOne"], -25300, -50, -25300, -25303, -25300),
        Row("§3.3 all", ["m_Limit": "m_LimitAll"], -25300, -50, -25300, -25303, -25300),
        Row("§7 all as number", ["m_Limit": -1], -25300, -50, -25300, -25303, -25300),
        Row("§3.3 a list of items", ["m_ItemList": ["a"]], -25300, -50, -50, -25303, -50),
        Row("§1.2 macOS: who may", ["acls": 1], -25303, -25303, -25300, -25303, -25300),
        Row("§3.3 case", ["m_CaseInsensitive": true], -25300, -50, -25300, -25303, -25300),
        Row("§3.3 data", ["r_Data": true], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 attributes", ["r_Attributes": true], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 an object back", ["r_Ref": true], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 a reference", ["r_PersistentRef": true], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 no data", ["r_Data": false], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 data, boxed", ["r_Data": AnyHashable(true)], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 data, as object", ["r_Data": kCFBooleanTrue], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 data, a number", ["r_Data": 1], -50, -50, -25300, -25303, -25300),
        Row(
            "§3.3 data, no number", ["r_Data": NSNumber(value: 0)], -50, -50, -25300, -25303, -25300
        ),
        Row("§3.3 data, a text", ["r_Data": "true"], -50, -50, -25300, -25303, -25300),
        Row("§3.3 items", ["u_ItemList": ["a"]], -50, -50, -50, -25303, -50),
        Row("§3.3 asking", ["u_AuthUI": "u_AuthUIA"], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 not asking", ["u_AuthUI": "u_AuthUIF"], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 skipping", ["u_AuthUI": "u_AuthUIS"], -25300, -50, -50, -25303, -50),
        Row("§10.5 not a text", ["u_AuthUI": 1], -25300, 0, -25300, -25303, -25300),
        Row("§10.5 the retired key", ["u_NoAuthUI": true], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 a prompt", ["u_OpPrompt": "why"], -25300, 0, -25300, -25303, -25300),
        Row("§3.3 a token", ["tkid": "com.apple.setoken"], -25300, 0, -25300, 0, -25300),
    ]

    // §3.6 and others: the type counts in every call, where the key is one of the call's at all.
    static let pairs: [Row] = [
        Row("§3.6 true for a limit", ["m_Limit": true], -50, -50, -25300, -25303, -25300),
        Row("§3.6 text for a limit", ["m_Limit": "1"], -50, -50, -25300, -25303, -25300),
        Row("§3.6 issuers", ["m_Issuers": [Data()]], -4, -50, -50, -25303, -50),
        Row("§3.6 a policy", ["m_Policy": NSObject()], -50, -50, -50, -25303, -50),
        Row("§3.6 a host", ["m_HostOrSubdomainOfHost": "a"], -4, -50, -50, -25303, -50),
        Row("§3.6 trust", ["m_TrustedOnly": true], -25300, -50, -25300, -25303, -25300),
        Row("§3.6 no trust", ["m_TrustedOnly": "a"], -50, -50, -25300, -25303, -25300),
        Row("§3.6 a date", ["m_ValidOnDate": Date()], -25300, -50, -25300, -25303, -25300),
        Row(
            "§3.6 null for a date", ["m_ValidOnDate": NSNull()], -25300, -50, -25300, -25303, -25300
        ),
        Row("§3.6 text for a date", ["m_ValidOnDate": "a"], -50, -50, -25300, -25303, -25300),
        Row(
            "§3.6 an address", ["m_EmailAddressIfPresent": "a"], -25300, -50, -25300, -25303, -25300
        ),
        Row("§3.6 no address", ["m_EmailAddressIfPresent": 1], -50, -50, -25300, -25303, -25300),
        Row("§3.6 a subject", ["m_SubjectContains": 1], -25300, -50, -25300, -25303, -25300),
        Row("§3.6 items", ["m_ItemList": []], -25300, -50, -50, -25303, -50),
    ]

    static let search: [Rule] = [
        Rule(
            "§3.3 a value does not filter",
            [.add("a"), .copy(["v_Data": Data("b".utf8), "r_Data": true], .value("a"))]),
        Rule(
            "§3.3 every attribute filters, and all of them",
            [
                .add("a", ["labl": "x", "icmt": "y"]), .copy(["labl": "x", "icmt": "y"]),
                .copy(["labl": "x", "icmt": "z"], -25300),
                .copy(["labl": "x", "desc": "y"], -25300),
            ]),
        Rule(
            "§3.6 one item without a limit",
            [.add("a"), .add("a", ["svce": "s"]), .copy(["r_Data": true], .value("a"))]),
        Rule("§3.6 a limit of 0 finds nothing", [.add("a"), .copy(["m_Limit": 0], -25300)]),
        Rule(
            "§3.6 a limit as number",
            [
                .add("a"), .add("b"), .add("c"),
                .copy(["m_Limit": 1, "acct": "a", "r_Data": true], .value("a")),
                .copy(["m_Limit": 2, "r_PersistentRef": true], .references(2)),
                .copy(["m_Limit": 9, "r_Data": true], .values(["a", "b", "c"])),
                .copy(["m_Limit": -1, "r_Data": true], .values(["a", "b", "c"])),
                .copy(["m_Limit": -2, "r_PersistentRef": true], .references(1)),
                .copy(["m_Limit": 2, "acct": "a", "r_Data": true], .values(["a"])),
            ]),
        Rule(
            "§3.6 a host finds itself and the domains below it",
            [
                .add(inet(["srvr": "a.example.com", "v_Data": Data("c".utf8)])),
                .copy(inet(["m_HostOrSubdomainOfHost": "a.example.com"])),
                .copy(inet(["m_HostOrSubdomainOfHost": "example.com"])),
                .copy(inet(["m_HostOrSubdomainOfHost": "com"])),
                .copy(inet(["m_HostOrSubdomainOfHost": "xample.com"]), -25300),
                .copy(inet(["m_HostOrSubdomainOfHost": "b.a.example.com"]), -25300),
            ]),
        Rule(
            "§3.6 a host leaves out servers that are no text",
            [
                .add(inet(["srvr": Data("a.b".utf8)])),
                .copy(inet(["m_HostOrSubdomainOfHost": "a.b"]), -25300),
            ]),
        Rule(
            "§3.6 keys of certificates have no effect",
            [
                .add("a"),
                .copy(["acct": "A", "m_CaseInsensitive": true], -25300),
                .copy(["m_SubjectContains": "x", "m_TrustedOnly": true, "m_SearchList": [1]]),
            ]),
        Rule(
            "§3.5 match keys in add: refused, and nothing is stored (§11)",
            [.add("a", ["m_Limit": "m_LimitOne"], -50), .left()]),
    ]

    /// §3.10: the dictionary, then the group, then what the class cannot do.
    static let order: [Rule] = [
        Rule(
            "§3.10 a fault of the dictionary goes before a foreign group",
            [
                .copy(["agrp": "foreign", "r_Data": 1], -50),
                .add(["agrp": "foreign", "zzzz": 1], .status(-25303)),
                .update(["agrp": "foreign", "zzzz": 1], [:], -25303),
                .delete(["agrp": "foreign", "zzzz": 1], -25303),
            ]),
        Rule(
            "§3.10 a foreign group goes before what the class cannot do",
            [
                .copy(["agrp": "foreign", "m_HostOrSubdomainOfHost": "a"], -34018),
                .copy(["agrp": "foreign", "m_Issuers": [Data()]], -34018),
                .copy(["agrp": "first", "m_HostOrSubdomainOfHost": "a"], -4),
            ]),
        Rule(
            "§3.10 a foreign group goes before attributes beside a reference",
            [
                .add("a"), .reference("a", [:]),
                .copy(["v_PersistentRef": Kept("a"), "agrp": "foreign"], -34018),
                .copy(["v_PersistentRef": Kept("a"), "agrp": "first"], -50),
            ]),
        Rule(
            "§3.10 a foreign group goes before finding nothing",
            [
                .copy(["agrp": "foreign", "m_Limit": 0], -34018),
                .copy(["agrp": "foreign", "sync": "x"], -34018),
                .update(["agrp": "foreign", "sync": "x"], [:], -34018),
                .delete(["agrp": "foreign", "sync": "x"], -34018),
            ]),
        Rule(
            "§3.10 a foreign group goes before match keys in add",
            [.add(["agrp": "foreign", "m_Limit": 1], .status(-34018)), .left()]),
        Rule(
            "§3.10 a foreign group goes before a duplicate",
            [.add("a"), .add("a", ["agrp": "foreign"], -34018)]),
        Rule(
            "§3.2 the class goes before all other keys",
            [
                .copy(["class": "xxxx", "aaaa": 1], -25306), .copy(["class": nil, "aaaa": 1], -50),
                .add(["class": "keys", "aaaa": 1], .status(-4)),
                .copy(["class": "keys", "aaaa": 1], -25300),
            ]),
        Rule(
            "§3.1 of two faults the one whose key sorts first is reported",
            [
                .copy(["aaaa": 1, "r_X": 1], -25303),
                .copy(["m_Policy": 1, "svce": NSNull()], -50),
                .copy(["labl": NSNull(), "zzzz": 1], -50),
                .copy(["gzzz": 1, "labl": NSNull()], -25303),
            ]),
        Rule(
            "§6 the query goes before the changes",
            [
                .update(["r_X": true], ["zzzz": 1], -50),
                .update(["zzzz": 1], ["labl": NSNull()], -25303),
            ]),
    ]
}

/// As many keys that have no effect.
private func many(_ count: Int) -> Call.Keys {
    var keys: Call.Keys = [:]
    for number in 0..<count { keys["f\(1000 + number)"] = number }
    return keys
}
