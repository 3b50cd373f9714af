// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §6, §10.4, §10.7.
@Suite struct `Writing where a person is needed` {
    let epochs: EpochStore

    init() throws { epochs = try EpochStore.withPasscode() }

    private func update(
        _ account: String, _ changes: ItemChanges = ItemChanges(), _ value: String? = nil,
        _ proof: PresenceProof? = nil
    ) throws -> ItemResult<Int> {
        try epochs.store.update(
            ItemUpdate(
                query: .exact(account), changes: changes, value: value.map(SecretValue.text)),
            for: epochs.caller, PresenceAccess(.demanding, proof: proof))
    }

    private func isDemanded(_ answer: ItemResult<Int>) -> Bool {
        if case .needsPerson(.proofs) = answer { true } else { false }
    }

    @Test func `Updating an item that needs the user requires a proof whatever changes`() throws {
        try epochs.add("a", EpochStore.accessControl(.devicePasscode))
        #expect(try isDemanded(update("a", ItemChanges(), "other")))
        #expect(try isDemanded(update("a", ItemChanges(attributes: [.label: .text("l")]))))
        let proof = try epochs.passcodeProof()
        #expect(epochs.read("a", proof) == .value("value of a"))
        let labelled = ItemChanges(attributes: [.label: .text("l")])
        #expect(try !isDemanded(update("a", labelled, nil, proof)))
        #expect(epochs.read("a", proof) == .value("value of a"))
        #expect(try !isDemanded(update("a", ItemChanges(), "other", proof)))
        #expect(epochs.read("a", proof) == .value("other"))
        #expect(epochs.read("a").isDemand)
    }

    @Test func `An update changes nothing while one of its items requires a proof`() throws {
        try epochs.add("plain")
        try epochs.add("a", EpochStore.accessControl(.devicePasscode))
        let update = ItemUpdate(query: .generic(), changes: ItemChanges(), value: .text("other"))
        let answer = try epochs.store.update(
            update, for: epochs.caller, PresenceAccess(.demanding))
        #expect(isDemanded(answer))
        #expect(try epochs.value("plain") == "value of plain")
    }

    @Test func `An update adds an access control, and a class removes it`() throws {
        try epochs.add("a")
        var changes = ItemChanges()
        let accessControl = try EpochStore.accessControl(
            .devicePasscode, as: .whenPasscodeSetThisDeviceOnly)
        changes.accessControl = accessControl
        #expect(try !isDemanded(update("a", changes)))
        #expect(epochs.read("a") == .demanded([accessControl]))
        let proof = try epochs.passcodeProof()
        #expect(epochs.read("a", proof) == .value("value of a"))
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(try isDemanded(update("a", plain)))
        #expect(try !isDemanded(update("a", plain, nil, proof)))
        #expect(try epochs.value("a") == "value of a")
        let item = try #require(try epochs.items(.exact("a")).first)
        #expect(item.accessControl == nil && item.protectionClass == .whenUnlocked)
    }

    @Test func `Reporting a duplicate of an item that needs the user requires a proof`() throws {
        try epochs.add("a", EpochStore.accessControl(.devicePasscode))
        let addition = Addition(.generic("a"), value: .text("other"))
        func add(_ proof: PresenceProof? = nil) throws -> ItemResult<StoredItem> {
            try epochs.store.add(
                addition, for: epochs.caller, PresenceAccess(.demanding, proof: proof))
        }
        guard case .needsPerson(.proofs) = try add() else {
            Issue.record("nothing was demanded")
            return
        }
        let proof = try epochs.passcodeProof()
        #expect(epochs.code { _ = try add(proof) } == .duplicateItem)
        #expect(epochs.code { try epochs.add("a") } == .duplicateItem)
        #expect(epochs.read("a", proof) == .value("value of a"))
    }

    /// spec/secitem.md §10.7: changed fingers.
    @Test func `An item of other fingers counts as gone and can be replaced`() throws {
        let accessControl = try EpochStore.accessControl(.biometryCurrentSet, [1])
        try epochs.add("a", accessControl)
        let changed = PresenceAccess.Enrolment.known([[2]])
        #expect(epochs.read("a", enrolment: changed) == .failed(.itemNotFound))
        #expect(epochs.read("a") == .demanded([accessControl]))
        #expect(
            try !epochs.store.get(
                epochs.store.contains(.exact("a"), for: epochs.caller, enrolment: changed)))
        for enrolment in [PresenceAccess.Enrolment.known([[1]]), .known([])] {
            #expect(
                try epochs.store.get(
                    epochs.store.contains(.exact("a"), for: epochs.caller, enrolment: enrolment)))
        }
        let next = EpochStore.item("a", try EpochStore.accessControl(.biometryCurrentSet, [2]))
        let access = PresenceAccess(.naming, enrolment: changed)
        guard
            case .found = try epochs.store.add(
                Addition(next, value: .text("second")), for: epochs.caller, access)
        else {
            Issue.record("something was demanded")
            return
        }
        #expect(epochs.read("a", try epochs.fingerProof([2])) == .value("second"))
        #expect(try epochs.delete(.exact("a")) == 1)
    }

    @Test func `A proof of other fingers does not make an item count as gone`() throws {
        let accessControl = try EpochStore.accessControl(.biometryCurrentSet, [1])
        try epochs.add("a", accessControl)
        let other = try epochs.fingerProof([2])
        for enrolment in [PresenceAccess.Enrolment.unknown, .known([[1]]), .known([])] {
            let access = PresenceAccess(.demanding, proof: other, enrolment: enrolment)
            #expect(epochs.look("a", .value, access) == .demanded([accessControl]))
            let addition = Addition(EpochStore.item("a", accessControl), value: .text("b"))
            let added = try epochs.store.add(addition, for: epochs.caller, access)
            guard case .needsPerson(.proofs([accessControl])) = added else {
                Issue.record("it made way: \(enrolment)")
                return
            }
        }
        #expect(epochs.read("a", try epochs.fingerProof([1])) == .value("value of a"))
    }

    @Test func `An item of other fingers is deleted without a proof`() throws {
        try epochs.add("a", EpochStore.accessControl(.biometryCurrentSet, [1]))
        #expect(try epochs.delete(.exact("a")) == 1)
    }

    @Test func `Setting an item again binds it to the present fingers`() throws {
        try epochs.add("a", EpochStore.accessControl(.biometryCurrentSet, [1]))
        let next = EpochStore.item("a", try EpochStore.accessControl(.biometryCurrentSet, [2]))
        try epochs.set(next, "second")
        #expect(epochs.read("a", try epochs.fingerProof([2])) == .value("second"))
    }

    @Test func `After a change of fingers the passcode still opens an item that accepts it`() throws
    {
        let accessControl = try EpochStore.accessControl(
            [.biometryCurrentSet, .devicePasscode, .or], [1])
        try epochs.add("a", accessControl)
        let changed = PresenceAccess.Enrolment.known([[2]])
        #expect(epochs.read("a", enrolment: changed) == .demanded([accessControl]))
        let finger = try epochs.fingerProof([2])
        #expect(epochs.read("a", finger) == .demanded([accessControl]))
        #expect(
            epochs.read("a", try epochs.passcodeProof(), enrolment: changed)
                == .value("value of a"))
    }
}
