// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A value in a dictionary` {
    /// A value in any of its disguises, and what it is.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let value: @Sendable () -> Any
        let input: AttributeInput

        init(
            _ description: String, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ input: AttributeInput
        ) {
            testDescription = description
            self.value = value
            self.input = input
        }
    }

    /// spec/secitem.md §2.1.
    static let rows = [
        Row("text", "a", .text("a")), Row("NSString", NSString("a"), .text("a")),
        Row("boxed text", AnyHashable("a"), .text("a")),
        Row("optional text", Optional("a") as Any, .text("a")),
        Row("twice optional text", Optional(Optional("a")) as Any, .text("a")),
        Row("nothing", Optional<String>.none as Any, .unsupported),
        Row("empty text", "", .text("")),
        Row("data", Data([1, 2]), .bytes([1, 2])),
        Row("NSData", NSData(data: Data([1])), .bytes([1])),
        Row("boxed data", AnyHashable(Data([1])), .bytes([1])),
        Row("an array of bytes", [1, 2] as [UInt8], .unsupported),
        Row("true", true, .boolean(true)), Row("false", false, .boolean(false)),
        Row("a boolean object", NSNumber(value: true), .boolean(true)),
        Row("a boxed boolean", AnyHashable(false), .boolean(false)),
        Row("an optional boolean", Optional(true) as Any, .boolean(true)),
        Row("kCFBooleanTrue", kCFBooleanTrue as Any, .boolean(true)),
        Row("kCFBooleanFalse", kCFBooleanFalse as Any, .boolean(false)),
        Row("one", 1, .number(1)), Row("zero as object", NSNumber(value: 0), .number(0)),
        Row("Int8", Int8(-1), .number(-1)), Row("Int32", Int32.min, .number(-2_147_483_648)),
        Row("UInt16", UInt16(443), .number(443)), Row("Int64", Int64.max, .number(.max)),
        Row("a boxed number", AnyHashable(5), .number(5)),
        Row("a number that is too large", UInt64.max, .unsupported),
        Row("a whole Double", 3.0, .number(3)), Row("a fraction", 1.5, .unsupported),
        Row("not a number", Double.nan, .unsupported),
        Row("infinity", Double.infinity, .unsupported),
        Row("a date", Date(timeIntervalSinceReferenceDate: 1.25), .date(1.25)),
        Row("NSDate", NSDate(timeIntervalSinceReferenceDate: -2), .date(-2)),
        Row("null", NSNull(), .unsupported), Row("a URL", url as Any, .unsupported),
        Row("an array", ["a"], .unsupported), Row("a dictionary", ["a": 1], .unsupported),
        Row("a UUID", UUID(uuid: uuid), .uuid("01020304-0506-0708-090A-0B0C0D0E0F10")),
    ]

    @Test(arguments: rows)
    func `The type of a value in a dictionary is recognised`(_ row: Row) {
        #expect(AttributeInput(row.value()) == row.input)
    }

    /// spec/secitem.md §2.1, one row per family and type.
    static let statuses = [
        StatusRow("blob of text", [kSecAttrGeneric: "a"], 0),
        StatusRow("blob of data", [kSecAttrService: Data([0xFF])], 0),
        StatusRow("blob of a number", [kSecAttrAccount: 1], 0),
        StatusRow("blob of a boolean", [kSecAttrAccount: true], errSecParam),
        StatusRow("blob of a date", [kSecAttrAccount: Date()], errSecParam),
        StatusRow("blob of null", [kSecAttrAccount: NSNull()], errSecParam),
        StatusRow("blob of an array", [kSecAttrAccount: ["a"]], errSecParam),
        StatusRow("number of text", [kSecAttrCreator: "abcd"], 0),
        StatusRow("number of data", [kSecAttrType: Data([1])], errSecParam),
        StatusRow("number of a boolean", [kSecAttrIsInvisible: true], 0),
        StatusRow("number of a date", [kSecAttrIsNegative: Date()], errSecParam),
        StatusRow("string of text", [kSecAttrSyncViewHint: "a"], 0),
        StatusRow("string of UTF-8", [kSecAttrTokenID: Data("a".utf8)], 0),
        StatusRow("string of other bytes", [kSecAttrTokenID: Data([0xFF])], errSecParam),
        StatusRow("string of a number", [kSecAttrTokenID: 1], errSecParam),
        StatusRow("string of a UUID", [kSecAttrTokenID: UUID()], 0),
        StatusRow("date of a date", [kSecAttrCreationDate: Date()], 0),
        StatusRow("date of a number", [kSecAttrModificationDate: 1], errSecParam),
        StatusRow("§1.3 a protection class", [kSecAttrAccessible: "ck"], 0),
        StatusRow("§2.4 an unknown one", [kSecAttrAccessible: "f"], errSecParam),
        StatusRow("§2.4 a number for one", [kSecAttrAccessible: 1], errSecParam),
        StatusRow("§3.4 no access control object", [kSecAttrAccessControl: "a"], errSecParam),
    ]

    @Test(arguments: statuses)
    func `A value in a dictionary is converted for its attribute or refused`(_ row: StatusRow) {
        #expect(parseStatus(.add, row.dictionary()) == row.status)
        #expect(parseStatus(.copyMatching, row.dictionary()) == row.status)
        #expect(parseStatus(.update, row.dictionary()) == row.status)
        #expect(parseStatus(.delete, row.dictionary()) == row.status)
        #expect(changesStatus(row.changes) == row.status)
    }

    @Test func `A value in a dictionary keeps its type`() throws {
        let given: NSDictionary = [
            kSecAttrServer: Data([1]), kSecAttrAccount: 7, kSecAttrPort: "443",
            kSecAttrProtocol: kSecAttrProtocolHTTPS,
        ]
        let item = try AddRequest(internetPassword + given).item
        #expect(
            item.attributes == [
                .server: .bytes([1]), .account: .number(7), .port: .number(443),
                .protocol: .text("htps"),
            ])
    }
}

private let url = URL(string: "https://example.com")
private let uuid: uuid_t = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
