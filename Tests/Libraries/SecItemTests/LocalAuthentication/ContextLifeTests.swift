// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `What a context remembers` {
    // Promise: 9.4
    @Test func `A context remembers what was proved, and other contexts do not`() throws {
        let person = try Person()
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(person.pinentry.questionCount == 1)
        #expect(context.authenticator.rememberedProof?.factors == .passcode)
        #expect(person.outcome() == nil)
        #expect(person.pinentry.questionCount == 2)
    }

    @Test func `What a context remembers counts where nobody may be asked`() throws {
        let person = try Person()
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        context.interactionNotAllowed = true
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
    }

    @Test func `A context remembers nothing after a failure`() throws {
        let person = try Person(["CANCEL"])
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == .userCancel)
        #expect(context.authenticator.rememberedProof == nil)
        try person.pinentry.answer([Person.knowing])
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
    }

    // Promise: 9.4
    @Test func `What a context remembers ends with a key change`() throws {
        let person = try Person()
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        try person.keychain.store.keychain.changePasscode(
            Passcode(.text(TestKeychain.passcode)),
            to: Passcode(.text("another")))
        try person.pinentry.answer(["PIN another"])
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(person.pinentry.questionCount == 2)
    }

    @Test func `A context asks once for any number of threads`() throws {
        let person = try Person()
        let context = person.context
        let replies = (0..<4).map { _ in Reply() }
        for reply in replies {
            context.evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: "", reply: reply.take)
        }
        #expect(replies.allSatisfy { $0.code == nil })
        #expect(person.pinentry.questionCount == 1)
    }
}

@Suite struct `A context that is invalidated` {
    // Promise: 9.4
    @Test func `An invalidated context has forgotten everything and asks nobody`() throws {
        let person = try Person()
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(context.setCredential(Data("x".utf8), type: .passcode))
        context.invalidate()
        #expect(context.authenticator.rememberedProof == nil)
        #expect(!context.isCredentialSet(.passcode))
        #expect(person.outcome(.deviceOwnerAuthentication, context) == .invalidContext)
        var error: NSError?
        #expect(unsafe !context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect(error?.code == LAError.invalidContext.rawValue)
        #expect(person.pinentry.questionCount == 1)
    }

    // Promise: 18.2
    @Test func `Invalidating a context ends its open question`() throws {
        let person = try Person(["HANG"])
        let (context, reply) = (person.context, Reply())
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "", reply: reply.take)
        person.pinentry.awaitQuestion()
        context.invalidate()
        #expect(reply.code == .appCancel)
        #expect(person.pinentry.isGone)
    }

    @Test func `An invalidated context gives no proof for items`() throws {
        let person = try Person()
        let context = person.context
        context.invalidate()
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try context.authenticator.proof(
                for: LAPolicy.deviceOwnerAuthentication.demands(), reason: nil,
                store: person.keychain.store, deadline: Deadline(after: .seconds(60)))
        }
        #expect(failure?.code == .authenticationFailed)
    }
}

@Suite struct `Why a call for an item gets no proof` {
    @Test(arguments: [
        (["CANCEL"], KeychainFailure.Code.userCancelled), (["PIN a"], .authenticationFailed),
        (["FAILURE"], .interactionNotAllowed), (["HANG"], .authenticationFailed),
    ])
    func `A request without a proof gets the error of its reason`(
        _ answers: [String], _ code: KeychainFailure.Code
    ) throws {
        let person = try Person(answers)
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try person.context.authenticator.proof(
                for: LAPolicy.deviceOwnerAuthentication.demands(), reason: "read",
                store: person.keychain.store,
                deadline: Deadline(after: answers == ["HANG"] ? .milliseconds(700) : .seconds(60)))
        }
        #expect(failure?.code == code)
        #expect(failure?.operation == "authenticate")
    }
}
