// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainServices
@testable import ValetSecItem

/// Calls of SecItem for items with an application's password, and a scripted person.
private struct PasswordCalls {
    let person: Person
    private let calls: GuardedCalls

    init(_ answers: [String] = ["CANCEL"], hasPasscode: Bool = false) throws {
        person = try Person(answers, hasPasscode: hasPasscode)
        calls = GuardedCalls(person.keychain)
    }

    /// A context with a credential, or with a person alone.
    func context(_ password: String? = nil) -> LAContext {
        let context = person.context
        if let password {
            #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
        }
        return context
    }

    func add(
        _ account: String, _ context: LAContext,
        _ flags: SecAccessControlCreateFlags = .applicationPassword, _ more: NSDictionary = [:]
    ) throws -> OSStatus {
        try calls.add(account, flags, nil, [kSecUseAuthenticationContext: context] + more)
    }

    /// Reads an item; nil for a value that did not come.
    func read(
        _ account: String, _ context: LAContext, _ more: NSDictionary = [:]
    ) -> (status: OSStatus, text: String?) {
        calls.value(account, nil, [kSecUseAuthenticationContext: context] + more)
    }

    func status(_ account: String, _ context: LAContext, _ more: NSDictionary = [:]) -> OSStatus {
        calls.copy(account, nil, [kSecUseAuthenticationContext: context] + more).status
    }

    func all(_ context: LAContext, _ more: NSDictionary = [:]) -> (OSStatus, [String]) {
        let query: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnData: true, kSecUseAuthenticationContext: context,
        ]
        var found: AnyObject?
        let status = calls.status { found = try calls.service.copyMatching(query + more) }
        let values = (found as? [Data] ?? []).map { String(decoding: $0, as: UTF8.self) }
        return (status, values.sorted())
    }

    func update(
        _ account: String, _ context: LAContext, _ changes: NSDictionary
    ) -> OSStatus {
        calls.status {
            try calls.service.update(
                GuardedCalls.item(account, [kSecUseAuthenticationContext: context]), changes)
        }
    }

    func delete(_ account: String) -> OSStatus { calls.delete(account) }

    var questionCount: Int { person.pinentry.questionCount }
}

/// spec/secitem.md §10.4, decision 56.
@Suite struct `A credential for an item with a password` {
    @Test func `An item opens only with the application password that it was added with`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        #expect(calls.read("b", calls.context("own")) == (errSecSuccess, "value"))
        #expect(calls.read("b", calls.context("other")) == (errSecAuthFailed, nil))
        #expect(calls.read("b", calls.context("own ")) == (errSecAuthFailed, nil))
        #expect(!calls.person.pinentry.wasStarted)
    }

    @Test func `An application password is set, replaced and taken back`() throws {
        let calls = try PasswordCalls()
        let context = calls.context()
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(Data("own".utf8), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        #expect(!context.isCredentialSet(.passcode))
        #expect(try calls.add("b", context) == errSecSuccess)
        #expect(context.setCredential(Data("other".utf8), type: .applicationPassword))
        #expect(calls.read("b", context).status == errSecAuthFailed)
        #expect(context.setCredential(nil, type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        context.interactionNotAllowed = true
        #expect(calls.read("b", context).status == errSecInteractionNotAllowed)
        #expect(context.setCredential(Data("own".utf8), type: .applicationPassword))
        #expect(calls.read("b", context).text == "value")
        context.invalidate()
        #expect(!context.isCredentialSet(.applicationPassword))
        _ = context.setCredential(Data("own".utf8), type: .applicationPassword)
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(calls.read("b", context).status == errSecAuthFailed)
        #expect(try calls.add("c", context) == errSecAuthFailed)
        #expect(!calls.person.pinentry.wasStarted)
    }

    @Test func `An application password has from 1 to 1,024 bytes of any kind`() throws {
        let calls = try PasswordCalls()
        let context = calls.context("own")
        for data in [Data(), Data(count: 1025)] {
            #expect(!context.setCredential(data, type: .applicationPassword))
            #expect(context.isCredentialSet(.applicationPassword))
        }
        #expect(try calls.add("b", context) == errSecSuccess)
        #expect(calls.read("b", calls.context("own")).text == "value")
        for (account, count) in [("c", 1), ("d", 1024)] {
            let context = calls.context()
            #expect(context.setCredential(Data(count: count), type: .applicationPassword))
            #expect(try calls.add(account, context) == errSecSuccess)
            #expect(calls.read(account, context).text == "value")
        }
    }

    @Test func `An application password is needed for the value only`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        let nobody = calls.context()
        nobody.interactionNotAllowed = true
        #expect(calls.read("b", nobody).status == errSecInteractionNotAllowed)
        #expect(calls.status("b", nobody, [kSecReturnAttributes: true]) == errSecSuccess)
        #expect(calls.status("b", nobody, [kSecReturnPersistentRef: true]) == errSecSuccess)
        #expect(calls.status("b", nobody) == errSecSuccess)
        #expect(calls.update("b", nobody, [kSecAttrLabel: "label"]) == errSecSuccess)
        #expect(try calls.add("b", nobody) == errSecDuplicateItem)
        #expect(
            calls.update("b", nobody, [kSecValueData: Data("x".utf8)])
                == errSecInteractionNotAllowed)
        #expect(calls.read("b", calls.context("own")).text == "value")
        #expect(calls.delete("b") == errSecSuccess)
    }

    @Test func `An update of a value needs the right application password`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        let changes: NSDictionary = [kSecValueData: Data("second".utf8)]
        #expect(calls.update("b", calls.context("other"), changes) == errSecAuthFailed)
        #expect(calls.read("b", calls.context("own")).text == "value")
        #expect(calls.update("b", calls.context("own"), changes) == errSecSuccess)
        #expect(calls.read("b", calls.context("own")).text == "second")
        let accessControl = try GuardedCalls.accessControl(.applicationPassword)
        #expect(
            calls.update(
                "b", calls.context("other"), changes + [kSecAttrAccessControl: accessControl])
                == errSecSuccess)
        #expect(calls.read("b", calls.context("own")).status == errSecAuthFailed)
        #expect(calls.read("b", calls.context("other")).text == "second")
    }

    @Test func `Each of several items needs its application password`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        #expect(try calls.add("c", calls.context("own")) == errSecSuccess)
        #expect(
            calls.all(calls.context("own")) == (errSecSuccess, ["value", "value", "value of a"]))
        #expect(try calls.add("d", calls.context("other")) == errSecSuccess)
        #expect(calls.all(calls.context("own")) == (errSecAuthFailed, []))
        let skip: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
        let (status, values) = calls.all(calls.context("other"), skip)
        #expect(status == errSecSuccess && values.count == 2)
        #expect(calls.all(calls.context(), skip).1.count == 1)
        #expect(!calls.person.pinentry.wasStarted)
    }

    @Test(
        arguments: [
            [.applicationPassword, .or], [.applicationPassword, .and],
        ] as [SecAccessControlCreateFlags])
    func `An application password alone opens an item without other constraints`(
        _ flags: SecAccessControlCreateFlags
    ) throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own"), flags) == errSecSuccess)
        #expect(calls.read("b", calls.context("own")).text == "value")
        #expect(calls.read("b", calls.context("other")).status == errSecAuthFailed)
    }

    static let joined: [SecAccessControlCreateFlags] = [
        [.applicationPassword, .userPresence], [.applicationPassword, .devicePasscode],
        [.applicationPassword, .and, .devicePasscode],
        [.applicationPassword, .or, .devicePasscode, .biometryAny],
    ]

    // Promise: 9.6
    /// The passcode's question comes first: what it opens tells which password is right.
    @Test(arguments: joined)
    func `An application password does not replace the user's presence`(
        _ flags: SecAccessControlCreateFlags
    ) throws {
        let calls = try PasswordCalls([Person.knowing], hasPasscode: true)
        #expect(try calls.add("b", calls.context("own"), flags) == errSecSuccess)
        #expect(!calls.person.pinentry.wasStarted)
        #expect(calls.read("b", calls.context("own")).text == "value")
        #expect(calls.questionCount == 1)
        #expect(calls.read("b", calls.context("other")).status == errSecAuthFailed)
        let nobody = calls.context("own")
        nobody.interactionNotAllowed = true
        #expect(calls.read("b", nobody).status == errSecInteractionNotAllowed)
        try calls.person.pinentry.answer(["CANCEL"])
        #expect(calls.read("b", calls.context("own")).status == errSecUserCanceled)
    }

    @Test
    func `An item with an application password asks for the passcode only if it requires the user`()
        throws
    {
        let calls = try PasswordCalls()
        #expect(
            try calls.add("b", calls.context("own"), [.applicationPassword, .userPresence])
                == errSecNotAvailable)
        #expect(
            try calls.add("b", calls.context("own"), [.applicationPassword, .privateKeyUsage])
                == errSecAuthFailed)
        #expect(
            try calls.add(
                "b", calls.context("own"), .applicationPassword, [kSecAttrSynchronizable: true])
                == errSecParam)
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
    }
}

/// spec/secitem.md §10.6, decision 56.
@Suite struct `A person asked for the password of an item` {
    private static let own = ["PIN own", "PIN own"]

    // Promise: 9.8
    @Test func `A user types a new application password twice and an existing one once`() throws {
        let calls = try PasswordCalls(Self.own)
        #expect(try calls.add("b", calls.context()) == errSecSuccess)
        #expect(calls.questionCount == 2)
        #expect(calls.read("b", calls.context()).text == "value")
        #expect(calls.questionCount == 3)
        #expect(calls.read("b", calls.context("own")).text == "value")
        #expect(
            calls.person.pinentry.descriptions == [
                "mail asks for a new password for an item.",
                "mail asks for the password of an item.",
            ])
        #expect(calls.person.pinentry.lines("log").contains("SETPROMPT Password:"))
    }

    // Promise: 18.2
    @Test(
        arguments: [
            (["PIN wrong", "PIN other", "PIN own"], errSecSuccess, 3),
            (["PIN a", "PIN b", "PIN c", "PIN own"], errSecAuthFailed, 3),
            (["CANCEL"], errSecUserCanceled, 1), (["PIN a", "CANCEL"], errSecUserCanceled, 2),
            (["FAILURE"], errSecInteractionNotAllowed, 1),
        ] as [([String], OSStatus, Int)])
    func `A request for an application password ends as the user decides`(
        _ answers: [String], _ status: OSStatus, _ questionCount: Int
    ) throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        try calls.person.pinentry.answer(inTurn: answers)
        let found = calls.read("b", calls.context())
        #expect(found.status == status)
        #expect(found.text == (status == errSecSuccess ? "value" : nil))
        #expect(calls.questionCount == questionCount)
        #expect(calls.person.pinentry.isGone)
    }

    @Test func `A prompt shows that an application password is wrong and how many tries are left`()
        throws
    {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        try calls.person.pinentry.answer(["PIN a"])
        #expect(calls.read("b", calls.context()).status == errSecAuthFailed)
        #expect(
            calls.person.pinentry.lines("log").filter { $0.hasPrefix("SETERROR") } == [
                "SETERROR wrong password: 2 tries are left",
                "SETERROR wrong password: one try is left",
            ])
    }

    @Test
    func `Two different entries or a declined prompt for an application password add nothing`()
        throws
    {
        let calls = try PasswordCalls(["PIN a", "PIN b", "PIN a", "PIN b", "PIN a", "PIN b"])
        #expect(try calls.add("b", calls.context()) == errSecAuthFailed)
        try calls.person.pinentry.answer(["CANCEL"])
        #expect(try calls.add("b", calls.context()) == errSecUserCanceled)
        #expect(calls.status("b", calls.context()) == errSecItemNotFound)
    }

    // Promise: 18.1
    @Test func `A user is not asked for an application password in vain`() throws {
        let calls = try PasswordCalls(Self.own)
        let nobody = calls.context()
        nobody.interactionNotAllowed = true
        #expect(try calls.add("b", nobody) == errSecInteractionNotAllowed)
        let fail: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
        #expect(
            try calls.add("b", calls.context(), .applicationPassword, fail)
                == errSecInteractionNotAllowed)
        #expect(
            try calls.add("b", calls.context("own"), .applicationPassword, fail)
                == errSecSuccess)
        #expect(calls.read("b", calls.context(), fail).status == errSecInteractionNotAllowed)
        #expect(calls.read("b", calls.context("own"), fail).text == "value")
        let skip: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
        #expect(calls.read("b", calls.context(), skip).status == errSecItemNotFound)
        #expect(try calls.add("b", calls.context()) == errSecDuplicateItem)
        #expect(!calls.person.pinentry.wasStarted)
    }

    @Test func `A context asks once for the application password of one item`() throws {
        let calls = try PasswordCalls(Self.own)
        let context = calls.context()
        #expect(try calls.add("b", context) == errSecSuccess)
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(calls.read("b", context).text == "value")
        #expect(calls.questionCount == 2)
        #expect(try calls.add("c", calls.context("own")) == errSecSuccess)
        // A password that opens one item opens no other unasked.
        for _ in 0..<2 { #expect(calls.read("c", context).text == "value") }
        #expect(calls.questionCount == 3)
        context.invalidate()
        #expect(calls.read("b", context).status == errSecAuthFailed)
        #expect(calls.questionCount == 3)
    }

    @Test func `A user is asked for application passwords until all items of a search are open`()
        throws
    {
        let calls = try PasswordCalls()
        for (account, password) in [("b", "one"), ("c", "one"), ("d", "two")] {
            #expect(try calls.add(account, calls.context(password)) == errSecSuccess)
        }
        try calls.person.pinentry.answer(inTurn: ["PIN one", "PIN two"])
        let (status, values) = calls.all(calls.context())
        #expect(status == errSecSuccess && values.count == 4)
        #expect(calls.questionCount == 2)
    }

    // Promise: 18.2
    @Test func `The application can end a prompt for an application password`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        try calls.person.pinentry.answer(["HANG"])
        let (context, pinentry) = (calls.context(), calls.person.pinentry)
        Thread.detachNewThread {
            pinentry.awaitQuestion()
            context.invalidate()
        }
        #expect(calls.read("b", context).status == errSecAuthFailed)
        #expect(pinentry.isGone)
    }

    // Promise: 18.2
    @Test(arguments: [false, true])
    func `A prompt for an application password keeps no writer waiting`(_ isNew: Bool) throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        try calls.person.pinentry.answer(["HANG"])
        let (context, person) = (calls.context(), calls.person)
        Thread.detachNewThread {
            person.pinentry.awaitQuestion()
            // Fails at its deadline where a transaction is open, or the lock is held.
            try? person.keychain.add("written")
            context.invalidate()
        }
        let status =
            isNew
            ? try calls.add("c", context)
            : calls.update("b", context, [kSecValueData: Data("x".utf8)])
        #expect(status == errSecAuthFailed)
        #expect(calls.status("written", calls.context()) == errSecSuccess)
        #expect(calls.read("b", calls.context("own")).text == "value")
    }

    @Test func `A prompt for an application password shows the application's words`() throws {
        let calls = try PasswordCalls()
        #expect(try calls.add("b", calls.context("own")) == errSecSuccess)
        try calls.person.pinentry.answer(["PIN own"])
        let prompt: NSDictionary = [kSecUseOperationPrompt: "to log in"]
        #expect(calls.read("b", calls.context(), prompt).text == "value")
        #expect(
            calls.person.pinentry.descriptions == [
                "mail asks for the password of an item.%0A\u{201C}to log in\u{201D}"
            ])
    }
}
