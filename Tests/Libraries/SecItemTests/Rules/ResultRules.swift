// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §3.7–§3.9: what the calls give back.
@Suite struct `The rules of results` {
    /// A combination of return flags, and the keys of its dictionary beside attributes.
    struct Row: Sendable, CustomTestStringConvertible {
        /// The flags: D, A, R, P.
        let flags: String
        /// nil if the answer is no dictionary.
        let keys: Set<String>?
        var hasAttributes = false
        var testDescription: String { "§3.7 \(flags.isEmpty ? "no flag" : flags)" }

        var query: Call.Keys {
            let names: [Character: String] = [
                "D": "r_Data", "A": "r_Attributes", "R": "r_Ref", "P": "r_PersistentRef",
            ]
            var query: Call.Keys = [:]
            for flag in flags { query[names[flag] ?? ""] = true }
            return query
        }

        func allKeys(hasValue: Bool = true) -> Set<String>? {
            keys.map { keys in
                let attributes: Set<String> = [
                    "acct", "svce", "agrp", "pdmn", "sync", "cdat", "mdat",
                ]
                return keys.union(hasAttributes ? attributes : [])
                    .subtracting(hasValue ? [] : ["v_Data"])
            }
        }

        /// What one item is, of a value “a” or without one.
        func one(hasValue: Bool = true) -> Answer {
            if let keys = allKeys(hasValue: hasValue) { return .keys(keys) }
            switch flags {
            case "D": return hasValue ? .value("a") : .nothing
            case "P": return .reference
            default: return .nothing
            }
        }
    }

    /// All sixteen.
    static let flags: [Row] = [
        Row(flags: "", keys: nil), Row(flags: "D", keys: nil), Row(flags: "P", keys: nil),
        Row(flags: "R", keys: nil), Row(flags: "A", keys: [], hasAttributes: true),
        Row(flags: "DA", keys: ["v_Data"], hasAttributes: true),
        Row(flags: "DP", keys: ["v_Data", "v_PersistentRef"], hasAttributes: true),
        Row(flags: "AP", keys: ["v_PersistentRef"], hasAttributes: true),
        Row(flags: "DAP", keys: ["v_Data", "v_PersistentRef"], hasAttributes: true),
        Row(flags: "DR", keys: ["v_Data", "class"]),
        Row(flags: "AR", keys: ["class"], hasAttributes: true),
        Row(flags: "PR", keys: ["v_PersistentRef", "class"]),
        Row(flags: "DAR", keys: ["v_Data", "class"], hasAttributes: true),
        Row(flags: "DPR", keys: ["v_Data", "v_PersistentRef", "class"], hasAttributes: true),
        Row(flags: "APR", keys: ["v_PersistentRef", "class"], hasAttributes: true),
        Row(flags: "DAPR", keys: ["v_Data", "v_PersistentRef", "class"], hasAttributes: true),
    ]

    @Test(arguments: flags)
    func `The rules of results hold for one item`(_ row: Row) {
        for limit in [nil, "m_LimitOne", 1] as [Any?] {
            let query = row.query.merging(["m_Limit": limit]) { $1 }
            testCalls([.add("a"), .copy(query, row.one())], of: "one")
            let without = row.one(hasValue: false)
            testCalls([.add(["acct": "a"]), .copy(query, without)], of: "without a value")
        }
    }

    @Test(arguments: flags)
    func `The rules of results hold for several items`(_ row: Row) {
        for limit in ["m_LimitAll", 2, -1] as [Any?] {
            let query = row.query.merging(["m_Limit": limit]) { $1 }
            let answer: Answer =
                switch (row.flags, row.allKeys()) {
                case (_, let keys?): .list(2, keys)
                case ("D", _): .values(["a", "b"])
                case ("P", _): .references(2)
                default: .values([])
                }
            testCalls([.add("a"), .add("b"), .copy(query, answer)], of: "several")
            testCalls([.copy(query, -25300)], of: "none")
        }
    }

    @Test(arguments: flags)
    func `The rules of results hold for additions`(_ row: Row) {
        let item: Call.Keys = ["acct": "a", "v_Data": Data("a".utf8)]
        testCalls([.add(item.merging(row.query) { $1 }, row.one())], of: "with a value")
        // Unlike in a search, data of an item without any is empty data (§3.9).
        let answer = row.flags == "D" ? Answer.value("") : row.one(hasValue: false)
        testCalls([.add(row.query.merging(["acct": "a"]) { $1 }, answer)], of: "without")
        let again = item.merging(row.query) { $1 }
        testCalls([.add("a"), .add(again, .status(-25299))], of: "twice")
    }

    @Test(arguments: contents)
    func `The rules of results hold for the contents of dictionaries`(_ rule: Rule) { rule.check() }

    static let contents: [Rule] = [
        Rule(
            "§3.7 data leaves out items without a value",
            [
                .add(["acct": "none"]), .add("a"), .add("", [:]),
                .copy(["m_Limit": "m_LimitAll", "r_Data": true], .values(["a", ""])),
            ]),
        Rule(
            "§3.7 empty data is a value",
            [.add(["v_Data": Data()]), .copy(["r_Data": true], .value(""))]),
        Rule(
            "§3.7 a flag that is false counts as absent",
            [.add("a"), .copy(["r_Data": false, "r_Attributes": false])]),
        Rule(
            "§3.8 what was set comes back with its type",
            [
                .add(
                    "a",
                    [
                        "gena": Data([1]), "labl": "l", "desc": 5, "icmt": "", "crtr": "abcd",
                        "type": 7, "invi": true, "nega": false, "cusi": 1, "alis": Data(),
                        "scrp": "x", "prot": Data([2]), "vwht": "h", "tkid": "t",
                    ]),
                .copy(
                    ["r_Attributes": true],
                    .has([
                        "gena": Data([1]), "labl": "l", "desc": 5, "icmt": "", "crtr": "abcd",
                        "type": 7, "invi": 1, "nega": 0, "cusi": 1, "alis": Data(), "scrp": "x",
                        "prot": Data([2]), "vwht": "h", "tkid": "t",
                    ])),
            ]),
        Rule(
            "§3.8 sync is a number",
            [
                .add("a", ["sync": true]),
                .copy(["sync": true, "r_Attributes": true], .has(["sync": 1])),
            ]),
        Rule(
            "§3.8 the class is there only beside an object",
            [
                .add("a"), .copy(["r_Attributes": true, "r_Ref": true], .has(["class": "genp"])),
                .add(inet([:])), .copy(inet(["r_Data": true, "r_Ref": true]), .keys(["class"])),
            ]),
        Rule(
            "§3.8 internet passwords have all of their key",
            [
                .add(inet([:])),
                .copy(
                    inet(["r_Attributes": true]),
                    .keys([
                        "acct", "sdmn", "srvr", "ptcl", "atyp", "port", "path", "agrp", "pdmn",
                        "sync", "cdat", "mdat",
                    ])),
            ]),
    ]

    @Test(arguments: ["genp", "inet"])
    func `The rules of results hold for attributes that find their item`(_ itemClass: String) throws
    {
        let keychain = RuleKeychain()
        let item: NSDictionary = [
            "class": itemClass, "acct": 7, "labl": Data([1]), "crtr": "abcd", "sync": true,
            "pdmn": "ck", "agrp": "second", "v_Data": Data("a".utf8), "r_Attributes": true,
        ]
        var added = try #require(try keychain.service.add(item) as? [String: Any])
        added["class"] = itemClass
        var found = added
        for flags in [["r_Data": true], ["r_Attributes": true, "r_Ref": true]] as [NSDictionary] {
            let object = try keychain.service.copyMatching(found as NSDictionary + flags)
            found = object as? [String: Any] ?? found
            #expect(object != nil)
        }
        #expect(Set(found.keys).subtracting(["accc"]) == Set(added.keys))
    }
}
