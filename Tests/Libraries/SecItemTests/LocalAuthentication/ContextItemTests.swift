// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
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

/// Calls for an item that needs a person, with a context that asks a scripted one.
private struct ContextCalls {
    let person: Person
    private let calls: GuardedCalls

    /// The keychain of `person`, with an item of the account "guarded".
    init(_ person: Person, _ flags: SecAccessControlCreateFlags = .devicePasscode) throws {
        self.person = person
        calls = GuardedCalls(person.keychain)
        #expect(try add("guarded", flags, person.context) == errSecSuccess)
        #expect(!person.pinentry.wasStarted)
    }

    func add(
        _ account: String, _ flags: SecAccessControlCreateFlags, _ context: LAContext
    ) throws -> OSStatus {
        try calls.add(account, flags, nil, [kSecUseAuthenticationContext: context])
    }

    /// Reads the item; the code, once it was looked whether the value came with success alone.
    func read(_ context: LAContext? = nil, _ more: NSDictionary = [:]) -> OSStatus {
        let context = context ?? person.context
        let found = calls.value(
            "guarded", nil, [kSecUseAuthenticationContext: context] + more)
        #expect(found.text == (found.status == errSecSuccess ? "value" : nil))
        return found.status
    }

    func update(_ context: LAContext, _ value: String) -> OSStatus {
        calls.status {
            try calls.service.update(
                GuardedCalls.item("guarded", [kSecUseAuthenticationContext: context]),
                [kSecValueData: Data(value.utf8)])
        }
    }
}

/// spec/secitem.md §10.5.
@Suite struct `An item read with a context` {
    @Test func `An item that needs the user is not read with a context that may not ask`() throws {
        let calls = try ContextCalls(Person())
        let context = calls.person.context
        context.interactionNotAllowed = true
        #expect(calls.read(context) == errSecInteractionNotAllowed)
        #expect(calls.update(context, "value") == errSecInteractionNotAllowed)
        #expect(try calls.add("guarded", [], context) == errSecInteractionNotAllowed)
        #expect(!calls.person.pinentry.wasStarted)
        context.interactionNotAllowed = false
        #expect(calls.read(context) == errSecSuccess)
        // What was proved before counts.
        context.interactionNotAllowed = true
        #expect(calls.read(context) == errSecSuccess)
        #expect(calls.update(context, "value") == errSecSuccess)
        #expect(try calls.add("guarded", [], context) == errSecDuplicateItem)
        #expect(calls.person.pinentry.questionCount == 1)
    }

    @Test(arguments: [false, true])
    func `An item is not read with an invalidated context`(_ hasProved: Bool) throws {
        let calls = try ContextCalls(Person())
        let context = calls.person.context
        if hasProved { #expect(calls.read(context) == errSecSuccess) }
        context.invalidate()
        #expect(calls.read(context) == errSecAuthFailed)
        #expect(calls.update(context, "value") == errSecAuthFailed)
        #expect(try calls.add("guarded", [], context) == errSecAuthFailed)
        #expect(calls.person.pinentry.questionCount == (hasProved ? 1 : 0))
    }

    @Test func `An item is read again without a question with the same context alone`() throws {
        let calls = try ContextCalls(Person())
        let context = calls.person.context
        for _ in 0..<2 { #expect(calls.read(context) == errSecSuccess) }
        #expect(calls.person.pinentry.questionCount == 1)
        let other = calls.person.context
        other.touchIDAuthenticationAllowableReuseDuration = 300
        #expect(calls.read(other) == errSecSuccess)
        #expect(calls.person.pinentry.questionCount == 2)
    }

    static let requests: [([String: any Sendable], OSStatus, Int)] = [
        ([:], errSecSuccess, 1),
        (["u_AuthUI": "u_AuthUIA"], errSecSuccess, 1),
        (["u_AuthUI": 7], errSecSuccess, 1),
        (["u_AuthUI": "u_AuthUIF"], errSecInteractionNotAllowed, 0),
        (["u_AuthUI": "u_AuthUIS"], errSecItemNotFound, 0),
        (["u_NoAuthUI": true], errSecInteractionNotAllowed, 0),
        (["u_NoAuthUI": false], errSecSuccess, 1),
        (["u_NoAuthUI": true, "u_AuthUI": "u_AuthUIA"], errSecInteractionNotAllowed, 0),
        (["u_CredRef": Data([1])], errSecParam, 0),
    ]

    @Test(arguments: requests)
    func `A context asks for an item as the request allows`(
        _ request: [String: any Sendable], _ status: OSStatus, _ questionCount: Int
    ) throws {
        let calls = try ContextCalls(Person())
        #expect(calls.read(nil, request as NSDictionary) == status)
        #expect(calls.person.pinentry.questionCount == questionCount)
    }

    @Test(
        arguments: [
            ("to log in", "to log in"), (7, "of the context"), ("", "of the context"),
        ] as [(any Sendable, String)])
    func `A context asks for an item with the words of the request, or else its own`(
        _ prompt: any Sendable, _ words: String
    ) throws {
        let calls = try ContextCalls(Person())
        let context = calls.person.context
        context.localizedReason = "of the context"
        #expect(calls.read(context, [kSecUseOperationPrompt: prompt]) == errSecSuccess)
        #expect(
            calls.person.pinentry.descriptions == [
                "mail asks for the passcode of your keychain.%0A\u{201C}\(words)\u{201D}"
            ])
    }
}

/// spec/secitem.md §10.6 and §10.7.
@Suite struct `What a call for an item comes to` {
    /// How a person and a reader are when the item is read; it was added with finger 1 enrolled.
    struct Row: Sendable, CustomTestStringConvertible {
        let flags: SecAccessControlCreateFlags
        let state: BiometryState
        let fingers: [SystemError.Code?]
        let answer: String
        let status: OSStatus
        let questionCount: Int

        init(
            _ flags: SecAccessControlCreateFlags, _ state: BiometryState,
            _ fingers: [SystemError.Code?] = [], typing answer: String = Person.knowing,
            gives outcome: (status: OSStatus, questionCount: Int)
        ) {
            (self.flags, self.state, self.fingers) = (flags, state, fingers)
            (self.answer, status, questionCount) = (answer, outcome.status, outcome.questionCount)
        }

        var testDescription: String { "\(flags.rawValue), \(state), \(fingers), \(answer)" }
    }

    private static let choice: SecAccessControlCreateFlags = [
        .biometryCurrentSet, .or, .devicePasscode,
    ]
    private static let enrolled = BiometryState.enrolled([[1]])
    private static let failed = (errSecAuthFailed, 0)
    private static let typed = (errSecSuccess, 1)
    private static let touched = (errSecSuccess, 0)

    static let outcomes: [Row] = [
        Row(.devicePasscode, enrolled, typing: "CANCEL", gives: (errSecUserCanceled, 1)),
        Row(.devicePasscode, enrolled, typing: "EOF", gives: (errSecUserCanceled, 1)),
        Row(.devicePasscode, enrolled, typing: "PIN wrong", gives: (errSecAuthFailed, 3)),
        Row(.devicePasscode, enrolled, typing: "FAILURE", gives: (errSecInteractionNotAllowed, 1)),
        Row(.userPresence, enrolled, [.cancelled], gives: (errSecUserCanceled, 0)),
        Row(.userPresence, enrolled, [nil], gives: touched),
        Row(.userPresence, enrolled, [.noMatch], gives: typed),
        Row(.userPresence, enrolled, [.biometryLockout], gives: typed),
        Row(.biometryAny, enrolled, [nil], gives: touched),
        Row(.biometryAny, enrolled, [.cancelled], gives: (errSecUserCanceled, 0)),
        Row(.biometryAny, enrolled, [.noMatch], gives: failed),
        Row(.biometryAny, enrolled, [.biometryLockout], gives: failed),
        Row(.biometryAny, enrolled, [.noReader], gives: failed),
        Row(.biometryAny, enrolled, [.nobodyEnrolled], gives: failed),
        Row(.biometryAny, .noReader, gives: failed),
        Row(.biometryCurrentSet, enrolled, [nil], gives: touched),
        Row(.biometryCurrentSet, .noReader, gives: failed),
    ]

    /// spec/secitem.md §10.7, the columns of each row in turn.
    static let changes: [Row] = [
        Row(.userPresence, .enrolled([[2]]), [nil], gives: touched),
        Row(.biometryAny, .enrolled([[2]]), [nil], gives: touched),
        Row(.biometryCurrentSet, .enrolled([[2]]), [nil], gives: (errSecItemNotFound, 0)),
        Row(.devicePasscode, .enrolled([[2]]), gives: typed),
        Row(choice, .enrolled([[2]]), gives: typed),
        Row(.userPresence, .notEnrolled, gives: typed),
        Row(.biometryAny, .notEnrolled, gives: failed),
        Row(.biometryCurrentSet, .notEnrolled, gives: failed),
        Row(.devicePasscode, .notEnrolled, gives: typed),
        Row(choice, .notEnrolled, gives: typed),
        Row(.userPresence, .lockedOut, gives: typed),
        Row(.biometryAny, .lockedOut, gives: failed),
        Row(.biometryCurrentSet, .lockedOut, gives: failed),
        Row(.devicePasscode, .lockedOut, gives: typed),
        Row(choice, .lockedOut, gives: typed),
    ]

    @Test(arguments: outcomes + changes)
    func `A request for an item ends as the user and the reader decide`(_ row: Row) throws {
        var person = try Person([row.answer])
        let reader = FingerScript(Self.enrolled, row.fingers)
        person.reader = reader
        let calls = try ContextCalls(person, row.flags)
        reader.become(row.state)
        #expect(calls.read() == row.status)
        #expect(person.pinentry.questionCount == row.questionCount)
    }

    @Test func `A request for an item fails when the application ends the question`() throws {
        let calls = try ContextCalls(Person(["HANG"]))
        let (context, pinentry) = (calls.person.context, calls.person.pinentry)
        Thread.detachNewThread {
            pinentry.awaitQuestion()
            context.invalidate()
        }
        #expect(calls.read(context) == errSecAuthFailed)
        #expect(pinentry.questionCount == 1 && pinentry.isGone)
    }

    @Test func `A request for an item fails at once where questions are turned off`() throws {
        var person = try Person()
        person.variables = ["VALET_INTERACTION": "never"]
        #expect(try ContextCalls(person).read() == errSecInteractionNotAllowed)
        #expect(!person.pinentry.wasStarted)
    }

    static let flavours: [SecAccessControlCreateFlags] = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, choice,
    ]

    @Test(arguments: flavours, [false, true])
    func `A request for an item with a context follows a change or removal of the passcode`(
        _ flags: SecAccessControlCreateFlags, _ isRemoved: Bool
    ) throws {
        var person = try Person()
        person.reader = FingerScript(Self.enrolled, [nil])
        let calls = try ContextCalls(person, flags)
        let passcode = try Passcode(.text(TestKeychain.passcode))
        if isRemoved {
            try person.keychain.store.keychain.removePasscode(passcode)
        } else {
            try person.keychain.store.keychain.changePasscode(
                passcode, to: Passcode(.text("another")))
            try person.pinentry.answer(["PIN another"])
        }
        #expect(calls.read() == (isRemoved ? errSecItemNotFound : errSecSuccess))
        #expect(
            person.pinentry.questionCount
                == (flags == .devicePasscode && !isRemoved ? 1 : 0))
    }
}
