// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

@Suite(.serialized) struct `A choice of several answers` {
    private static let answers = ["Until locked", "Always", "Once"]

    /// What came of it: an answer, or the reason for none.
    private enum Choice: Equatable {
        case success(Int)
        case failure(SystemError.Code)
    }

    private func choose(
        _ pinentry: FakePinentry, among answers: [String] = answers
    ) -> Choice {
        var prompt = PasscodePrompt(description: "asks")
        prompt.cancelTitle = "Deny"
        do {
            return .success(
                try pinentry.asker.choose(
                    prompt, among: answers, until: Deadline(after: .seconds(30))))
        } catch {
            return .failure(error.code)
        }
    }

    // Promise: 20.13
    @Test(
        arguments: [
            (["EMPTY"], 0), (["OTHER", "EMPTY"], 1), (["OTHER", "OTHER", "EMPTY"], 2),
            (["CANCEL"], nil), (["OTHER", "CANCEL"], nil), (["OTHER", "OTHER", "CANCEL"], nil),
            (["OTHER", "OTHER", "OTHER"], nil), (["CLOSED"], nil), (["OTHER", "CLOSED"], nil),
            (["EOF"], nil),
        ] as [([String], Int?)])
    func `Three buttons lead to every answer, and only OK chooses one`(
        _ buttons: [String], _ expected: Int?
    ) throws {
        let pinentry = try FakePinentry("CANCEL")
        try pinentry.answer(inTurn: buttons)
        #expect(choose(pinentry) == (expected.map(Choice.success) ?? .failure(.cancelled)))
        let pages = pinentry.lines("log").filter { $0.hasPrefix("SETOK") }
        #expect(pages == Self.answers.prefix(buttons.count).map { "SETOK " + $0 })
        #expect(pinentry.lines("log").filter { $0.hasPrefix("SETCANCEL") }.last == "SETCANCEL Deny")
        #expect(pinentry.isGone)
    }

    // Promise: 20.13
    @Test(
        arguments: [
            (["EMPTY", "EMPTY"], 0), (["EMPTY", "CANCEL", "EMPTY"], 1),
            (["EMPTY", "CANCEL", "CANCEL", "EMPTY"], 2), (["CANCEL"], nil),
            (["EMPTY", "CANCEL", "CANCEL", "CANCEL"], nil), (["EMPTY", "CLOSED"], nil),
        ] as [([String], Int?)])
    func `Two buttons, as GNOME has them, lead to every answer`(
        _ buttons: [String], _ expected: Int?
    ) throws {
        let pinentry = try FakePinentry("CANCEL")
        try pinentry.pose(as: "gnome3")
        try pinentry.answer(inTurn: buttons)
        #expect(choose(pinentry) == (expected.map(Choice.success) ?? .failure(.cancelled)))
        #expect(!pinentry.lines("log").contains { $0.hasPrefix("SETNOTOK") })
    }

    @Test func `A pinentry for a terminal has three buttons`() throws {
        let pinentry = try FakePinentry("CANCEL")
        try pinentry.pose(as: "gnome3:curses")
        try pinentry.answer(inTurn: ["OTHER", "EMPTY"])
        #expect(choose(pinentry) == .success(1))
    }

    @Test func `One answer has no further page`() throws {
        let pinentry = try FakePinentry("EMPTY")
        #expect(choose(pinentry, among: ["Allow"]) == .success(0))
        try pinentry.answer(["OTHER"])
        #expect(choose(pinentry, among: ["Allow"]) == .failure(.cancelled))
        #expect(!pinentry.lines("log").contains { $0.hasPrefix("SETNOTOK") })
    }

    @Test(
        arguments: [("TIMEOUT", .timedOut), ("FAILURE", .pinentryUnusable)]
            as [(String, SystemError.Code)])
    func `A pinentry that fails gives the reason`(
        _ answer: String, _ code: SystemError.Code
    ) throws {
        #expect(choose(try FakePinentry(answer)) == .failure(code))
    }
}
