// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetKeychainServices

@Suite struct `A property list` {
    /// What both readers make of the same bytes; nil for what is refused.
    private static func byFoundation(_ bytes: Data) -> PropertyList? {
        let list = unsafe try? PropertyListSerialization.propertyList(from: bytes, format: nil)
        return list.map(converted)
    }

    private static func converted(_ value: Any) -> PropertyList {
        switch value {
        case let text as String: .text(text)
        case let values as [Any]: .array(values.map(converted))
        case let values as [String: Any]: .dictionary(values.mapValues(converted))
        default: .other
        }
    }

    private static let samples: [[String: any Sendable]] = [
        [:], ["a": "b"], ["": ""], ["a": ["b", "c"], "d": ["e": ["f": [String]()]]],
        ["text": "<&>\"' ä € 𝄞 \n\t", "ä": 1], ["n": 1, "r": 1.5, "t": true, "f": false],
        ["d": Data([1, 2, 3]), "t": Date(timeIntervalSinceReferenceDate: 0)],
        ["long": String(repeating: "x", count: 70_000), "many": (0..<300).map(String.init)],
    ]

    @Test(arguments: samples.indices, [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func `A property list that Foundation writes is read as Foundation reads it`(
        _ sample: Int, _ format: PropertyListSerialization.PropertyListFormat
    ) throws {
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: Self.samples[sample], format: format, options: 0)
        #expect(try PropertyList(Array(bytes)) == Self.byFoundation(bytes))
    }

    @Test(arguments: [
        "<dict/>", "<plist><dict></dict></plist>",
        "\u{FEFF}<plist version='1.0'>\n<dict />\n</plist>",
        "<?xml version='1.0' encoding='utf-8'?><!-- a --><!DOCTYPE plist><plist><dict/></plist>",
        "<dict><key>a</key><!-- b --><string>c</string></dict>",
        "<dict><key>a</key><string>b<![CDATA[<&>]]>c</string></dict>",
        "<dict><key>&lt;&gt;&amp;&apos;&quot;</key><string>&#97;&#x1D11E;</string></dict>",
        "<dict><key>a</key><true></true ><key>b</key><data> AQID </data></dict>",
    ])
    func `A property list in XML is read as Foundation reads it`(_ text: String) throws {
        #expect(try PropertyList(Array(text.utf8)) == Self.byFoundation(Data(text.utf8)))
    }

    @Test(arguments: [
        "", " ", "x", "{ a = b; }", "<dict>", "<dict></array>", "<dict/><dict/>", "<dict/>x",
        "<plist/>", "<plist></plist>", "<plist><dict/></plist><dict/>", "<dict a='b'/>",
        "<dict><string>a</string></dict>", "<dict><key>a</key></dict>", "<dict>a</dict>",
        "<dict><key>a</key><string>b</string><key>a</key><string>c</string></dict>",
        "<string>&unknown;</string>", "<string>&#0;</string>", "<string>&#xD800;</string>",
        "<string>&lt</string>", "<string><true/></string>", "<string>a</string", "<unknown/>",
        "<string>\u{1}</string>", "<string>&#+65;</string>", "<string><![CDATA[a</string>",
        "<!-- <dict/>",
        "<?xml version='1.0' encoding='UTF-16'?><dict/>",
        "<!DOCTYPE plist [<!ENTITY a 'b'>]><string>&a;</string>",
    ])
    func `Text that is not exactly a property list is refused`(_ text: String) {
        #expect(throws: PropertyList.Failure.malformed) { _ = try PropertyList(Array(text.utf8)) }
    }

    @Test func `Text that is not UTF-8 is refused`() {
        let bytes = Array("<string>".utf8) + [0xe4] + Array("</string>".utf8)
        #expect(throws: PropertyList.Failure.malformed) { _ = try PropertyList(bytes) }
    }

    @Test func `A binary property list with a changed byte never ends the program`() throws {
        let bytes = try Array(
            PropertyListSerialization.data(
                fromPropertyList: ["a": ["b", "ä", ["c": [1, true, Data([1])]]], "d": Date()],
                format: .binary, options: 0))
        for index in bytes.indices {
            for value in [0x00, 0x01, 0x0f, 0x5f, 0x7f, 0xaf, 0xd1, 0xff] as [UInt8] {
                var changed = bytes
                changed[index] = value
                _ = try? PropertyList(changed)
            }
            _ = try? PropertyList(Array(bytes[..<index]))
        }
    }

    /// 20 arrays, each of which contains the next twice: a million values in 100 bytes.
    @Test func `A binary property list that shares values is read up to a limit`() {
        let count = 20
        var bytes = Array("bplist00".utf8)
        var places: [UInt8] = []
        for number in 0..<count {
            places.append(UInt8(bytes.count))
            let next = UInt8(number + 1)
            bytes += number + 1 < count ? [0xa2, next, next] : [0x09]
        }
        let table = UInt8(bytes.count)
        bytes += places + [0, 0, 0, 0, 0, 0, 1, 1]
        for number in [UInt8(count), 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, number] }
        #expect(throws: PropertyList.Failure.tooDeep) { _ = try PropertyList(bytes) }
    }

    /// An array of 100 places, all of one text of 60,000 bytes: 6 MB of text in a file of 60 kB.
    @Test func `A binary property list that shares a long text is read up to a limit`() {
        var bytes = Array("bplist00".utf8)
        bytes += [0xaf, 0x10, 100] + [UInt8](repeating: 1, count: 100)
        let second = bytes.count
        bytes += [0x5f, 0x11, UInt8(60000 >> 8), UInt8(60000 & 255)]
        bytes += [UInt8](repeating: UInt8(ascii: "a"), count: 60000)
        let table = bytes.count
        bytes += [0, 8, 0, UInt8(second)] + [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [2, 0, table] {
            bytes += [0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)]
        }
        #expect(throws: PropertyList.Failure.tooDeep) { _ = try PropertyList(bytes) }
    }
}
