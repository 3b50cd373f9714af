// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §2.2, column Upd: what an update may set, of either class.
@Suite struct `The rules of what can be updated` {
    @Test(arguments: genericAttributes + internetAttributes)
    func `The rules of updating hold for attributes that can be changed`(_ rule: Rule) {
        rule.check()
    }

    @Test(arguments: genericPasswords + internetPasswords)
    func `The rules of updating hold for all other attributes`(_ rule: Rule) { rule.check() }

    /// Attributes of both classes whose value may be any text.
    private static let common = [
        "acct", "vwht", "tkid", "labl", "desc", "icmt", "crtr", "type", "scrp", "invi", "nega",
        "cusi", "alis", "prot",
    ]

    static let genericAttributes: [Rule] = (common + ["svce", "gena"]).map { (key: String) in
        Rule("§2.2 \(key) of a generic password can be changed", changes(key, "genp"))
    }

    static let internetAttributes: [Rule] =
        (common + ["sdmn", "srvr", "ptcl", "atyp", "port", "path"]).map { (key: String) in
            Rule("§2.2 \(key) of an internet password can be changed", changes(key, "inet"))
        }

    /// Found by the new text and not by the old one, which is free again; everything else is as
    /// it was.
    private static func changes(_ key: String, _ itemClass: String) -> [Call] {
        @Sendable func keys(_ more: Call.Keys) -> Call.Keys { given(more, itemClass) }
        return [
            .add(keys([key: "x", "v_Data": Data("a".utf8)])), .reference("a", keys([:])),
            .update(keys([key: "x"]), [key: "y"]), .copy(keys([key: "x"]), -25300),
            .copy(keys([key: "y", "r_Data": true]), .value("a")), .reference("a", keys([key: "y"])),
            .copy(keys(["r_Attributes": true]), .has([key: "y", "pdmn": "ak", "sync": 0])),
            .update(keys([:]), [key: "z"]), .copy(keys([key: "z"])),
            .copy(keys([key: "y"]), -25300),
        ]
    }

    static let genericPasswords = others("genp")
    static let internetPasswords =
        others("inet") + [
            Rule(
                "§2.2 attributes of generic passwords cannot be set",
                [
                    .add(inet(["acct": "a"])), .update(inet([:]), ["svce": "x"], -25303),
                    .update(inet([:]), ["gena": "x"], -25303),
                ]),
            Rule(
                "§2.2 a port and a protocol are compared as numbers afterwards, too",
                [
                    .add(inet(["port": 80])), .update(inet(["port": "80"]), ["port": "443"]),
                    .copy(
                        inet(["port": 443, "r_Attributes": true]), .has(["port": 443, "ptcl": 0])),
                    .update(inet([:]), ["ptcl": "htps"]), .copy(inet(["ptcl": "htps"])),
                ]),
            Rule(
                "§2.3 an internet password does not take the place of another",
                [
                    .add(inet(["acct": "a", "srvr": "x"])), .add(inet(["acct": "a", "srvr": "y"])),
                    .update(inet(["srvr": "x"]), ["srvr": "y"], -25299),
                    .copy(inet(["srvr": "x"])), .update(inet(["srvr": "x"]), ["srvr": "z"]),
                    .add(inet(["acct": "a", "srvr": "x"])), .left("a", "a", "a"),
                ]),
        ]

    private static func others(_ itemClass: String) -> [Rule] {
        @Sendable func keys(_ more: Call.Keys) -> Call.Keys { given(more, itemClass) }
        @Sendable func item() -> Call { .add(keys(["acct": "a", "v_Data": Data("a".utf8)])) }
        return [
            Rule(
                "§2.2 the value of \(itemClass)",
                [
                    item(), .update(keys([:]), ["v_Data": Data("b".utf8)]),
                    .copy(keys(["r_Data": true]), .value("b")),
                ]),
            Rule(
                "§2.2 the group of \(itemClass)",
                [
                    item(), .update(keys([:]), ["agrp": "second"]),
                    .copy(keys(["agrp": "first"]), -25300),
                    .copy(keys(["agrp": "second", "r_Data": true]), .value("a")),
                ]),
            Rule(
                "§2.2 whether \(itemClass) is synchronized",
                [
                    item(), .update(keys([:]), ["sync": true]), .copy(keys([:]), -25300),
                    .copy(keys(["sync": true, "r_Data": true]), .value("a")),
                    .update(keys(["sync": true]), ["sync": false]),
                    .copy(keys(["r_Data": true]), .value("a")),
                ]),
            Rule(
                "§2.2 the protection class of \(itemClass)",
                [
                    item(), .update(keys([:]), ["pdmn": "cku"]),
                    .copy(keys(["pdmn": "ak"]), -25300),
                    .copy(keys(["pdmn": "cku", "r_Data": true]), .value("a")),
                ]),
            Rule(
                "§2.2 the dates of \(itemClass): that of modification cannot be set",
                [
                    item(), .update(keys([:]), ["cdat": moment, "mdat": moment]),
                    .copy(keys(["cdat": moment])), .copy(keys(["mdat": moment]), -25300),
                ]),
        ]
    }
}

/// Keys of an item of a class.
private func given(_ keys: Call.Keys, _ itemClass: String) -> Call.Keys {
    keys.merging(["class": itemClass]) { $1 }
}

private let moment = Date(timeIntervalSinceReferenceDate: 1.25)
