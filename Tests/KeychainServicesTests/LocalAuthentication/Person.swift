// SPDX-License-Identifier: Apache-2.0

import Database
import Foundation
import KeychainModel
import KeychainStore
import SecretMemory
import Synchronization
import TestValues
import Testing
import UserPresence

@testable import KeychainServices

/// A keychain, and a person who answers by a script.
struct Person {
    let keychain: LockableKeychain
    let pinentry: ScriptedPinentry
    var reader: FingerScript?
    var timeLimit = Duration.seconds(60)
    var variables: [String: String] = [:]

    /// By default one who knows the passcode that is set.
    init(_ answers: [String] = [knowing], hasPasscode: Bool = true) throws {
        pinentry = try ScriptedPinentry()
        try pinentry.answer(answers)
        keychain = LockableKeychain()
        try keychain.add("a", .whenUnlocked)
        if hasPasscode { try keychain.setPasscode() }
    }

    static let knowing = "PIN \(LockableKeychain.passcode)"

    var means: AuthenticationMeans {
        let environment = Environment(
            ["VALET_PINENTRY": pinentry.path].merging(variables) { $1 })
        return AuthenticationMeans(
            asker: PasscodeAsker(environment: environment, readsVariable: false), reader: reader,
            timeLimit: timeLimit, application: { "mail" })
    }

    var context: LAContext { LAContext(means, store: keychain.store) }

    /// What evaluating comes to; nil for success.
    func outcome(
        _ policy: LAPolicy = .deviceOwnerAuthentication, _ context: LAContext? = nil
    ) -> LAError.Code? {
        wait { reply in
            (context ?? self.context).evaluatePolicy(
                policy, localizedReason: "sign in", reply: reply)
        }
    }

    /// What a reply says; nil for success.
    func wait(
        _ body: (@escaping @Sendable (Bool, (any Error)?) -> Void) -> Void
    ) -> LAError.Code? {
        let reply = Reply()
        body(reply.take)
        return reply.code
    }
}

/// What a reply said, once it came.
final class Reply: Sendable {
    private let come = DispatchSemaphore(value: 0)
    private let said = Mutex<(isDone: Bool, code: LAError.Code?)?>(nil)

    @Sendable func take(_ isDone: Bool, _ error: (any Error)?) {
        said.withLock { $0 = (isDone, (error as? LAError)?.code) }
        come.signal()
    }

    /// Waits for it, for a minute at most; nil for success.
    var code: LAError.Code? {
        guard come.wait(timeout: .now() + 60) == .success, let said = said.withLock({ $0 }) else {
            Issue.record("no reply")
            return .authenticationFailed
        }
        #expect(said.isDone == (said.code == nil))
        return said.code
    }
}

/// A reader whose fingers come from a list.
final class FingerScript: BiometryReader {
    private struct State {
        var state: BiometryState
        var answers: [BiometryFailure?]
        var lines: [[String]] = []
    }

    private let script: Mutex<State>

    /// nil among `answers` is a finger that matches; after the last of them nobody comes.
    init(_ state: BiometryState = .enrolled([1]), _ answers: [BiometryFailure?] = []) {
        script = Mutex(State(state: state, answers: answers))
    }

    /// What the person was told, each time.
    var lines: [[String]] { script.withLock { $0.lines } }

    func enrol(_ enrolment: [UInt8]) { script.withLock { $0.state = .enrolled(enrolment) } }

    func state(until deadline: Deadline) -> BiometryState { script.withLock { $0.state } }

    func verify(
        _ lines: [String], until deadline: Deadline, cancellation: PromptCancellation
    ) throws(BiometryFailure) -> [UInt8] {
        try script.withLock { (script) throws(BiometryFailure) -> [UInt8] in
            script.lines.append(lines)
            guard !script.answers.isEmpty else { throw .timedOut }
            if let failure = script.answers.removeFirst() { throw failure }
            guard case .enrolled(let enrolment) = script.state else { throw .noReader }
            return enrolment
        }
    }
}
