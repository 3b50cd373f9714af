// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetUserPresence

@Suite(.serialized) struct `A question that is ended from outside` {
    private let cancellation = Cancellation()

    private var prompt: PasscodePrompt {
        var prompt = PasscodePrompt(description: "asks")
        prompt.cancellation = cancellation
        return prompt
    }

    // Promise: 18.2
    @Test(arguments: ["HANG", "DEAF"])
    func `A cancelled question ends together with its pinentry program`(_ answer: String) throws {
        let pinentry = try ScriptedPinentry(answer)
        let (cancellation, prompt) = (cancellation, prompt)
        Thread.detachNewThread {
            pinentry.awaitQuestion()
            cancellation.cancel()
        }
        let outcome = Outcome { () throws(SystemError) in try pinentry.asker.ask(prompt) }
        #expect(outcome == .failure(.cancelled))
        #expect(pinentry.isGone)
    }

    @Test func `A cancelled question is not asked`() throws {
        let pinentry = try ScriptedPinentry("PIN x")
        cancellation.cancel()
        let outcome = Outcome { () throws(SystemError) in try pinentry.asker.ask(prompt) }
        #expect(outcome == .failure(.cancelled))
        #expect(!pinentry.wasStarted)
    }

    @Test func `A cancelled question ends while it waits for another one`() throws {
        let (first, second) = (try ScriptedPinentry("HANG"), try ScriptedPinentry("PIN x"))
        let (end, isOver) = (Cancellation(), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            var prompt = PasscodePrompt(description: "asks")
            prompt.cancellation = end
            _ = try? first.asker.ask(prompt)
            isOver.signal()
        }
        first.awaitQuestion()
        let (cancellation, prompt) = (cancellation, prompt)
        Thread.detachNewThread { cancellation.cancel() }
        let outcome = Outcome { () throws(SystemError) in try second.asker.ask(prompt) }
        #expect(outcome == .failure(.cancelled))
        #expect(!second.wasStarted)
        end.cancel()
        #expect(isOver.wait(timeout: .now() + 30) == .success)
    }

    @Test func `A cancellation after the answer has no effect`() throws {
        let pinentry = try ScriptedPinentry("PIN x")
        let outcome = Outcome { () throws(SystemError) in try pinentry.asker.ask(prompt) }
        cancellation.cancel()
        #expect(outcome == .answer("x"))
    }
}

@Suite struct `Looking for somebody to ask` {
    @Test func `Looking for a way to ask finds the configured pinentry without starting it`() throws
    {
        let pinentry = try ScriptedPinentry("PIN x")
        try pinentry.asker.checkThatSomebodyIsThere()
        #expect(!pinentry.wasStarted)
    }

    @Test(arguments: [
        (["VALET_INTERACTION": "never"], false, SystemError.Code.interactionOff),
        ([:], true, .elevated),
    ])
    func `Looking for a way to ask finds none where questions are turned off`(
        _ variables: [String: String], _ isElevated: Bool, _ reason: SystemError.Code
    ) throws {
        let asker = PasscodeAsker(environment: Environment(variables, isElevated: isElevated))
        let error = #expect(throws: SystemError.self) {
            try asker.checkThatSomebodyIsThere()
        }
        #expect(error?.code == reason)
    }
}
