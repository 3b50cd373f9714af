// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetKeychainModel

@Suite struct `Comparing values of an attribute` {
    struct Row: Sendable {
        let attribute: Attribute
        let wanted: AttributeValue
        let stored: AttributeValue
        let isMatch: Bool
    }

    /// spec/secitem.md §2.1 "Consequences".
    @Test(arguments: [
        Row(attribute: .account, wanted: .text("a"), stored: .bytes([0x61]), isMatch: true),
        Row(attribute: .account, wanted: .text("a"), stored: .text("A"), isMatch: false),
        Row(attribute: .account, wanted: .text("é"), stored: .text("e\u{301}"), isMatch: false),
        Row(attribute: .account, wanted: .text("a "), stored: .text("a"), isMatch: false),
        Row(attribute: .account, wanted: .text("a"), stored: .text("ab"), isMatch: false),
        Row(attribute: .account, wanted: .number(1), stored: .text("1"), isMatch: false),
        Row(attribute: .account, wanted: .number(1), stored: .bytes([1, 0, 0, 0]), isMatch: true),
        Row(attribute: .account, wanted: .text(""), stored: .bytes([]), isMatch: true),
        Row(attribute: .port, wanted: .number(443), stored: .number(443), isMatch: true),
        Row(attribute: .port, wanted: .text("0443"), stored: .number(443), isMatch: false),
        Row(attribute: .protocol, wanted: .text("http"), stored: .text("http"), isMatch: true),
        Row(attribute: .creator, wanted: .number(1 << 40), stored: .number(1 << 40), isMatch: true),
        Row(attribute: .creator, wanted: .number(1 << 40), stored: .number(0), isMatch: false),
        Row(attribute: .creationDate, wanted: .date(1.5), stored: .date(1.5), isMatch: true),
        Row(attribute: .creationDate, wanted: .date(1.5), stored: .date(1.25), isMatch: false),
        Row(
            attribute: .accessControl, wanted: .accessControl([1]), stored: .accessControl([1]),
            isMatch: false),
    ])
    func `Comparing values of an attribute is exact, but for the type of blobs`(_ row: Row) {
        #expect(row.attribute.matches(row.wanted, row.stored) == row.isMatch)
        #expect(row.attribute.matches(row.stored, row.wanted) == row.isMatch)
    }

    /// spec/secitem.md §2.2.
    @Test func `Comparing values of an attribute knows which class has which`() {
        let generic = Set(Attribute.allCases.filter { $0.exists(in: .genericPassword) })
        let internet = Set(Attribute.allCases.filter { $0.exists(in: .internetPassword) })
        #expect(generic.subtracting(internet) == [.service, .generic, .lookupAttributes])
        #expect(
            internet.subtracting(generic) == [
                .securityDomain, .server, .protocol, .authenticationType, .port, .path,
            ])
    }

    /// spec/secitem.md §2.3.
    @Test(arguments: ItemClass.allCases)
    func `Comparing values of an attribute has a default for all that makes an item unique`(
        _ itemClass: ItemClass
    ) {
        for attribute in itemClass.primaryKeyAttributes {
            #expect(attribute.defaultValue != nil)
            #expect(attribute.exists(in: itemClass))
        }
    }
}
