// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetTestValues
import ValetUserPresence

@testable import ValetKeychainServices
@testable import ValetSecItem

/// In a window, which the scripted pinentry stands for; on a terminal: `person.py`.
@Suite struct `Who is to put a finger on a reader` {
    private static let instruction = "Put a finger on it."

    private func person(
        _ answers: [String], _ fingers: [SystemError.Code?] = [.timedOut],
        _ lines: [String] = [instruction]
    ) throws -> Person {
        var person = try Person()
        let pinentry = person.pinentry
        try pinentry.answer(inTurn: answers)
        person.reader = FingerScript(.enrolled([[1]]), fingers, telling: lines) {
            pinentry.awaitLine("CONFIRM")
        }
        return person
    }

    // Promise: 5.3
    @Test func `A finger notice shows who asks for what, and offers the passcode`() throws {
        let person = try person(["EMPTY", Person.knowing])
        let context = person.context
        context.localizedCancelTitle = "No"
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        let words = "\u{201C}sign in\u{201D}"
        #expect(
            person.pinentry.descriptions == [
                "mail asks for your finger.%0A\(words)%0APut a finger on it.",
                "mail asks for the passcode of your keychain.%0A\(words)",
            ])
        let log = person.pinentry.lines("log")
        #expect(log.contains("SETOK Use the passcode") && log.contains("SETCANCEL No"))
        #expect(log.count { $0 == "CONFIRM" } == 1 && person.pinentry.questionCount == 1)
        #expect(person.pinentry.isGone)
    }

    @Test func `A finger notice shows the application's words for the passcode`() throws {
        let person = try person(["EMPTY", Person.knowing])
        let context = person.context
        context.localizedFallbackTitle = "PIN_code"
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(person.pinentry.lines("log").contains("SETOK PIN__code"))
    }

    @Test func `A finger notice can be declined`() throws {
        let person = try person(["CANCEL"])
        #expect(person.outcome() == .userCancel)
        #expect(person.pinentry.questionCount == 0 && person.pinentry.isGone)
    }

    @Test func `A finger notice offers no passcode where it does not help`() throws {
        let person = try person(["EMPTY"])
        #expect(person.outcome(.deviceOwnerAuthenticationWithBiometrics) == .userCancel)
        let log = person.pinentry.lines("log")
        #expect(log.contains("MESSAGE") && !log.contains("CONFIRM"))
    }

    @Test func `A finger notice disappears once the finger was recognised`() throws {
        let person = try person(["HANG"], [nil])
        #expect(person.outcome() == nil)
        #expect(person.pinentry.questionCount == 0)
        #expect(!person.pinentry.wasStarted || person.pinentry.isGone)
    }

    @Test func `A finger notice shows what was wrong with a try`() throws {
        let person = try person(
            ["HANG", "EMPTY", Person.knowing], [.timedOut], [Self.instruction, "Not recognised."])
        #expect(person.outcome() == nil)
        #expect(person.pinentry.lines("log").contains("SETERROR Not recognised."))
    }

    @Test func `A finger notice has half of the time if the passcode may follow`() throws {
        let person = try person(["EMPTY", Person.knowing])
        #expect(person.outcome() == nil)
        #expect(person.reader?.shares.allSatisfy { $0 <= .seconds(30) } == true)
    }

    @Test func `A finger notice is shown until the deadline`() throws {
        var person = try person(["HANG"])
        person.timeLimit = .milliseconds(700)
        #expect(person.outcome(.deviceOwnerAuthenticationWithBiometrics) == .systemCancel)
        #expect(!person.pinentry.wasStarted || person.pinentry.isGone)
    }

    @Test func `A finger notice has all of the time if nothing may follow`() throws {
        let person = try person(["HANG"], [nil])
        #expect(person.outcome(.deviceOwnerAuthenticationWithBiometrics) == nil)
        #expect(person.reader?.shares.allSatisfy { $0 > .seconds(30) } == true)
    }

    /// A program that shows nothing but passcodes; or none at all.
    @Test(arguments: ["FAILURE", "BROKEN"])
    func `Without a way to show a finger notice the passcode is asked for`(_ answer: String) throws
    {
        let person = try person([answer, Person.knowing])
        #expect(person.outcome() == nil)
        #expect(person.pinentry.questionCount == 1)
        let other = try self.person([answer])
        #expect(other.outcome(.deviceOwnerAuthenticationWithBiometrics) == .notInteractive)
    }

    @Test func `A finger notice ends when the application ends it`() throws {
        let person = try person(["HANG"])
        let (context, reply) = (person.context, Reply())
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "", reply: reply.take)
        person.pinentry.awaitLine("CONFIRM")
        context.invalidate()
        #expect(reply.code == .appCancel)
        #expect(person.pinentry.isGone)
    }
}
