// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing
import ValetSystem

@testable import ValetKeychainServices

@Suite struct `A property list` {
    /// What Foundation makes of the same bytes; nil for what it refuses.
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

    @Test(arguments: samples.indices)
    func `A property list that Foundation writes is read as Foundation reads it`(
        _ sample: Int
    ) throws {
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: Self.samples[sample], format: .xml, options: 0)
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
        #expect(throws: SystemError.propertyList(.malformed)) {
            _ = try PropertyList(Array(text.utf8))
        }
    }

    @Test func `Text that is not UTF-8 is refused`() {
        let bytes = Array("<string>".utf8) + [0xe4] + Array("</string>".utf8)
        #expect(throws: SystemError.propertyList(.malformed)) { _ = try PropertyList(bytes) }
    }

    @Test func `A binary property list is refused`() throws {
        let bytes = try PropertyListSerialization.data(
            fromPropertyList: ["a": "b"], format: .binary, options: 0)
        #expect(throws: SystemError.propertyList(.unsupported)) {
            _ = try PropertyList(Array(bytes))
        }
    }
}
