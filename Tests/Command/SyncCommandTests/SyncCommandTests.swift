// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetCommandTestSupport
import ValetKeychainModel
import ValetSync
import ValetSyncAgent

@testable import ValetSyncCommand

@Suite struct `The program valet-sync` {
    @Test func `The help of every verb of sync fits, and its examples can be parsed`() throws {
        try checkHelp(of: SyncVerbs.all)
    }

    @Test func `A code is drawn light on dark, two modules a line, with a margin of four`() {
        let isDark = [true, false, true, true]
        let lines = QRCode.drawing(isDark, width: 2).split(separator: "\n")
        let blank = String(repeating: "█", count: 10)
        #expect(lines.count == 5)
        #expect(lines[0] == blank && lines[1] == blank && lines[3] == blank && lines[4] == blank)
        #expect(lines[2] == "████ ▀████")
    }

    @Test func `Ids are written and read as 32 hexadecimal digits`() {
        let id = CircleID(high: 0x0123_4567_89ab_cdef, low: 1)
        #expect(id.text == "0123456789abcdef0000000000000001")
        #expect(CircleID(text: id.text.uppercased()) == id)
        for text in ["", "0", id.text + "0", "+123456789abcdef0000000000000001"] {
            #expect(CircleID(text: text) == nil)
        }
    }

    @Test func `Every trouble of a report has a text`() {
        for kind in SyncReport.Kind.allCases where ![.foreign, .undecided].contains(kind) {
            #expect(SyncFinding.known[kind] != nil, "\(kind)")
        }
    }

    @Test(arguments: [
        (
            ServiceName.standard(
                .synchronizableValet, identifier: "Mail", accessibility: "AccessibleWhenUnlocked"),
            "token  Mail  app"
        ), ("https", "token  https  app"), ("", "token  -  app"),
    ])
    func `Items are called as 'valet list' calls them`(_ service: String, _ line: String) throws {
        var attributes = AttributeList()
        attributes.set(.text("app"), for: Attribute.accessGroup.tag)
        attributes.set(.text("token"), for: Attribute.account.tag)
        attributes.set(.text(service), for: Attribute.service.tag)
        let content = RecordContent(
            .genericPassword, .whenUnlocked, kind: .noValue, attributes: attributes)
        #expect(ItemName(content).line == line)
    }

    @Test func `A name that acts on a terminal is written with escapes`() throws {
        var attributes = AttributeList()
        attributes.set(.text("\u{1B}[2J"), for: Attribute.account.tag)
        let content = RecordContent(
            .genericPassword, .whenUnlocked, kind: .noValue, attributes: attributes)
        #expect(ItemName(content).line == "\\u{1b}[2J  -  -")
    }

    @Test(arguments: KeychainFailure.Code.ofStores)
    func `Errors of stores keep their hints`(_ code: KeychainFailure.Code) {
        let error = CLIError(
            ofSync: .store(code, during: "read the roster", hint: "wait"))
        #expect(error.message.hasPrefix("could not read the roster"))
        #expect(error.hint == "wait")
        #expect(error.code != .success)
    }

    @Test(arguments: KeychainFailure.Code.ofCircles)
    func `Every trouble of a circle says what to do`(_ trouble: KeychainFailure.Code) {
        let error = CLIError(ofSync: .circle(trouble))
        #expect(error.message == trouble.explanation)
        #expect(error.hint != nil)
        #expect(!error.message.hasSuffix("."))
    }
}
