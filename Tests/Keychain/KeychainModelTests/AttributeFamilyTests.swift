// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetKeychainModel

@Suite struct `A family of attributes` {
    /// What a family makes of an input; nil where it refuses it.
    struct Row: Sendable {
        let family: AttributeFamily
        let input: AttributeInput
        let value: AttributeValue?
    }

    /// spec/secitem.md §2.1, row by row.
    static let rows = [
        Row(family: .blob, input: .text("a"), value: .text("a")),
        Row(family: .blob, input: .bytes([1]), value: .bytes([1])),
        Row(family: .blob, input: .number(1), value: .number(1)),
        Row(family: .blob, input: .boolean(true), value: nil),
        Row(family: .blob, input: .date(1), value: nil),
        Row(family: .blob, input: .uuid("a"), value: nil),
        Row(family: .blob, input: .unsupported, value: nil),
        Row(family: .number, input: .text("443"), value: .number(443)),
        Row(family: .number, input: .text("-1"), value: .number(-1)),
        Row(family: .number, input: .text("007"), value: .text("007")),
        Row(family: .number, input: .text(" 1"), value: .text(" 1")),
        Row(family: .number, input: .text("+1"), value: .text("+1")),
        Row(family: .number, input: .text("-0"), value: .text("-0")),
        Row(family: .number, input: .text(""), value: .text("")),
        Row(family: .number, input: .text("http"), value: .text("http")),
        Row(family: .number, input: .text("2147483647"), value: .number(2_147_483_647)),
        Row(family: .number, input: .text("2147483648"), value: .text("2147483648")),
        Row(family: .number, input: .bytes([1]), value: nil),
        Row(family: .number, input: .number(0x8000_0001), value: .number(0x8000_0001)),
        Row(family: .number, input: .boolean(true), value: .number(1)),
        Row(family: .number, input: .boolean(false), value: .number(0)),
        Row(family: .number, input: .date(1), value: nil),
        Row(family: .number, input: .uuid("a"), value: nil),
        Row(family: .number, input: .unsupported, value: nil),
        Row(family: .string, input: .text("a"), value: .text("a")),
        Row(family: .string, input: .bytes([0x61]), value: .text("a")),
        Row(family: .string, input: .bytes([0xFF]), value: nil),
        Row(family: .string, input: .number(1), value: nil),
        Row(family: .string, input: .boolean(true), value: nil),
        Row(family: .string, input: .date(1), value: nil),
        Row(family: .string, input: .uuid("a"), value: .text("a")),
        Row(family: .string, input: .unsupported, value: nil),
        Row(family: .date, input: .date(1.5), value: .date(1.5)),
        Row(family: .date, input: .number(1), value: nil),
        Row(family: .date, input: .text("1"), value: nil),
        Row(family: .date, input: .bytes([1]), value: nil),
        Row(family: .date, input: .boolean(true), value: nil),
        Row(family: .date, input: .unsupported, value: nil),
        Row(family: .accessControl, input: .accessControl([1]), value: .accessControl([1])),
        Row(family: .accessControl, input: .text("a"), value: nil),
        Row(family: .accessControl, input: .bytes([1]), value: nil),
        Row(family: .blob, input: .accessControl([1]), value: nil),
    ]

    @Test(arguments: rows)
    func `An attribute family takes the types of its row`(_ row: Row) {
        #expect(row.family.value(from: row.input) == row.value)
    }

    /// spec/secitem.md §2.2.
    @Test(
        arguments: [
            (.number, ["ptcl", "port", "sync", "crtr", "type", "scrp", "invi", "nega", "cusi"]),
            (.string, ["agrp", "vwht", "tkid", "pdmn"]), (.date, ["cdat", "mdat"]),
            (.accessControl, ["accc"]),
        ] as [(AttributeFamily, Set<String>)])
    func `An attribute family has the attributes of the table`(
        _ family: AttributeFamily, _ codes: Set<String>
    ) {
        let members = Attribute.allCases.filter { $0.isOfSecItem && $0.family == family }
        #expect(Set(members.map(\.rawValue)) == codes)
    }
}
