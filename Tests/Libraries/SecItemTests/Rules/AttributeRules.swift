// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §2: what is compared, what is unique, what is the default.
@Suite struct `The rules of attributes` {
    @Test(arguments: comparison)
    func `The rules of attributes hold for equality`(_ rule: Rule) { rule.check() }

    @Test(arguments: genericKeys + internetKeys + otherKeys)
    func `The rules of attributes hold for unique keys`(_ rule: Rule) { rule.check() }

    @Test(arguments: otherAttributes + otherInternetAttributes)
    func `The rules of attributes hold for what is not part of a unique key`(_ rule: Rule) {
        rule.check()
    }

    @Test(arguments: defaults)
    func `The rules of attributes hold for defaults`(_ rule: Rule) { rule.check() }

    @Test(arguments: protection + unknownProtection + otherProtection)
    func `The rules of attributes hold for protection classes`(_ rule: Rule) { rule.check() }

    @Test(arguments: dates)
    func `The rules of attributes hold for dates`(_ rule: Rule) { rule.check() }

    static let comparison: [Rule] = [
        Rule(
            "§2.1 text and data with the same bytes are equal",
            [
                .add("a"), .copy(["acct": Data("a".utf8)]),
                .add(["acct": Data("a".utf8)], .status(-25299)),
            ]),
        Rule(
            "§2.1 a number and its text are not equal as text attributes",
            [
                .add(["acct": 1]), .copy(["acct": "1"], -25300), .add("1"), .copy(["acct": 1]),
                .copy(["acct": 1, "r_Attributes": true], .has(["acct": 1])),
            ]),
        Rule(
            "§2.1 a number is its four native bytes",
            [.add(["acct": 1]), .copy(["acct": Data([1, 0, 0, 0])]), .copy(["acct": 1])]),
        Rule(
            "§2.1 case counts",
            [.add("a"), .copy(["acct": "A"], -25300), .add("A"), .left("A", "a")]),
        Rule(
            "§2.1 forms of a letter count",
            [.add("\u{E9}"), .copy(["acct": "e\u{301}"], -25300), .add("e\u{301}")]),
        Rule(
            "§2.1 blanks count",
            [.add("a"), .copy(["acct": "a "], -25300), .copy(["acct": " a"], -25300)]),
        Rule(
            "§2.1 true, 1 and \"1\" are one number",
            [
                .add("a", ["invi": true]), .copy(["invi": 1]), .copy(["invi": "1"]),
                .copy(["invi": "01"], -25300), .copy(["invi": 0], -25300),
            ]),
        Rule(
            "§2.1 \"443\" is 443",
            [
                .add(inet(["port": "443"])), .copy(inet(["port": 443])),
                .add(inet(["port": 443]), .status(-25299)),
                .copy(inet(["r_Attributes": true]), .has(["port": 443])),
            ]),
        Rule(
            "§2.1 \"007\" is not 7",
            [
                .add(inet(["port": "007"])), .copy(inet(["port": 7]), -25300),
                .add(inet(["port": 7])),
            ]),
        Rule(
            "§2.1 a protocol stays text",
            [
                .add(inet(["ptcl": "http"])),
                .copy(inet(["r_Attributes": true]), .has(["ptcl": "http"])),
                .copy(inet(["ptcl": "HTTP"]), -25300),
            ]),
        Rule(
            "§2.1 numbers beyond 32 bits survive",
            [
                .add("a", ["crtr": 0x8000_0001 as Int64]),
                .copy(["r_Attributes": true], .has(["crtr": 0x8000_0001 as Int64])),
                .copy(["crtr": 0x8000_0001 as Int64]), .copy(["crtr": 1], -25300),
            ]),
        Rule(
            "§2.1 numbers beyond 32 bits as text stay text",
            [.add("a", ["type": "2147483678"]), .copy(["type": 2_147_483_678], -25300)]),
        Rule(
            "§2.1 a port may be empty text", [.add(inet(["port": ""])), .copy(inet(["port": ""]))]),
        Rule(
            "§2.1 empty data and empty text are equal",
            [.add(""), .add(["acct": Data()], .status(-25299)), .copy(["acct": Data()])]),
        Rule(
            "§2.1 a text attribute may be as long as can be",
            [.add(["acct": String(repeating: "a", count: 100_000)])]),
        Rule(
            "§2.1 a server may be data, and comes back as data",
            [
                .add(inet(["srvr": Data([1, 2])])),
                .copy(inet(["r_Attributes": true]), .has(["srvr": Data([1, 2])])),
            ]),
        Rule(
            "§2.2 invisible items are found",
            [.add("a", ["invi": true, "nega": true]), .copy(["acct": "a"])]),
        Rule(
            "§2.3 a search without an account finds every account",
            [.add("a"), .copy(["svce": ""]), .copy([:])]),
    ]

    static let genericKeys: [Rule] = ["acct", "svce", "vwht", "tkid"].map { (key: String) in
        Rule(
            "§2.3 \(key) makes a generic password another one",
            [
                .add([key: "1"]), .add([key: "2"]), .add([key: "2"], .status(-25299)),
                .add(["labl": "x"]),
            ])
    }

    static let internetKeys: [Rule] = [
        "acct", "sdmn", "srvr", "ptcl", "atyp", "port", "path", "vwht", "tkid",
    ].map { (key: String) in
        Rule(
            "§2.3 \(key) makes an internet password another one",
            [
                .add(inet([key: "x"])), .add(inet([key: "y"])),
                .add(inet([key: "y"]), .status(-25299)), .add(inet(["labl": "x"])),
            ])
    }

    static let otherAttributes: [Rule] = [
        "labl", "gena", "desc", "icmt", "crtr", "type", "scrp", "invi", "nega", "cusi", "alis",
        "prot",
    ].map { (key: String) in
        Rule(
            "§2.3 \(key) does not make a generic password another one",
            [.add("a", [key: 1]), .add("a", [key: 2], -25299), .left("a")])
    }

    static let otherInternetAttributes: [Rule] = [
        "labl", "desc", "icmt", "crtr", "type", "scrp", "invi", "nega", "cusi", "alis", "prot",
    ].map { (key: String) in
        Rule(
            "§2.3 \(key) does not make an internet password another one",
            [.add(inet([key: 1])), .add(inet([key: 2]), .status(-25299))])
    }

    static let otherKeys: [Rule] = [
        Rule(
            "§2.3 the protection class does not make another one",
            [.add("a", ["pdmn": "ak"]), .add("a", ["pdmn": "ck"], -25299)]),
        Rule(
            "§2.3 dates do not make another one",
            [.add("a"), .add("a", ["cdat": then], -25299)]),
        Rule(
            "§2.3 the group makes another one",
            [.add("a", ["agrp": "first"]), .add("a", ["agrp": "second"]), .left("a", "a")]),
        Rule(
            "§2.3 being synchronized makes another one",
            [.add("a"), .add("a", ["sync": true]), .add("a", ["sync": true], -25299)]),
        Rule(
            "§2.3 the class makes another one",
            [.add("a"), .add(inet(["acct": "a"])), .left("a", "a")]),
        Rule(
            "§2.3 what is missing is empty",
            [.add([:]), .add(["acct": "", "svce": ""], .status(-25299)), .copy(["acct": ""])]),
        Rule(
            "§2.3 numbers that are missing are 0",
            [
                .add(inet([:])), .add(inet(["port": 0, "ptcl": 0]), .status(-25299)),
                .copy(inet(["port": false, "ptcl": "0"])),
            ]),
    ]

    static let defaults: [Rule] = [
        Rule(
            "§2.2 a generic password has an account and a service",
            [
                .add([:]),
                .copy(
                    ["r_Attributes": true],
                    .keys(["acct", "svce", "agrp", "pdmn", "sync", "cdat", "mdat"])),
                .copy(["r_Attributes": true], .has(["acct": "", "svce": "", "sync": 0])),
            ]),
        Rule(
            "§2.2 an internet password has all of its key",
            [
                .add(inet([:])),
                .copy(
                    inet(["r_Attributes": true]),
                    .has([
                        "acct": "", "sdmn": "", "srvr": "", "ptcl": 0, "atyp": "", "port": 0,
                        "path": "", "sync": 0, "pdmn": "ak", "agrp": "first",
                    ])),
            ]),
        Rule(
            "§2.2 a label is not there by default, not even as empty text",
            [.add("a"), .copy(["labl": ""], -25300), .copy(["gena": Data()], -25300)]),
    ]

    static let protection: [Rule] = ["ak", "ck", "dk", "aku", "cku", "dku"].map { (code: String) in
        let other = code == "ak" ? "ck" : "ak"
        return Rule(
            "§2.4 an item may be \(code)",
            [
                .add("a", ["pdmn": code]), .copy(["pdmn": code, "r_Data": true], .value("a")),
                .copy(["r_Attributes": true], .has(["pdmn": code])),
                .copy(["pdmn": other], -25300), .delete(["pdmn": other], -25300),
            ])
    }

    static let unknownProtection: [Rule] = ["", "a", "AK", "f", "akx"].map { (code: String) in
        Rule(
            "§2.4 the text “\(code)” is refused by every call",
            [
                .add("a", ["pdmn": code], -50), .copy(["pdmn": code], -50),
                .update(["pdmn": code], [:], -50), .update([:], ["pdmn": code], -50),
                .delete(["pdmn": code], -50),
            ])
    }

    static let otherProtection: [Rule] = [
        Rule("§2.4 an item is ak by default", [.add("a"), .copy(["pdmn": "ak"])]),
        Rule(
            "§2.4 a search without a class finds every class",
            [.add("a", ["pdmn": "dku"]), .copy(["acct": "a"])]),
        Rule(
            "§2.4 the group com.apple.apsd is like others (a documented deviation)",
            [
                .caller("com.apple.apsd"), .add("a", ["agrp": "com.apple.apsd"]),
                .copy(["r_Attributes": true], .has(["agrp": "com.apple.apsd", "pdmn": "ak"])),
                .add("b", ["pdmn": "dku"]), .copy(["acct": "b", "pdmn": "dku"]),
            ]),
        Rule("§2.1 a class may come as UTF-8", [.add("a", ["pdmn": Data("ck".utf8)])]),
        Rule("§9.5 akpu needs a passcode", [.add("a", ["pdmn": "akpu"], -25291), .left()]),
    ]

    static let dates: [Rule] = [
        Rule(
            "§2.5 dates that are given to add are not kept",
            [
                .add("a", ["cdat": then, "mdat": then]), .copy(["cdat": then], -25300),
                .copy(["mdat": then], -25300),
            ]),
        Rule(
            "§2.5 an update sets the creation date, not that of modification",
            [
                .add("a"), .update([:], ["cdat": then, "mdat": then]), .copy(["cdat": then]),
                .copy(["mdat": then], -25300),
                .copy(["r_Attributes": true], .has(["cdat": then])),
            ]),
        Rule(
            "§2.5 an update leaves the creation date, and that of modification is later",
            [
                .add("a"), .dates([:], .new, .new), .dates([:], .same, .same),
                .update([:], ["labl": "x"]), .dates([:], .same, .later),
                .update([:], ["labl": "x"]), .dates([:], .same, .later),
                .update([:], [:]), .dates([:], .same, .later),
            ]),
        Rule(
            "§2.5 an update that fails leaves both",
            [
                .add("a"), .dates([:], .new, .new), .update([:], ["zzzz": 1], -25303),
                .update([:], ["labl": true], -50), .dates([:], .same, .same),
            ]),
        Rule(
            "§2.5 an update of the key leaves the creation date",
            [
                .add("a"), .dates([:], .new, .new), .update([:], ["acct": "b"]),
                .dates([:], .same, .later),
            ]),
        Rule(
            "§2.5 a synchronized item that comes again is later than the one that was deleted",
            [
                .add("a", ["sync": true]), .dates(["sync": true], .new, .new),
                .delete(["sync": true]), .add("a", ["sync": true]),
                .dates(["sync": true], .later, .later),
            ]),
    ]
}

/// Keys of an internet password.
func inet(_ more: Call.Keys) -> Call.Keys { ["class": "inet"].merging(more) { $1 } }

private let then = Date(timeIntervalSinceReferenceDate: 1.25)
