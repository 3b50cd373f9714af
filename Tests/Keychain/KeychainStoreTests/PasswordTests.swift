// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §5.5, decision 56.
@Suite struct `An item with an application's password` {
    private let keychain = TestKeychain()

    // Promise: 9.5
    @Test func `A sealed item opens with its application password alone`() throws {
        try keychain.addSealed("a", under: "own")
        #expect(try keychain.open("a") == .value("value of a"))
        #expect(try keychain.open("a", nil) == .locked(1))
        #expect(try keychain.open("a", "other") == .locked(1))
        try keychain.addSealed("b", under: "own")
        var access = PresenceAccess(.demanding)
        access.passwords = try keychain.passwords(for: .exact("a"))
        let other = keychain.sealed {
            try keychain.store.value(of: .exact("b"), for: keychain.caller, access)
        }
        #expect(other == .locked(1))
    }

    /// The fast path opens no box, and gives none out for a value.
    @Test func `A sealed item is read by name with its application password`() throws {
        try keychain.addSealed("a")
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: .whenUnlocked)
        let name = PasswordName("a", in: service)
        var access = PresenceAccess(.demanding)
        for _ in 0..<2 {
            let closed = keychain.sealed {
                try keychain.store.value(of: name, for: keychain.caller, access)
            }
            #expect(closed == .locked(1))
        }
        access.passwords = try keychain.passwords()
        let open = keychain.sealed {
            try keychain.store.value(of: name, for: keychain.caller, access)
        }
        #expect(open == .value("value of a"))
        #expect(try keychain.store.contains(name, for: keychain.caller))
        #expect(
            failure {
                _ = try keychain.store.values(of: ["a"], in: service, for: keychain.caller)
            } == .interactionNotAllowed)
    }

    @Test func `A sealed item is found, listed and deleted without its application password`()
        throws
    {
        let item = try keychain.addSealed("a")
        #expect(item.valueByteCount == 10)
        #expect(try keychain.store.contains(.exact("a"), for: keychain.caller))
        let found = try keychain.store.copy(.exact("a"), .attributes, for: keychain.caller)
        #expect(try found.items.first?.valueByteCount == 10)
        #expect(try found.items.first?.accessControl?.takesPassword == true)
        #expect(try keychain.store.delete(.exact("a"), for: keychain.caller) == 1)
        #expect(try keychain.open("a") == .failed(.itemNotFound))
    }

    @Test func `Calls that cannot ask for a password fail, and store nothing`() throws {
        let (store, caller) = (keychain.store, keychain.caller)
        let item = TestKeychain.item("a", try TestKeychain.accessControl(.applicationPassword))
        let addition = Addition(item, value: .text("value"))
        let calls: [() throws -> Void] = [
            { try store.set(addition, for: caller) },
            { try store.set([addition], for: caller) },
            { try store.replace(.exact("a"), with: addition, for: caller) },
            { try store.perform(ItemTransfer(additions: [addition]), for: caller) },
        ]
        for call in calls {
            let failure = #expect(throws: KeychainFailure.self) { try call() }
            #expect(failure?.code == .interactionNotAllowed)
            #expect(failure?.message.contains("application password") == true)
            #expect(try keychain.open("a") == .failed(.itemNotFound))
        }
    }

    @Test func `Adding a sealed item requires a password, but not without a value`() throws {
        let accessControl = try TestKeychain.accessControl(.applicationPassword)
        func add(_ account: String, _ value: String?) -> Sealed {
            let addition = Addition(
                TestKeychain.item(account, accessControl), value: value.map(SecretValue.text))
            return keychain.sealed {
                try keychain.store.add(addition, for: keychain.caller, PresenceAccess(.demanding))
                    .map { _ in nil }
            }
        }
        #expect(add("a", "value") == .new)
        #expect(try keychain.open("a") == .failed(.itemNotFound))
        #expect(add("a", nil) == .value(nil))
        #expect(try keychain.open("a", nil) == .value(nil))
        // Nobody is asked for a password in vain.
        #expect(add("a", "value") == .failed(.duplicateItem))
        #expect(keychain.update("a", to: "value") == .new)
    }

    // Promise: 9.6
    @Test func `A sealed item that requires the user needs password and proof`() throws {
        try keychain.store.keychain.setPasscode(TestKeychain.passcode(TestKeychain.passcode))
        let joined: [AccessControl.Constraints] = [
            .devicePasscode, .userPresence, [.biometryAny, .or, .devicePasscode],
            [.biometryAny, .and, .devicePasscode],
        ]
        for (index, constraints) in joined.enumerated() {
            let account = "\(index)"
            try keychain.addSealed(account, under: "own", constraints)
            let demand = try TestKeychain.accessControl(
                constraints.union(.applicationPassword))
            #expect(try keychain.open(account) == .demanded([demand]))
            let proof = try keychain.passcodeProof().adding(keychain.fingerProof())
            #expect(try keychain.open(account, nil, proof) == .locked(1))
            #expect(try keychain.open(account, "other", proof) == .locked(1))
            #expect(try keychain.open(account, "own", proof) == .value("value of \(account)"))
            // A proof that has opened a value once does not do without the password.
            #expect(try keychain.open(account, nil, proof) == .locked(1))
        }
    }

    // Promise: 9.7
    @Test func `A sealed item keeps its box through every key change`() throws {
        let item = try keychain.addSealed("a")
        let box = try keychain.box(item)
        try keychain.store.keychain.rotateKeys(nil)
        #expect(try keychain.box(item) == box)
        #expect(try keychain.open("a") == .value("value of a"))
        let passcode = try TestKeychain.passcode(TestKeychain.passcode)
        try keychain.store.keychain.setPasscode(passcode)
        try keychain.addSealed("b", under: "own", .devicePasscode)
        #expect(try keychain.open("a") == .value("value of a"))
        try keychain.store.keychain.rotateKeys(passcode)
        let proof = try keychain.passcodeProof()
        #expect(try keychain.open("b", "own", proof) == .value("value of b"))
        try keychain.store.keychain.removePasscode(passcode)
        #expect(try keychain.box(item) == box)
        #expect(try keychain.open("a") == .value("value of a"))
        #expect(try keychain.open("b") == .failed(.itemNotFound))
        #expect(keychain.damage().isEmpty)
    }

    @Test func `A sealed item is left out of a backup and counted`() throws {
        try keychain.addSealed("a")
        try keychain.add(.generic("b"))
        let report = try keychain.backUp(to: BackupPath())
        #expect(report.accessControlledCount == 1 && report.itemCount == 1)
    }

    @Test func `A sealed item cannot be synchronizable`() throws {
        var item = TestKeychain.item("a", try TestKeychain.accessControl(.applicationPassword))
        item.isSynchronizable = true
        #expect(failure { try keychain.add(item) } == .invalidRequest)
    }

    @Test func `Doctor reports a sealed item without opening it`() throws {
        try keychain.addSealed("a")
        let messages = keychain.store.keychain.diagnose().map(\.message)
        #expect(
            messages.contains("values that need the user or a password, not opened here: 1"))
        #expect(keychain.damage().isEmpty)
    }

    // Promise: 9.7
    /// Where no password can be had, nothing is stored without one, and nothing is lost.
    @Test func `A sealed item is not overwritten without a password`() throws {
        try keychain.addSealed("a")
        let item = TestKeychain.item("a", nil)
        #expect(failure { try keychain.set(item, "second") } == .interactionNotAllowed)
        let guarded = TestKeychain.item("c", try TestKeychain.accessControl(.applicationPassword))
        #expect(failure { try keychain.set(guarded, "x") } == .interactionNotAllowed)
        #expect(failure { try keychain.add(guarded) } == .interactionNotAllowed)
        #expect(try keychain.open("c") == .failed(.itemNotFound))
        #expect(try keychain.open("a") == .value("value of a"))
    }

    // Promise: 9.7
    @Test(arguments: [AccessControl.Constraints.applicationPassword, .devicePasscode])
    func `Storing in another place does not take an access control away`(
        _ constraints: AccessControl.Constraints
    ) throws {
        let keychain = try TestKeychain.withPasscode()
        let isSealed = constraints == .applicationPassword
        if isSealed {
            try keychain.addSealed("a")
        } else {
            try keychain.add("a", TestKeychain.accessControl(constraints))
        }
        func service(_ name: String, _ isShared: Bool, _ protectionClass: ProtectionClass)
            -> PasswordService
        {
            PasswordService(
                service: name, accessGroup: nil, isSynchronizable: isShared,
                protectionClass: protectionClass)
        }
        let old = service("service", false, .whenUnlocked)
        let others = [
            service("service", false, .afterFirstUnlock), service("other", true, .whenUnlocked),
            service("other", false, .whenUnlocked),
        ]
        for new in others {
            let placement = Placement("a", .text("new"), among: [old]) { _ in
                .move(from: old, to: new)
            }
            let code = failure { _ = try keychain.store.place(placement, for: keychain.caller) }
            #expect(code == .interactionNotAllowed)
        }
        if isSealed {
            #expect(try keychain.open("a") == .value("value of a"))
        } else {
            #expect(keychain.read("a").isDemand)
            #expect(try keychain.read("a", keychain.passcodeProof()) == .value("value of a"))
        }
    }

    // Promise: 9.7
    @Test func `A sealed item is moved with the value that was read`() throws {
        let item = try keychain.addSealed("a")
        let version = ItemVersion(item.reference, modificationDate: item.date(.modificationDate))
        let target = NewItem.generic("a", as: .afterFirstUnlock)
        func move(_ value: SecretValue?) throws {
            try keychain.store.perform(
                ItemTransfer(changes: [.init(version, to: target, value: value)]),
                for: keychain.caller)
        }
        #expect(failure { try move(nil) } == .interactionNotAllowed)
        #expect(try keychain.open("a") == .value("value of a"))
        try move(.text("value of a"))
        #expect(try keychain.value("a") == "value of a")
    }
}

/// decision 56, the table.
@Suite struct `An update of an item with a password` {
    private let keychain = TestKeychain()

    private func access(_ text: String? = nil, new: String? = nil) throws -> PresenceAccess {
        var access = PresenceAccess(.demanding)
        if let text { access.passwords = try keychain.passwords(text) }
        access.newPassword = try new.map(TestKeychain.newPassword)
        return access
    }

    private func changes(_ constraints: AccessControl.Constraints) throws -> ItemChanges {
        var changes = ItemChanges()
        changes.accessControl = try TestKeychain.accessControl(constraints)
        return changes
    }

    // Promise: 9.7
    @Test func `Updating attributes of a sealed item needs no password and keeps the box`() throws {
        let item = try keychain.addSealed("a")
        let box = try keychain.box(item)
        let renamed = ItemChanges(attributes: [.account: .text("b"), .label: .text("label")])
        #expect(keychain.update("a", renamed) == .value(nil))
        #expect(keychain.update("b", try changes(.applicationPassword)) == .value(nil))
        #expect(try keychain.box(item) == box)
        #expect(try keychain.open("b") == .value("value of a"))
    }

    // Promise: 9.8
    @Test func `Updating the value of a sealed item keeps its password`() throws {
        let item = try keychain.addSealed("a")
        let box = try keychain.box(item)
        #expect(keychain.update("a", to: "second") == .locked(1))
        #expect(keychain.update("a", to: "second", try access("other", new: "x")) == .locked(1))
        #expect(try keychain.open("a") == .value("value of a"))
        #expect(keychain.update("a", to: "second!!!!", try access("own")) == .value(nil))
        #expect(try keychain.open("a") == .value("second!!!!"))
        // The same key, and another nonce.
        let second = try keychain.box(item)
        #expect(second.prefix(58) == box.prefix(58) && second[58..<82] != box[58..<82])
    }

    @Test func `Updating a sealed item with an access control gives it another password`() throws {
        try keychain.addSealed("a")
        let changes = try changes(.applicationPassword)
        #expect(keychain.update("a", changes, to: "second") == .new)
        #expect(keychain.update("a", changes, to: "second", try access(new: "x")) == .value(nil))
        #expect(try keychain.open("a") == .locked(1))
        #expect(try keychain.open("a", "x") == .value("second"))
    }

    @Test func `An update seals an item and removes the seal again`() throws {
        try keychain.add("a")
        let changes = try changes(.applicationPassword)
        #expect(keychain.update("a", changes) == .new)
        #expect(try keychain.value("a") == "value of a")
        #expect(keychain.update("a", changes, try access(new: "own")) == .value(nil))
        #expect(try keychain.open("a", nil) == .locked(1))
        #expect(try keychain.open("a") == .value("value of a"))
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(keychain.update("a", plain) == .locked(1))
        #expect(keychain.update("a", plain, try access("other")) == .locked(1))
        #expect(keychain.update("a", plain, try access("own")) == .value(nil))
        #expect(try keychain.value("a") == "value of a")
    }

    @Test func `Replacing no value by a value needs no password`() throws {
        try keychain.addSealed("a")
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(keychain.update("a", plain, to: "second") == .value(nil))
        #expect(try keychain.value("a") == "second")
    }

    @Test func `An update of several sealed items changes all or none`() throws {
        try keychain.addSealed("a", under: "own")
        try keychain.addSealed("b", under: "other")
        let update = ItemUpdate(
            query: .generic(), changes: ItemChanges(), value: .text("second"))
        func run(_ access: PresenceAccess) -> Sealed {
            keychain.sealed {
                try keychain.store.update(update, for: keychain.caller, access).map { _ in nil }
            }
        }
        #expect(run(PresenceAccess(.demanding)) == .locked(2))
        var access = try access("own")
        #expect(run(access) == .locked(1))
        #expect(try keychain.open("a") == .value("value of a"))
        access.passwords += try keychain.passwords("other")
        #expect(run(access) == .value(nil))
        #expect(try keychain.open("a") == .value("second"))
        #expect(try keychain.open("b", "other") == .value("second"))
    }
}

/// docs/FORMAT.md §5.5: what each field of a box is good for.
@Suite struct `The box of an application's password` {
    private let keychain = TestKeychain()

    /// What a reader says of a box with one bit of a byte turned by a holder of the class key.
    static let fields: [(name: String, offset: Int, outcome: Sealed)] = [
        ("version", 0, .failed(.damaged)), ("salt", 1, .locked(1)), ("salt", 16, .locked(1)),
        ("memory", 17, .failed(.damaged)), ("memory, within bounds", 20, .locked(1)),
        ("passes", 21, .failed(.damaged)), ("passes, below", 24, .failed(.damaged)),
        ("lanes", 25, .failed(.damaged)), ("commitment", 26, .locked(1)),
        ("commitment", 57, .locked(1)), ("nonce", 58, .failed(.damaged)),
        ("ciphertext", 82, .failed(.damaged)), ("tag", 107, .failed(.damaged)),
    ]

    // Promise: 9.5
    @Test(arguments: fields.indices)
    func `A box with a changed field is damaged, or its password is wrong`(_ index: Int) throws {
        let (name, offset, outcome) = Self.fields[index]
        let item = try keychain.addSealed("a")
        var box = try keychain.box(item)
        #expect(box.count == 108)
        // Tests stretch at less than the lowest cost, beside which nothing is within bounds.
        let lowest: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 3]
        if (17..<25).contains(offset) { box.replaceSubrange(17..<25, with: lowest) }
        box[offset] ^= 1
        try keychain.rewrite(item, box: box)
        #expect(try keychain.open("a") == outcome, "\(name)")
    }

    @Test func `A box of another length is damaged`() throws {
        let item = try keychain.addSealed("a")
        let box = try keychain.box(item)
        for changed in [box.dropLast(), box + [0], []] {
            try keychain.rewrite(item, box: Array(changed))
            #expect(try keychain.open("a") == .failed(.damaged))
            #expect(!keychain.damage().isEmpty)
        }
        try keychain.rewrite(item, box: box)
        #expect(try keychain.open("a") == .value("value of a"))
    }

    // Promise: 9.5
    @Test func `A box does not open in another row`() throws {
        let (one, two) = (try keychain.addSealed("a"), try keychain.addSealed("b"))
        try keychain.rewrite(two, box: try keychain.box(one))
        #expect(try keychain.open("b") == .locked(1))
        #expect(try keychain.open("a") == .value("value of a"))
    }

    static let splices: [(name: String, sql: StaticString)] = [
        ("no password", "UPDATE item SET flags = 0 WHERE number = ?1"),
        ("a person", "UPDATE item SET flags = flags | 256 WHERE number = ?1"),
        ("synchronizable", "UPDATE item SET flags = flags | 1 WHERE number = ?1"),
        ("V taken away", "UPDATE item SET secret = NULL WHERE number = ?1"),
        ("V cut", "UPDATE item SET secret = substr(secret, 2) WHERE number = ?1"),
        (
            "V of another",
            """
            UPDATE item SET secret = (SELECT max(secret) FROM item WHERE number <> ?1)
            WHERE number = ?1
            """
        ),
    ]

    // Promise: 9.5
    @Test(arguments: splices.indices)
    func `A box with parts of another one is damaged`(_ index: Int) throws {
        let item = try keychain.addSealed("a")
        try keychain.addSealed("b")
        try keychain.tamper(Self.splices[index].sql, item.parameter)
        keychain.store.close()
        #expect(try keychain.open("a") == .failed(.damaged), "\(Self.splices[index].name)")
        #expect(!keychain.damage().isEmpty)
    }

    @Test func `Items with one application password have different box keys`() throws {
        let password = try TestKeychain.newPassword("own")
        let boxes = try ["a", "b"].map { account in
            var access = PresenceAccess(.demanding)
            access.newPassword = password
            let accessControl = try TestKeychain.accessControl(.applicationPassword)
            let addition = Addition(TestKeychain.item(account, accessControl), value: .text("x"))
            guard
                case .found(let item) = try keychain.store.add(
                    addition, for: keychain.caller, access)
            else { throw KeychainFailure(.internalFault, during: "add") }
            return try keychain.box(item)
        }
        #expect(boxes[0][1..<26] == boxes[1][1..<26])
        #expect(boxes[0][26..<58] != boxes[1][26..<58])
    }

    @Test(arguments: [0, 1025])
    func `A box refuses an empty or overlong password`(_ count: Int) throws {
        let text = String(repeating: "x", count: count)
        #expect(failure { _ = try TestKeychain.newPassword(text) } == .invalidRequest)
    }

    @Test func `A box holds values of every size`() throws {
        let password = try TestKeychain.newPassword("own")
        let item = BoxedItem(keychainID: .random(), itemID: [UInt8](repeating: 1, count: 16))
        for count in [0, 1, 926, 927, 70_000] {
            let value = SecretValue.bytes([UInt8](repeating: 7, count: count))
            let made = PasswordBox.seal(value, of: item, with: password)
            #expect(made.byteCount == count + PasswordBox.overhead)
            let box = try PasswordBox(made, of: item, valueByteCount: count)
            #expect(try box.open(with: password).array == value.array)
            #expect(throws: SystemError.row(.damagedContent)) {
                _ = try PasswordBox(made, of: item, valueByteCount: count + 1)
            }
        }
    }
}
