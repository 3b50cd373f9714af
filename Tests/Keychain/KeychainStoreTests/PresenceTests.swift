// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/secitem.md §10, as far as the store has to do with it.
@Suite struct `An item that needs a person` {
    typealias Constraints = AccessControl.Constraints
    let epochs: TestKeychain

    init() throws { epochs = try TestKeychain.withPasscode() }

    /// What opens an item, and what does not.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let constraints: Constraints
        /// Nothing, passcode, a finger of the set it was added under, both.
        let opens: [Bool]

        init(_ name: String, _ constraints: Constraints, _ opens: [Bool]) {
            (testDescription, self.constraints, self.opens) = (name, constraints, opens)
        }
    }

    static let cases = [
        Case("default rule", [], [true, true, true, true]),
        Case("userPresence", .userPresence, [false, true, true, true]),
        Case("biometryAny", .biometryAny, [false, false, true, true]),
        Case("biometryCurrentSet", .biometryCurrentSet, [false, false, true, true]),
        Case("devicePasscode", .devicePasscode, [false, true, false, true]),
        Case("and", [.biometryAny, .devicePasscode, .and], [false, false, false, true]),
        Case("or", [.biometryAny, .devicePasscode, .or], [false, true, true, true]),
        Case(
            "current set or", [.biometryCurrentSet, .devicePasscode, .or],
            [false, true, true, true]),
        Case("companion or", [.companion, .devicePasscode, .or], [false, true, false, true]),
    ]

    // Promise: 9.2
    @Test(arguments: cases)
    func `An item that needs the user opens for exactly what it requires`(_ one: Case) throws {
        let accessControl = try TestKeychain.accessControl(one.constraints, [1])
        try epochs.add("a", accessControl)
        let (passcode, finger) = (try epochs.passcodeProof(), try epochs.fingerProof())
        let proofs = [nil, passcode, finger, passcode.adding(finger)]
        for (proof, opens) in zip(proofs, one.opens) {
            let expected: Reading = opens ? .value("value of a") : .demanded([accessControl])
            #expect(epochs.read("a", proof) == expected, "\(proof?.factors.rawValue ?? 0)")
        }
    }

    // Promise: 9.2
    /// spec/secitem.md §10.4.
    @Test(arguments: [[], .attributes, .value, [.attributes, .value]] as [ItemParts])
    func `A proof is required for such an item whatever is requested`(_ parts: ItemParts) throws {
        try epochs.add("a", TestKeychain.accessControl(.devicePasscode))
        #expect(epochs.look("a", parts, PresenceAccess(.demanding)).isDemand)
        #expect(epochs.look("a", parts, PresenceAccess(.skipping)) == .failed(.itemNotFound))
        let proof = try epochs.passcodeProof()
        let value: Reading = .value(parts.contains(.value) ? "value of a" : nil)
        #expect(epochs.look("a", parts, PresenceAccess(.demanding, proof: proof)) == value)
        #expect(epochs.look("a", parts, PresenceAccess(.skipping, proof: proof)) == value)
    }

    // Promise: 9.3
    /// spec/keys-and-states.md §8, case 14.
    @Test func `An item that needs the user is stored, found, listed and deleted without a proof`()
        throws
    {
        let accessControl = try TestKeychain.accessControl(
            .devicePasscode, as: .whenPasscodeSetThisDeviceOnly)
        try epochs.add("a", accessControl)
        try epochs.set(TestKeychain.item("a", accessControl), "second")
        try epochs.set(TestKeychain.item("b", accessControl), "new")
        #expect(try epochs.store.contains(.exact("a"), for: epochs.caller))
        let listed = epochs.look("a", .attributes, PresenceAccess(.naming))
        #expect(listed == .value(nil))
        let proof = try epochs.passcodeProof()
        #expect(epochs.read("a", proof) == .value("second"))
        #expect(epochs.read("b", proof) == .value("new"))
        #expect(try epochs.delete(.exact("a")) == 1)
        #expect(epochs.read("a") == .failed(.itemNotFound))
        #expect(epochs.damage() == [])
    }

    @Test func `An item that needs the user is found by name as by a search`() throws {
        try epochs.add("a", TestKeychain.accessControl(.userPresence))
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: .whenUnlocked)
        let name = PasswordName("a", in: service)
        #expect(try epochs.store.contains(name, for: epochs.caller))
        let proof = try epochs.passcodeProof()
        let access = PresenceAccess(.demanding, proof: proof)
        for _ in 0..<2 {
            #expect(
                failure { _ = try epochs.store.value(of: name, for: epochs.caller) }
                    == .interactionNotAllowed)
            guard
                case .found(let value) = try epochs.store.value(
                    of: name, for: epochs.caller, access)
            else {
                Issue.record("it was not opened")
                return
            }
            #expect(value?.array == Array("value of a".utf8))
        }
    }

    @Test func `Reading by name requires a sufficient proof from the user`() throws {
        let both = try TestKeychain.accessControl([.biometryAny, .devicePasscode])
        try epochs.add("a", both)
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: .whenUnlocked)
        func read(_ proof: PresenceProof?) throws -> [UInt8]? {
            let answer = try epochs.store.value(
                of: PasswordName("a", in: service), for: epochs.caller,
                PresenceAccess(.demanding, proof: proof))
            if case .needsPerson = answer { return nil }
            let value = try epochs.store.get(answer)
            return value?.array
        }
        let (passcode, finger) = (try epochs.passcodeProof(), try epochs.fingerProof())
        let enough = passcode.adding(finger)
        for _ in 0..<3 {
            #expect(try read(passcode) == nil)
            #expect(try read(finger) == nil)
            #expect(try read(nil) == nil)
            #expect(try read(enough) == Array("value of a".utf8))
        }
        try epochs.set(TestKeychain.item("a", both), "second")
        #expect(try read(passcode) == nil)
        #expect(try read(enough) == Array("second".utf8))
        try epochs.delete(.exact("a"))
        #expect(failure { _ = try read(enough) } == .itemNotFound)
    }

    @Test func `An item overwritten without an access control keeps its own`() throws {
        let accessControl = try TestKeychain.accessControl(.devicePasscode)
        try epochs.add("a", accessControl)
        try epochs.set(.generic("a"), "second")
        #expect(epochs.read("a") == .demanded([accessControl]))
        #expect(epochs.read("a", try epochs.passcodeProof()) == .value("second"))
    }

    @Test func `An item overwritten with an access control gets it`() throws {
        try epochs.set(.generic("a"), "first")
        let accessControl = try TestKeychain.accessControl(.devicePasscode)
        try epochs.set(TestKeychain.item("a", accessControl), "second")
        #expect(epochs.read("a") == .demanded([accessControl]))
    }

    /// spec/secitem.md §3.7: the whole call goes through authentication once per access control.
    @Test func `A search requires the proofs of all its items, each once`() throws {
        let (one, two) = (
            try TestKeychain.accessControl(.devicePasscode),
            try TestKeychain.accessControl(.biometryAny)
        )
        try epochs.add("plain")
        for (index, accessControl) in [one, two, one, two].enumerated() {
            try epochs.add("\(index)", accessControl)
        }
        let query = ItemQuery.generic()
        guard
            case .needsPerson(.proofs(let demands)) = try epochs.store.copy(
                query, .value, for: epochs.caller, PresenceAccess(.demanding))
        else {
            Issue.record("nothing was demanded")
            return
        }
        #expect(demands == [one, two])
        let proof = try epochs.passcodeProof().adding(epochs.fingerProof())
        guard
            case .found(let found) = try epochs.store.copy(
                query, .value, for: epochs.caller, PresenceAccess(.demanding, proof: proof))
        else {
            Issue.record("it was not enough")
            return
        }
        #expect(try found.items.count == 5)
        guard
            case .found(let some) = try epochs.store.copy(
                query, .value, for: epochs.caller,
                PresenceAccess(.skipping, proof: epochs.passcodeProof()))
        else {
            Issue.record("somebody was asked")
            return
        }
        let values = try some.items.compactMap(\.text).sorted()
        #expect(values == ["value of 0", "value of 2", "value of plain"])
    }

    static let refusals: [(Constraints, KeychainFailure.Code)] = [
        (.privateKeyUsage, .authenticationFailed),
        ([.privateKeyUsage, .devicePasscode], .authenticationFailed),
        (.companion, .authenticationFailed),
        ([.companion, .devicePasscode], .authenticationFailed),
        ([.applicationPassword, .companion], .authenticationFailed),
        ([.applicationPassword, .privateKeyUsage], .authenticationFailed),
        (.biometryCurrentSet, .authenticationFailed),
    ]

    // Promise: 15.4
    /// spec/secitem.md §10.3, §10.4, §10.6.
    @Test(arguments: refusals)
    func `An item that nobody could ever read is not added`(
        _ constraints: Constraints, _ code: KeychainFailure.Code
    ) throws {
        let accessControl = try TestKeychain.accessControl(constraints)
        #expect(failure { try epochs.add("a", accessControl) } == code)
        try epochs.add("b")
        #expect(
            failure {
                var changes = ItemChanges()
                changes.accessControl = accessControl
                try epochs.update(.exact("b"), changes)
            } == code)
        #expect(epochs.read("a") == .failed(.itemNotFound))
    }

    @Test func `An item that needs the user cannot be synchronizable`() throws {
        var item = TestKeychain.item("a", try TestKeychain.accessControl(.devicePasscode))
        item.isSynchronizable = true
        #expect(failure { try epochs.add(item) } == .invalidRequest)
        try epochs.add("b", TestKeychain.accessControl(.devicePasscode))
        let changes = ItemChanges(isSynchronizable: true)
        let update = ItemUpdate(query: .exact("b"), changes: changes, value: nil)
        let access = PresenceAccess(.demanding, proof: try epochs.passcodeProof())
        #expect(
            failure { _ = try epochs.store.update(update, for: epochs.caller, access) }
                == .invalidRequest)
    }

    // Promise: 15.4
    /// spec/secitem.md §9.5, §10.6: -25291.
    @Test func `An item that needs the user requires a passcode`() throws {
        let keychain = TestKeychain()
        let accessControl = try TestKeychain.accessControl(.userPresence)
        #expect(
            failure { try keychain.add(TestKeychain.item("a", accessControl)) } == .passcodeNotSet)
        try keychain.add(TestKeychain.item("b", try TestKeychain.accessControl([])))
        #expect(try keychain.value(.exact("b")) == "value")
    }

    @Test func `An item that needs the user does not leave in a backup`() throws {
        try epochs.add("a", TestKeychain.accessControl(.devicePasscode))
        try epochs.add("b", TestKeychain.accessControl([]))
        let report = try epochs.backUp(to: BackupPath())
        #expect(report.accessControlledCount == 1)
        #expect(report.itemCount == 1)
    }
}
