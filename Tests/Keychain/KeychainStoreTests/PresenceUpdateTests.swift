// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §6, §10.4, §10.7.
@Suite struct `Writing where a person is needed` {
    let keychain: TestKeychain

    init() throws { keychain = try TestKeychain.withPasscode() }

    private func update(
        _ account: String, _ changes: ItemChanges = ItemChanges(), _ value: String? = nil,
        _ proof: PresenceProof? = nil
    ) throws -> ItemResult<Int> {
        try keychain.store.update(
            ItemUpdate(
                query: .exact(account), changes: changes, value: value.map(SecretValue.text)),
            for: keychain.caller, PresenceAccess(.demanding, proof: proof))
    }

    private func isDemanded(_ answer: ItemResult<Int>) -> Bool {
        if case .needsPerson(.proofs) = answer { true } else { false }
    }

    @Test func `Updating an item that needs the user requires a proof whatever changes`() throws {
        try keychain.add("a", TestKeychain.accessControl(.devicePasscode))
        #expect(try isDemanded(update("a", ItemChanges(), "other")))
        #expect(try isDemanded(update("a", ItemChanges(attributes: [.label: .text("l")]))))
        let proof = try keychain.passcodeProof()
        #expect(keychain.read("a", proof) == .value("value of a"))
        let labelled = ItemChanges(attributes: [.label: .text("l")])
        #expect(try !isDemanded(update("a", labelled, nil, proof)))
        #expect(keychain.read("a", proof) == .value("value of a"))
        #expect(try !isDemanded(update("a", ItemChanges(), "other", proof)))
        #expect(keychain.read("a", proof) == .value("other"))
        #expect(keychain.read("a").isDemand)
    }

    @Test func `An update changes nothing while one of its items requires a proof`() throws {
        try keychain.add("plain")
        try keychain.add("a", TestKeychain.accessControl(.devicePasscode))
        let update = ItemUpdate(query: .generic(), changes: ItemChanges(), value: .text("other"))
        let answer = try keychain.store.update(
            update, for: keychain.caller, PresenceAccess(.demanding))
        #expect(isDemanded(answer))
        #expect(try keychain.value("plain") == "value of plain")
    }

    @Test func `An update adds an access control, and a class removes it`() throws {
        try keychain.add("a")
        var changes = ItemChanges()
        let accessControl = try TestKeychain.accessControl(
            .devicePasscode, as: .whenPasscodeSetThisDeviceOnly)
        changes.accessControl = accessControl
        #expect(try !isDemanded(update("a", changes)))
        #expect(keychain.read("a") == .demanded([accessControl]))
        let proof = try keychain.passcodeProof()
        #expect(keychain.read("a", proof) == .value("value of a"))
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(try isDemanded(update("a", plain)))
        #expect(try !isDemanded(update("a", plain, nil, proof)))
        #expect(try keychain.value("a") == "value of a")
        let item = try #require(try keychain.items(.exact("a")).first)
        #expect(item.accessControl == nil && item.protectionClass == .whenUnlocked)
    }

    @Test func `Reporting a duplicate of an item that needs the user requires a proof`() throws {
        try keychain.add("a", TestKeychain.accessControl(.devicePasscode))
        let addition = Addition(.generic("a"), value: .text("other"))
        func add(_ proof: PresenceProof? = nil) throws -> ItemResult<StoredItem> {
            try keychain.store.add(
                addition, for: keychain.caller, PresenceAccess(.demanding, proof: proof))
        }
        guard case .needsPerson(.proofs) = try add() else {
            Issue.record("nothing was demanded")
            return
        }
        let proof = try keychain.passcodeProof()
        #expect(failure { _ = try add(proof) } == .duplicateItem)
        #expect(failure { try keychain.add("a") } == .duplicateItem)
        #expect(keychain.read("a", proof) == .value("value of a"))
    }

    // Promise: 6.3
    /// spec/secitem.md §10.7: changed fingers.
    @Test func `An item of other fingers counts as gone and can be replaced`() throws {
        let accessControl = try TestKeychain.accessControl(.biometryCurrentSet, [1])
        try keychain.add("a", accessControl)
        let changed = PresenceAccess.Enrolment.known([[2]])
        #expect(keychain.read("a", enrolment: changed) == .failed(.itemNotFound))
        #expect(keychain.read("a") == .demanded([accessControl]))
        #expect(
            try !keychain.store.get(
                keychain.store.contains(.exact("a"), for: keychain.caller, enrolment: changed)))
        for enrolment in [PresenceAccess.Enrolment.known([[1]]), .known([])] {
            #expect(
                try keychain.store.get(
                    keychain.store.contains(.exact("a"), for: keychain.caller, enrolment: enrolment)
                ))
        }
        let next = TestKeychain.item("a", try TestKeychain.accessControl(.biometryCurrentSet, [2]))
        let access = PresenceAccess(.naming, enrolment: changed)
        guard
            case .found = try keychain.store.add(
                Addition(next, value: .text("second")), for: keychain.caller, access)
        else {
            Issue.record("something was demanded")
            return
        }
        #expect(keychain.read("a", try keychain.fingerProof([2])) == .value("second"))
        #expect(try keychain.delete(.exact("a")) == 1)
    }

    // Promise: 15.2
    @Test func `A proof of other fingers does not make an item count as gone`() throws {
        let accessControl = try TestKeychain.accessControl(.biometryCurrentSet, [1])
        try keychain.add("a", accessControl)
        let other = try keychain.fingerProof([2])
        for enrolment in [PresenceAccess.Enrolment.unknown, .known([[1]]), .known([])] {
            let access = PresenceAccess(.demanding, proof: other, enrolment: enrolment)
            #expect(keychain.look("a", .value, access) == .demanded([accessControl]))
            let addition = Addition(TestKeychain.item("a", accessControl), value: .text("b"))
            let added = try keychain.store.add(addition, for: keychain.caller, access)
            guard case .needsPerson(.proofs([accessControl])) = added else {
                Issue.record("it made way: \(enrolment)")
                return
            }
        }
        #expect(keychain.read("a", try keychain.fingerProof([1])) == .value("value of a"))
    }

    @Test func `An item of other fingers is deleted without a proof`() throws {
        try keychain.add("a", TestKeychain.accessControl(.biometryCurrentSet, [1]))
        #expect(try keychain.delete(.exact("a")) == 1)
    }

    @Test func `Setting an item again binds it to the present fingers`() throws {
        try keychain.add("a", TestKeychain.accessControl(.biometryCurrentSet, [1]))
        let next = TestKeychain.item("a", try TestKeychain.accessControl(.biometryCurrentSet, [2]))
        try keychain.set(next, "second")
        #expect(keychain.read("a", try keychain.fingerProof([2])) == .value("second"))
    }

    @Test func `After a change of fingers the passcode still opens an item that accepts it`() throws
    {
        let accessControl = try TestKeychain.accessControl(
            [.biometryCurrentSet, .devicePasscode, .or], [1])
        try keychain.add("a", accessControl)
        let changed = PresenceAccess.Enrolment.known([[2]])
        #expect(keychain.read("a", enrolment: changed) == .demanded([accessControl]))
        let finger = try keychain.fingerProof([2])
        #expect(keychain.read("a", finger) == .demanded([accessControl]))
        #expect(
            keychain.read("a", try keychain.passcodeProof(), enrolment: changed)
                == .value("value of a"))
    }
}
