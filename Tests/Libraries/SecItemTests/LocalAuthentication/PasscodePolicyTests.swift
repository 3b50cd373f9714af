// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A context that asks for the passcode` {
    @Test func `A context that asks for the passcode accepts the right one`() throws {
        let person = try Person()
        #expect(person.outcome() == nil)
        #expect(person.pinentry.isGone)
    }

    // Promise: 5.9
    @Test func `A context that asks for the passcode says who asks for what`() throws {
        let person = try Person()
        _ = person.outcome()
        #expect(
            person.pinentry.descriptions == [
                "mail asks for the passcode of your keychain.%0A\u{201C}sign in\u{201D}"
            ])
    }

    // Promise: 5.9
    @Test func `A context shows the application's words in one line and without effect`() throws {
        let person = try Person()
        let context = person.context
        context.localizedCancelTitle = "No_thanks\u{1B}"
        let code = person.wait {
            context.evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: "a\nroot asks\u{202E}", reply: $0)
        }
        #expect(code == nil)
        let words = "\u{201C}a\u{FFFD}root asks\u{FFFD}\u{201D}"
        #expect(
            person.pinentry.descriptions == [
                "mail asks for the passcode of your keychain.%0A\(words)"
            ])
        #expect(person.pinentry.lines("log").contains("SETCANCEL No__thanks\u{FFFD}"))
    }

    // Promise: 18.2
    @Test(
        arguments: [
            (["PIN a", "PIN b", "PIN c", Person.knowing], .authenticationFailed, 3),
            (["PIN a", "PIN b", Person.knowing], nil, 3), (["CANCEL"], .userCancel, 1),
            (["PIN a", "CANCEL"], .userCancel, 2), (["EOF"], .userCancel, 1),
            (["EMPTY"], .userCancel, 2), (["FAILURE"], .notInteractive, 1),
            (["RAW nonsense\\n"], .notInteractive, 1), (["MUTE"], .systemCancel, 0),
        ] as [([String], LAError.Code?, Int)])
    func `A context that asks for the passcode ends as the user decides`(
        _ answers: [String], _ code: LAError.Code?, _ questionCount: Int
    ) throws {
        var person = try Person()
        try person.pinentry.answer(inTurn: answers)
        if answers == ["MUTE"] { person.timeLimit = .milliseconds(700) }
        #expect(person.outcome() == code)
        #expect(person.pinentry.isGone)
        #expect(person.pinentry.questionCount == questionCount)
    }

    @Test func `A context says that a passcode is wrong and how many tries are left`() throws {
        let person = try Person(["PIN a"])
        #expect(person.outcome() == .authenticationFailed)
        let problems = person.pinentry.lines("log").filter { $0.hasPrefix("SETERROR") }
        #expect(
            problems == [
                "SETERROR wrong passcode: 2 tries are left",
                "SETERROR wrong passcode: one try is left",
            ])
        #expect(person.pinentry.questionCount == 3)
    }

    @Test func `A context asks nobody for a passcode that is not set`() throws {
        let person = try Person(hasPasscode: false)
        #expect(person.outcome() == .passcodeNotSet)
        #expect(!person.pinentry.wasStarted)
    }

    @Test func `A context asks nobody for a passcode where questions are turned off`() throws {
        var person = try Person()
        person.variables = ["VALET_INTERACTION": "never"]
        #expect(person.outcome() == .notInteractive)
        #expect(!person.pinentry.wasStarted)
        person.variables = [:]
        let context = person.context
        context.interactionNotAllowed = true
        #expect(person.outcome(.deviceOwnerAuthentication, context) == .notInteractive)
        #expect(!person.pinentry.wasStarted)
    }

    // Promise: 18.2
    @Test func `A context ends a question for the passcode that nobody answers`() throws {
        var person = try Person(["HANG"])
        person.timeLimit = .milliseconds(700)
        #expect(person.outcome() == .systemCancel)
        #expect(person.pinentry.isGone)
    }

    @Test func `A context asks nobody if the application gives the passcode`() throws {
        let person = try Person()
        let context = person.context
        #expect(context.setCredential(Data(TestKeychain.passcode.utf8), type: .passcode))
        #expect(
            context.isCredentialSet(.passcode) && !context.isCredentialSet(.applicationPassword))
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        let other = person.context
        #expect(other.setCredential(Data("wrong".utf8), type: .passcode))
        #expect(person.outcome(.deviceOwnerAuthentication, other) == .authenticationFailed)
        #expect(!person.pinentry.wasStarted)
        #expect(other.setCredential(nil, type: .passcode))
        #expect(person.outcome(.deviceOwnerAuthentication, other) == nil)
        #expect(!other.setCredential(Data("x".utf8), type: .smartCardPIN))
        #expect(!other.isCredentialSet(.smartCardPIN))
    }

    @Test func `A context says beforehand whether it can ask for the passcode`() throws {
        var error: NSError?
        let person = try Person()
        #expect(unsafe person.context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error == nil)
        #expect(
            unsafe !person.context.canEvaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, error: &error))
        #expect(error?.code == LAError.biometryNotAvailable.rawValue)
        let other = try Person(hasPasscode: false)
        #expect(unsafe !other.context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error?.domain == LAError.errorDomain)
        #expect(error?.code == LAError.passcodeNotSet.rawValue)
        #expect(unsafe !other.context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect(!person.pinentry.wasStarted && !other.pinentry.wasStarted)
    }

    @Test func `A context replies on its own thread`() async throws {
        let person = try Person()
        let context = person.context
        let caller = pthread_self()
        let isElsewhere = await withCheckedContinuation { continuation in
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "") { _, _ in
                continuation.resume(returning: pthread_equal(caller, pthread_self()) == 0)
            }
        }
        #expect(isElsewhere && person.pinentry.questionCount == 1)
    }

    @Test func `A context answers a task that waits`() async throws {
        let person = try Person()
        #expect(
            try await person.context.evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: "sign in"))
        try person.pinentry.answer(["CANCEL"])
        let error = await #expect(throws: LAError.self) {
            try await person.context.evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: "sign in")
        }
        #expect(error?.code == .userCancel)
    }
}
