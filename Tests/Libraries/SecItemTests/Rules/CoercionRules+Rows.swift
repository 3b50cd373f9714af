// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

extension `The rules of coercion`.Row {
    /// spec/secitem.md §2.1, also how values may come boxed.
    static let all = texts + data + numbers + booleans + others

    private static let texts: [Self] = [
        .text("text", "a", "a"),
        .text("empty text", "", ""),
        .text("text that prints as a number", "7", "7", number: 7),
        .text("a negative one", "-7", "-7", number: -7),
        .text("the largest one", "2147483647", "2147483647", number: 2_147_483_647),
        .text("the smallest one", "-2147483648", "-2147483648", number: -2_147_483_648),
        .text("one beyond 32 bits", "2147483648", "2147483648"),
        .text("one with zeros before it", "007", "007"),
        .text("one with a blank before it", " 1", " 1"),
        .text("one with a sign before it", "+1", "+1"),
        .text("minus nothing", "-0", "-0"),
        .text("a fraction as text", "1.5", "1.5"),
        .text("text beyond ASCII", "é", "é"),
        .text("text with a null in it", "a\u{0}b", "a\u{0}b"),
        .text("NSString", NSString("7"), "7", number: 7),
        .text("NSMutableString", NSMutableString(string: "b"), "b"),
        .text("boxed text", AnyHashable("7"), "7", number: 7),
        .text("boxed NSString", AnyHashable(NSString("a")), "a"),
        .text("boxed NSMutableString", AnyHashable(NSMutableString(string: "b")), "b"),
        .text("optional text", Optional("a") as Any, "a"),
        .text("boxed optional text", AnyHashable(Optional("a")), "a"),
    ]

    private static let data: [Self] = [
        .bytes("data", Data("a".utf8), [0x61], "a"),
        .bytes("empty data", Data(), [], ""),
        .bytes("data that is not UTF-8", Data([0xFF]), [0xFF], nil),
        .bytes("data that is cut in a character", Data([0xC3]), [0xC3], nil),
        .bytes("part of data", Data("abc".utf8).dropFirst(2), [0x63], "c"),
        .bytes("NSData", NSData(data: Data("a".utf8)), [0x61], "a"),
        .bytes("NSMutableData", NSMutableData(data: Data("b".utf8)), [0x62], "b"),
        .bytes("boxed data", AnyHashable(Data("a".utf8)), [0x61], "a"),
        .bytes("boxed NSData", AnyHashable(NSData(data: Data("a".utf8))), [0x61], "a"),
        .bytes("optional data", Optional(Data("a".utf8)) as Any, [0x61], "a"),
    ]

    private static let numbers: [Self] = [
        .number("Int", 7, 7), .number("zero", 0, 0), .number("one", 1, 1),
        .number("a negative Int", -7, -7), .number("Int8", Int8(-1), -1),
        .number("UInt8", UInt8(255), 255), .number("Int16", Int16(-300), -300),
        .number("UInt16", UInt16(443), 443), .number("Int32", Int32.max, 2_147_483_647),
        .number("UInt32", UInt32.max, 4_294_967_295), .number("Int64", Int64.min, .min),
        .number("UInt64", UInt64(1) << 40, 1 << 40), .number("a whole Double", 3.0, 3),
        .number("a whole Float", Float(3), 3), .number("NSNumber", NSNumber(value: 7), 7),
        .number("NSNumber of one", NSNumber(value: 1), 1),
        .number("NSNumber of zero", NSNumber(value: 0), 0),
        .number("boxed Int", AnyHashable(7), 7),
        .number("boxed NSNumber", AnyHashable(NSNumber(value: 7)), 7),
        .number("optional Int", Optional(7) as Any, 7),
    ]

    private static let booleans: [Self] = [
        .boolean("true", true, 1), .boolean("false", false, 0),
        .boolean("NSNumber of true", NSNumber(value: true), 1),
        .boolean("NSNumber of false", NSNumber(value: false), 0),
        .boolean("kCFBooleanTrue", kCFBooleanTrue as Any, 1),
        .boolean("kCFBooleanFalse", kCFBooleanFalse as Any, 0),
        .boolean("boxed Bool", AnyHashable(true), 1),
        .boolean("boxed NSNumber of true", AnyHashable(NSNumber(value: true)), 1),
        .boolean("boxed kCFBooleanFalse", AnyHashable(kCFBooleanFalse), 0),
        .boolean("optional Bool", Optional(true) as Any, 1),
    ]

    private static let others: [Self] = [
        .date("a date", moment, 1.25),
        .date("NSDate", NSDate(timeIntervalSinceReferenceDate: 1.25), 1.25),
        .date("boxed date", AnyHashable(moment), 1.25),
        Self("a UUID", UUID(uuid: uuid), string: .text(uuidText)),
        Self("NSUUID", NSUUID(uuidString: uuidText) as Any, string: .text(uuidText)),
        Self("boxed UUID", AnyHashable(UUID(uuid: uuid)), string: .text(uuidText)),
        Self("a date that is no number", Date(timeIntervalSinceReferenceDate: .nan)),
        Self("a date that never comes", Date(timeIntervalSinceReferenceDate: .infinity)),
        Self("null", NSNull()), Self("kCFNull", kCFNull),
        Self("boxed null", AnyHashable(NSNull())),
        Self("nothing", Optional<String>.none as Any),
        Self("a URL", URL(fileURLWithPath: "/")), Self("a fraction", 1.5),
        Self("NSNumber of a fraction", NSNumber(value: 1.5)), Self("not a number", Double.nan),
        Self("a number beyond 64 bits", UInt64.max),
        Self("a character", Character("a")), Self("bytes", [1, 2] as [UInt8]),
        Self("an array", ["a"]), Self("NSArray", NSArray()), Self("a dictionary", ["a": 1]),
        Self("an object", NSObject()), Self("a function", { 1 } as @Sendable () -> Int),
    ]
}

private let moment = Date(timeIntervalSinceReferenceDate: 1.25)
private let uuid: uuid_t = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
private let uuidText = "01020304-0506-0708-090A-0B0C0D0E0F10"
