// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSystem
import ValetTestSupport
import ValetTestValues
import ValetUserPresence

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A context with a reader of fingers` {
    private func person(
        _ state: BiometryState, _ answers: [SystemError.Code?] = []
    ) throws -> Person {
        var person = try Person()
        person.reader = FingerScript(state, answers)
        return person
    }

    @Test func `A context asks for the finger first`() throws {
        let person = try person(.enrolled([[1]]), [nil])
        #expect(person.outcome() == nil)
        #expect(person.reader?.count == 1)
        #expect(!person.pinentry.wasStarted)
    }

    @Test(
        arguments: [
            [.noMatch], [.biometryLockout], [.noReader], [.nobodyEnrolled], [.timedOut],
        ] as [[SystemError.Code]])
    func `A context asks for the passcode if the finger fails`(_ failures: [SystemError.Code])
        throws
    {
        let person = try person(.enrolled([[1]]), failures)
        #expect(person.outcome() == nil)
        #expect(person.reader?.count == failures.count)
        #expect(person.pinentry.questionCount == 1)
    }

    @Test(arguments: [BiometryState.noReader, .notEnrolled, .lockedOut])
    func `A context asks for the passcode if no finger can be shown`(_ state: BiometryState) throws
    {
        let person = try person(state)
        #expect(person.outcome() == nil)
        #expect(person.reader?.count == 0)
    }

    @Test(
        arguments: [
            (BiometryState.noReader, [], LAError.Code.biometryNotAvailable),
            (.notEnrolled, [], .biometryNotEnrolled), (.lockedOut, [], .biometryLockout),
            (.enrolled([[1]]), [.noMatch], .authenticationFailed),
            (.enrolled([[1]]), [.biometryLockout], .biometryLockout),
            (.enrolled([[1]]), [.noReader], .biometryNotAvailable),
            (.enrolled([[1]]), [.nobodyEnrolled], .biometryNotEnrolled),
            (.enrolled([[1]]), [.cancelled], .userCancel), (.enrolled([[1]]), [], .systemCancel),
        ] as [(BiometryState, [SystemError.Code], LAError.Code)])
    func `A context says why no finger was accepted`(
        _ state: BiometryState, _ failures: [SystemError.Code], _ code: LAError.Code
    ) throws {
        let person = try person(state, failures)
        #expect(person.outcome(.deviceOwnerAuthenticationWithBiometrics) == code)
        #expect(!person.pinentry.wasStarted)
    }

    @Test func `A context does not ask for the passcode after the user has declined`() throws {
        let person = try person(.enrolled([[1]]), [.cancelled])
        #expect(person.outcome() == .userCancel)
        #expect(!person.pinentry.wasStarted)
    }

    // Promise: 9.4
    @Test func `A context does not accept the passcode in place of a finger`() throws {
        let person = try person(.notEnrolled)
        let context = person.context
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(
            person.outcome(.deviceOwnerAuthenticationWithBiometrics, context)
                == .biometryNotEnrolled)
    }

    @Test func `A context asks for finger and passcode where both are required`() throws {
        let person = try person(.enrolled([[1]]), [nil])
        let control = try AccessControl(.whenUnlocked, [.biometryAny, .and, .devicePasscode])
        let code = person.wait { reply in
            person.context.evaluateAccessControl(
                SecAccessControl(control), operation: .useItem, localizedReason: "", reply: reply)
        }
        #expect(code == nil)
        #expect(person.reader?.count == 1 && person.pinentry.questionCount == 1)
    }

    @Test func `A context tells the kind of reader and when fingers have changed`() throws {
        let person = try person(.enrolled([[1]]), [nil])
        let context = person.context
        #expect(context.biometryType == .touchID)
        #expect(context.evaluatedPolicyDomainState == nil)
        let policy = LAPolicy.deviceOwnerAuthenticationWithBiometrics
        #expect(unsafe context.canEvaluatePolicy(policy, error: nil))
        #expect(context.evaluatedPolicyDomainState == Data([1]))
        person.reader?.enrol([2])
        #expect(person.outcome(.deviceOwnerAuthentication, context) == nil)
        #expect(context.evaluatedPolicyDomainState == Data([2]))
        #expect(try Person().context.biometryType == .none)
    }

    @Test(arguments: [
        LAPolicy.deviceOwnerAuthenticationWithWatch, .deviceOwnerAuthenticationWithWristDetection,
    ])
    func `A context knows no other biometric device`(_ policy: LAPolicy) throws {
        #expect(try Person().outcome(policy) == .companionNotAvailable)
    }
}

@Suite struct `A context with several readers` {
    private let one = TestPerson.enrolment(1, 7)
    private let two = TestPerson.enrolment(2, 7)

    private func prove(
        _ enrolments: [[UInt8]], _ person: Person, _ context: LAContext
    ) throws(KeychainFailure) -> PresenceProof {
        let demands = enrolments.compactMap {
            try? AccessControl(.whenUnlocked, .biometryCurrentSet).bound(to: $0)
        }
        return try context.authenticator.proof(
            for: demands, reason: nil, store: person.keychain.store,
            deadline: Deadline(after: .seconds(60)))
    }

    // Promise: 15.3
    @Test func `A context with several readers asks at the one that an item is bound to`() throws {
        var person = try Person()
        person.reader = FingerScript(.enrolled([one, two]), [nil, nil])
        #expect(try prove([two], person, person.context).enrolments == [two])
        #expect(try prove([one], person, person.context).enrolments == [one])
    }

    @Test func `A context with several readers asks at each in turn for items of several`() throws {
        var person = try Person()
        person.reader = FingerScript(.enrolled([two, one]), [nil, nil])
        let context = person.context
        #expect(try prove([one, two], person, context).enrolments == [one])
        #expect(try prove([one, two], person, context).enrolments == [one, two])
        #expect(try prove([one, two], person, context).enrolments == [one, two])
        #expect(person.reader?.count == 2)
    }

    @Test func `A context with several readers asks nobody while the bound one is missing`() throws
    {
        var person = try Person()
        person.reader = FingerScript(.enrolled([one]), [nil])
        for enrolments in [[two], [one, two]] {
            let failure = #expect(throws: KeychainFailure.self) {
                _ = try prove(enrolments, person, person.context)
            }
            #expect(failure?.code == .authenticationFailed)
        }
        #expect(person.reader?.count == 0)
    }
}

@Suite struct `Evaluating an access control` {
    static let outcomes:
        [(AccessControl.Constraints, LAAccessControlOperation, LAError.Code?, Int)] =
            [
                (.userPresence, .useItem, nil, 1), (.devicePasscode, .useItem, nil, 1),
                (.userPresence, .createItem, nil, 0), ([], .useItem, nil, 0),
                (.biometryAny, .useItem, .biometryNotAvailable, 0),
                (.companion, .useItem, .companionNotAvailable, 0),
                ([.biometryAny, .or, .devicePasscode], .useItem, nil, 1),
            ]

    @Test(arguments: outcomes)
    func `Evaluating an access control accepts exactly what it requires`(
        _ constraints: AccessControl.Constraints, _ operation: LAAccessControlOperation,
        _ code: LAError.Code?, _ questionCount: Int
    ) throws {
        let person = try Person()
        let control = SecAccessControl(try AccessControl(.whenUnlocked, constraints))
        let outcome = person.wait { reply in
            person.context.evaluateAccessControl(
                control, operation: operation, localizedReason: "", reply: reply)
        }
        #expect(outcome == code)
        #expect(person.pinentry.questionCount == questionCount)
    }

    @Test(arguments: outcomes)
    func `Evaluating an access control in a task has the same outcome`(
        _ constraints: AccessControl.Constraints, _ operation: LAAccessControlOperation,
        _ code: LAError.Code?, _ questionCount: Int
    ) async throws {
        let person = try Person()
        let control = SecAccessControl(try AccessControl(.whenUnlocked, constraints))
        do {
            let isDone = try await person.context.evaluateAccessControl(
                control, operation: operation, localizedReason: "why")
            #expect(isDone && code == nil)
        } catch {
            #expect((error as? LAError)?.code == code)
        }
        #expect(person.pinentry.questionCount == questionCount)
    }
}
