// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §10.4–§10.7.
@Suite struct `Items with an access control` {
    let calls: GuardedCalls

    init() throws { calls = try GuardedCalls() }

    // Promise: 9.3
    /// spec/secitem.md §10.4: which calls ask.
    @Test(
        arguments: [
            [:], ["r_Data": true], ["r_Attributes": true], ["r_PersistentRef": true],
            ["r_Data": true, "r_Attributes": true],
            ["r_Data": true, "m_Limit": "m_LimitAll"],
        ] as [[String: any Sendable]])
    func `A guarded item asks the user whatever a search returns`(
        _ returning: [String: any Sendable]
    ) throws {
        try calls.add("a", .devicePasscode)
        let returning = returning as NSDictionary
        #expect(calls.copy("a", nil, returning).status == errSecInteractionNotAllowed)
        let fail: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
        let person = TestPerson.typing
        #expect(
            calls.copy("a", person, returning + fail).status == errSecInteractionNotAllowed)
        #expect(person.questions.isEmpty)
        #expect(calls.copy("a", person, returning).status == errSecSuccess)
        #expect(person.questions.count == 1)
    }

    // Promise: 9.3
    @Test func `A guarded item is added, deleted and overwritten by its owner without a question`()
        throws
    {
        let person = TestPerson()
        #expect(try calls.add("a", .devicePasscode, person) == errSecSuccess)
        var item = NewItem(.genericPassword, attributes: [.account: .text("a")])
        item.accessControl = try GuardedCalls.accessControl(.devicePasscode).content
        try calls.keychain.session.set(
            item, value: .text("second"), AuthenticationPolicy(authenticator: person))
        #expect(try calls.keychain.session.contains(GuardedCalls.name("a")))
        #expect(
            try calls.keychain.session.attributes(of: ItemQuery(.genericPassword)).items.count == 1)
        #expect(person.questions.isEmpty)
        #expect(calls.value("a", .typing).text == "second")
        #expect(calls.delete("a") == errSecSuccess)
        #expect(calls.copy("a").status == errSecItemNotFound)
    }

    @Test func `A guarded item asks the user before an addition reports a duplicate`() throws {
        try calls.add("a", .devicePasscode)
        #expect(try calls.add("a", .devicePasscode) == errSecInteractionNotAllowed)
        #expect(
            try calls.add(
                "a", .devicePasscode, .typing,
                [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
                == errSecInteractionNotAllowed)
        #expect(try calls.add("a", .devicePasscode, .typing) == errSecDuplicateItem)
    }

    @Test func `A guarded item asks the user before it is updated, even if only its value is`()
        throws
    {
        try calls.add("a", .devicePasscode)
        let changes: NSDictionary = [kSecValueData: Data("other".utf8)]
        #expect(calls.update("a", nil, changes) == errSecInteractionNotAllowed)
        #expect(calls.update("a", .typing, changes) == errSecSuccess)
        #expect(calls.value("a", .typing).text == "other")
        // A class alone takes the access control away (§6).
        let plain: NSDictionary = [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]
        #expect(calls.update("a", .typing, plain) == errSecSuccess)
        #expect(calls.value("a").text == "other")
    }

    @Test func `Where there is no way to ask, guarded items ask nobody`() throws {
        #expect(try calls.add("a", []) == errSecSuccess)
        #expect(calls.value("a").text == "value")
    }

    /// One row of spec/secitem.md §10.6 and §10.7.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let flags: SecAccessControlCreateFlags
        let conduct: TestPerson.Conduct
        let status: OSStatus

        init(
            _ description: String, _ flags: SecAccessControlCreateFlags,
            _ conduct: TestPerson.Conduct, _ status: OSStatus
        ) {
            testDescription = description
            (self.flags, self.conduct, self.status) = (flags, conduct, status)
        }
    }

    static let rows = [
        Row("cancelled", .devicePasscode, .init(failure: .userCancelled), errSecUserCanceled),
        Row("failed", .devicePasscode, .init(failure: .authenticationFailed), errSecAuthFailed),
        Row(
            "nobody there", .devicePasscode, .init(failure: .interactionNotAllowed),
            errSecInteractionNotAllowed),
        Row("a wrong finger", .biometryAny, .init(), errSecAuthFailed),
        Row("nobody enrolled", .biometryAny, .init(touchesReader: true, enrolment: nil), -25293),
        Row("a finger", .biometryAny, .init(touchesReader: true), errSecSuccess),
        Row(
            "another finger, any", .biometryAny,
            .init(touchesReader: true, enrolment: [2]), errSecSuccess),
        Row("presence, a finger", .userPresence, .init(touchesReader: true), errSecSuccess),
        Row(
            "presence, other fingers", .userPresence,
            .init(touchesReader: true, enrolment: [2]), errSecSuccess),
        Row(
            "presence, no fingers", .userPresence,
            .init(typesPasscode: true, enrolment: nil), errSecSuccess),
        Row(
            "passcode, other fingers", .devicePasscode,
            .init(typesPasscode: true, enrolment: [2]), errSecSuccess),
        Row(
            "passcode, no fingers", .devicePasscode,
            .init(typesPasscode: true, enrolment: nil), errSecSuccess),
        Row(
            "current set", .biometryCurrentSet, .init(touchesReader: true), errSecSuccess),
        Row(
            "current set, changed", .biometryCurrentSet,
            .init(typesPasscode: true, touchesReader: true, enrolment: [2]), errSecItemNotFound),
        Row(
            "current set, all removed", .biometryCurrentSet,
            .init(touchesReader: true, enrolment: nil), errSecAuthFailed),
        Row(
            "current set or passcode, changed", [.biometryCurrentSet, .or, .devicePasscode],
            .init(typesPasscode: true, enrolment: [2]), errSecSuccess),
        Row(
            "both, and one given", [.biometryAny, .devicePasscode],
            .init(typesPasscode: true), errSecAuthFailed),
        Row(
            "both given", [.biometryAny, .devicePasscode],
            .init(typesPasscode: true, touchesReader: true), errSecSuccess),
    ]

    @Test(arguments: rows)
    func `A guarded item gives the answer of its user`(_ row: Row) throws {
        #expect(try calls.add("a", row.flags, TestPerson()) == errSecSuccess)
        let person = TestPerson(row.conduct)
        let found = calls.value("a", person)
        #expect(found.status == row.status)
        #expect(found.text == (row.status == errSecSuccess ? "value" : nil))
        // At most 20 rounds (§10.5), and nobody is asked in vain but who gives too little.
        #expect(person.questions.count <= 20)
    }

    // Promise: 9.3
    @Test func `A guarded item gives up after twenty rounds of questions`() throws {
        try calls.add("a", [.biometryAny, .devicePasscode])
        let person = TestPerson.typing
        #expect(calls.value("a", person).status == errSecAuthFailed)
        #expect(person.questions.count == 20)
    }

    /// spec/secitem.md §10.5.
    @Test func `A guarded item is asked for with the words of the request`() throws {
        try calls.add("a", .devicePasscode)
        let person = TestPerson.typing
        let words: NSDictionary = [kSecUseOperationPrompt: "to log in"]
        #expect(calls.value("a", person, words).status == errSecSuccess)
        #expect(person.reasons == ["to log in"])
    }

    @Test func `A guarded item is asked for once with a context that remembers`() throws {
        try calls.add("a", .devicePasscode)
        try calls.add("b", .userPresence)
        let person = TestPerson(.init(typesPasscode: true, remembers: true))
        for _ in 0..<3 {
            #expect(calls.value("a", person).text == "value")
            #expect(calls.value("b", person).text == "value")
        }
        #expect(person.questions.count == 1)
        let fail: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]
        #expect(calls.value("a", person, fail).text == "value")
        #expect(calls.value("a", TestPerson(), fail).status == errSecInteractionNotAllowed)
    }

    /// spec/secitem.md §10.5: left out; nothing left is nothing found.
    @Test func `A guarded item is left out of a search that skips such items`() throws {
        try calls.add("a", .devicePasscode)
        let skip: NSDictionary = [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]
        let person = TestPerson.typing
        #expect(calls.value("a", person, skip).status == errSecItemNotFound)
        #expect(person.questions.isEmpty)
        try calls.add("b", [])
        let all: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnData: true,
        ]
        let found = try calls.service.copyMatching(all + skip) as? [Data]
        #expect(found == [Data("value".utf8)])
    }

    @Test func `Guarded items of one search are asked for together, each kind once`() throws {
        try calls.add("a", .devicePasscode)
        try calls.add("b", .biometryAny)
        try calls.add("c", .devicePasscode)
        let person = TestPerson(.init(typesPasscode: true, touchesReader: true))
        let all: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnData: true, kSecUseAuthenticationContext: person,
        ]
        let found = try calls.service.copyMatching(all) as? [Data]
        #expect(found?.count == 3)
        #expect(person.questions.map(\.count) == [2])
    }

    /// spec/secitem.md §10.7.
    @Test func `A guarded item of other fingers can be replaced and deleted`() throws {
        #expect(try calls.add("a", .biometryCurrentSet, TestPerson()) == errSecSuccess)
        let changed = TestPerson(.init(touchesReader: true, enrolment: [2]))
        let policy = AuthenticationPolicy(authenticator: changed)
        let name = GuardedCalls.name("a")
        #expect(try !calls.keychain.session.contains(name, policy))
        #expect(
            try calls.keychain.session.contains(
                name, AuthenticationPolicy(authenticator: TestPerson())))
        #expect(changed.questions.isEmpty)
        #expect(try calls.add("a", .biometryCurrentSet, changed) == errSecSuccess)
        #expect(calls.value("a", changed).text == "value")
        #expect(calls.delete("a") == errSecSuccess)
    }

    // Promise: 15.2
    /// spec/secitem.md §10.7: what a context remembers is older than the item.
    @Test func `A guarded item stays for a context that remembers other fingers`() throws {
        let person = TestPerson(.init(touchesReader: true, remembers: true))
        try calls.add("first", .biometryCurrentSet, person)
        #expect(calls.value("first", person).text == "value")
        person.conduct.enrolment = [2]
        try calls.add("a", .biometryCurrentSet, TestPerson(.init(enrolment: [2])))
        let remembered = person.rememberedProof
        func other() -> TestPerson {
            TestPerson(.init(touchesReader: true, enrolment: [2]), remembering: remembered)
        }
        #expect(try calls.add("a", .biometryCurrentSet, other()) == errSecDuplicateItem)
        #expect(calls.value("a", other()).text == "value")
        let changes: NSDictionary = [kSecValueData: Data("other".utf8)]
        #expect(calls.update("a", other(), changes) == errSecSuccess)
        #expect(calls.value("a", person).text == "other")
    }

    // Promise: 6.3
    @Test func `A guarded item does not open for a finger that was enrolled during the question`()
        throws
    {
        try calls.add("a", .biometryCurrentSet, TestPerson())
        let person = TestPerson(.init(touchesReader: true, laterEnrolment: [2]))
        let found = calls.value("a", person)
        #expect(found.status == errSecItemNotFound && found.text == nil)
        #expect(person.questions.count == 1)
    }

    // Promise: 15.3
    /// spec/secitem.md §10.7: a reader that was unplugged may come back.
    @Test func `A guarded item stays while its reader is missing, whatever another reader has`()
        throws
    {
        let (own, other) = (TestPerson.enrolment(1, 7), TestPerson.enrolment(2, 7))
        func person(_ enrolled: [UInt8], _ others: [UInt8]...) -> TestPerson {
            TestPerson(.init(touchesReader: true, enrolment: enrolled, otherReaders: others))
        }
        #expect(try calls.add("a", .biometryCurrentSet, person(own)) == errSecSuccess)
        for stranger in [person(other), person(other, TestPerson.enrolment(3, 1))] {
            #expect(calls.value("a", stranger).status == errSecAuthFailed)
            #expect(try calls.add("a", .biometryCurrentSet, stranger) == errSecAuthFailed)
            let policy = AuthenticationPolicy(authenticator: stranger)
            #expect(try calls.keychain.session.contains(GuardedCalls.name("a"), policy))
        }
        #expect(calls.value("a", person(own, other)).text == "value")
        let changed = person(other, TestPerson.enrolment(1, 8))
        #expect(calls.value("a", changed).status == errSecItemNotFound)
    }

    // Promise: 9.4
    @Test func `A proof from before a key change opens no guarded item`() throws {
        try calls.add("a", [.biometryAny, .devicePasscode])
        let store = calls.keychain.store
        let before = try store.presenceProof(fingerprint: [1])
        try store.keychain.rotateKeys(Passcode(.text(TestKeychain.passcode)))
        let typing = TestPerson(.init(typesPasscode: true), remembering: before)
        #expect(calls.value("a", typing).status == errSecAuthFailed)
        let both = TestPerson(
            .init(typesPasscode: true, touchesReader: true), remembering: before)
        #expect(calls.value("a", both).text == "value")
    }

    /// spec/secitem.md §10.3, §10.6; what cannot be bound is not added.
    @Test func `A guarded item that nobody could ever read is not added`() throws {
        #expect(try calls.add("a", .privateKeyUsage) == errSecAuthFailed)
        #expect(try calls.add("a", [.privateKeyUsage, .userPresence]) == errSecAuthFailed)
        #expect(try calls.add("a", .companion) == errSecAuthFailed)
        #expect(try calls.add("a", [.companion, .applicationPassword]) == errSecAuthFailed)
        let nobody = TestPerson(.init(enrolment: nil))
        #expect(try calls.add("a", .biometryCurrentSet, nobody) == errSecAuthFailed)
        #expect(try calls.add("b", .biometryAny, nobody) == errSecSuccess)
        #expect(
            try calls.add("a", .userPresence, nil, [kSecAttrSynchronizable: true])
                == errSecParam)
        #expect(calls.copy("a").status == errSecItemNotFound)
    }

    /// spec/secitem.md §9.5, §10.6.
    @Test func `A guarded item that needs a passcode is not added without one`() throws {
        let keychain = TestKeychain()
        let service = keychain.session
        for protection in [
            kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlocked,
        ] {
            let item = GuardedCalls.item(
                "a",
                [
                    kSecAttrAccessControl: try GuardedCalls.accessControl(
                        .userPresence, protection)
                ])
            #expect(calls.status { _ = try service.add(item) } == errSecNotAvailable)
        }
    }

    /// spec/secitem.md §3.8.
    @Test func `A guarded item returns the access control that it was given`() throws {
        let flags: [SecAccessControlCreateFlags] = [
            [], .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode,
            [.biometryCurrentSet, .or, .devicePasscode],
        ]
        let person = TestPerson(.init(typesPasscode: true, touchesReader: true))
        for (index, flags) in flags.enumerated() {
            let added = try calls.service.add(
                GuardedCalls.item(
                    "\(index)",
                    [
                        kSecAttrAccessControl: try GuardedCalls.accessControl(flags),
                        kSecReturnAttributes: true, kSecUseAuthenticationContext: person,
                    ]))
            let found = calls.copy("\(index)", person, [kSecReturnAttributes: true]).result
            for result in [added, found] {
                let attributes = try #require(result as? NSDictionary)
                let object = attributes[kSecAttrAccessControl] as? SecAccessControl
                #expect(try object == GuardedCalls.accessControl(flags))
                #expect(attributes[kSecAttrAccessible] as? String == "aku")
            }
        }
    }
}
