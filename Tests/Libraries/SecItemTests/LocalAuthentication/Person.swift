// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSystem
import ValetTestSupport
import ValetTestValues
import ValetUserPresence

@testable import ValetKeychainServices
@testable import ValetSecItem

/// A keychain, and a person who answers by a script.
struct Person {
    let keychain: TestKeychain
    let pinentry: ScriptedPinentry
    var reader: FingerScript?
    var timeLimit = Duration.seconds(60)
    var variables: [String: String] = [:]

    /// By default one who knows the passcode that is set.
    init(_ answers: [String] = [knowing], hasPasscode: Bool = true) throws {
        pinentry = try ScriptedPinentry()
        try pinentry.answer(answers)
        keychain = TestKeychain()
        try keychain.add("a")
        if hasPasscode { try keychain.setPasscode() }
    }

    static let knowing = "PIN \(TestKeychain.passcode)"

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
        var answers: [SystemError.Code?]
        var count = 0
        var shares: [Duration] = []
    }

    /// What the person is told, a line at a time; without any, nobody is told, and the answer comes
    /// at once. With any, `timedOut` comes when nobody wants to wait any more, or after 20 s.
    private let lines: [String]
    /// Comes before each line but the first.
    private let pause: @Sendable () -> Void
    private let script: Mutex<State>

    /// nil among `answers` is a finger that matches; after the last of them nobody comes.
    init(
        _ state: BiometryState = .enrolled([[1]]), _ answers: [SystemError.Code?] = [],
        telling lines: [String] = [], after pause: @escaping @Sendable () -> Void = {}
    ) {
        (self.lines, self.pause) = (lines, pause)
        script = Mutex(State(state: state, answers: answers))
    }

    /// How often a finger was waited for.
    var count: Int { script.withLock { $0.count } }
    /// For how long, at most, each time.
    var shares: [Duration] { script.withLock { $0.shares } }

    func enrol(_ enrolments: [UInt8]...) { become(.enrolled(enrolments)) }

    func become(_ state: BiometryState) { script.withLock { $0.state = state } }

    func state(until deadline: Deadline) -> BiometryState { script.withLock { $0.state } }

    func verify(
        _ wanted: [UInt8]?, until deadline: Deadline, cancellation: Cancellation,
        tell: (String) -> Void
    ) throws(SystemError) -> [UInt8] {
        let answer = script.withLock { script -> SystemError.Code? in
            script.count += 1
            script.shares.append(deadline.remaining)
            return script.answers.isEmpty ? .timedOut : script.answers.removeFirst()
        }
        for (index, line) in lines.enumerated() {
            if index > 0 { pause() }
            tell(line)
        }
        if answer == .timedOut, !lines.isEmpty {
            for _ in 0..<2000 where !cancellation.isCancelled && !deadline.hasPassed {
                usleep(10_000)
            }
            throw SystemError(cancellation.isCancelled ? .cancelled : .timedOut, during: "verify")
        }
        if let answer { throw SystemError(answer, during: "verify") }
        guard case .enrolled(let enrolments) = script.withLock({ $0.state }) else {
            throw SystemError(.noReader, during: "verify")
        }
        return enrolments.first { $0 == wanted } ?? enrolments[0]
    }
}
