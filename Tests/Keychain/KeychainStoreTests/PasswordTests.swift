// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §5.5, decision 56.
@Suite struct `An item with an application's password` {
    private let epochs = EpochStore()

    @Test func `A sealed item opens with its application password alone`() throws {
        try epochs.addSealed("a", under: "own")
        #expect(try epochs.open("a") == .value("value of a"))
        #expect(try epochs.open("a", nil) == .locked(1))
        #expect(try epochs.open("a", "other") == .locked(1))
        try epochs.addSealed("b", under: "own")
        var access = PresenceAccess(.demanding)
        access.passwords = try epochs.passwords(for: .exact("a"))
        let other = epochs.sealed {
            try epochs.store.value(of: .exact("b"), for: epochs.caller, access)
        }
        #expect(other == .locked(1))
    }

    /// The fast path opens no box, and gives none out for a value.
    @Test func `A sealed item is read by name with its application password`() throws {
        try epochs.addSealed("a")
        let service = PasswordService(
            service: "service", accessGroup: nil, isSynchronizable: false,
            protectionClass: .whenUnlocked)
        let name = PasswordName("a", in: service)
        var access = PresenceAccess(.demanding)
        for _ in 0..<2 {
            let closed = epochs.sealed {
                try epochs.store.value(of: name, for: epochs.caller, access)
            }
            #expect(closed == .locked(1))
        }
        access.passwords = try epochs.passwords()
        let open = epochs.sealed {
            try epochs.store.value(of: name, for: epochs.caller, access)
        }
        #expect(open == .value("value of a"))
        #expect(try epochs.store.contains(name, for: epochs.caller))
        #expect(
            epochs.code {
                _ = try epochs.store.values(of: ["a"], in: service, for: epochs.caller)
            } == .interactionNotAllowed)
    }

    @Test func `A sealed item is found, listed and deleted without its application password`()
        throws
    {
        let item = try epochs.addSealed("a")
        #expect(item.valueByteCount == 10)
        #expect(try epochs.store.contains(.exact("a"), for: epochs.caller))
        let found = try epochs.store.copy(.exact("a"), .attributes, for: epochs.caller)
        #expect(try found.items.first?.valueByteCount == 10)
        #expect(try found.items.first?.accessControl?.takesPassword == true)
        #expect(try epochs.store.delete(.exact("a"), for: epochs.caller) == 1)
        #expect(try epochs.open("a") == .failed(.itemNotFound))
    }

    @Test func `Calls that cannot ask for a password fail, and store nothing`() throws {
        let (store, caller) = (epochs.store, epochs.caller)
        let item = EpochStore.item("a", try EpochStore.accessControl(.applicationPassword))
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
            #expect(try epochs.open("a") == .failed(.itemNotFound))
        }
    }

    @Test func `Adding a sealed item requires a password, but not without a value`() throws {
        let accessControl = try EpochStore.accessControl(.applicationPassword)
        func add(_ account: String, _ value: String?) -> Sealed {
            let addition = Addition(
                EpochStore.item(account, accessControl), value: value.map(SecretValue.text))
            return epochs.sealed {
                try epochs.store.add(addition, for: epochs.caller, PresenceAccess(.demanding))
                    .map { _ in nil }
            }
        }
        #expect(add("a", "value") == .new)
        #expect(try epochs.open("a") == .failed(.itemNotFound))
        #expect(add("a", nil) == .value(nil))
        #expect(try epochs.open("a", nil) == .value(nil))
        // Nobody is asked for a password in vain.
        #expect(add("a", "value") == .failed(.duplicateItem))
        #expect(epochs.update("a", to: "value") == .new)
    }

    @Test func `A sealed item that requires the user needs password and proof`() throws {
        try epochs.store.keychain.setPasscode(EpochStore.passcode(EpochStore.typed))
        let joined: [AccessControl.Constraints] = [
            .devicePasscode, .userPresence, [.biometryAny, .or, .devicePasscode],
            [.biometryAny, .and, .devicePasscode],
        ]
        for (index, constraints) in joined.enumerated() {
            let account = "\(index)"
            try epochs.addSealed(account, under: "own", constraints)
            let demand = try EpochStore.accessControl(
                constraints.union(.applicationPassword))
            #expect(try epochs.open(account) == .demanded([demand]))
            let proof = try epochs.passcodeProof().adding(epochs.fingerProof())
            #expect(try epochs.open(account, nil, proof) == .locked(1))
            #expect(try epochs.open(account, "other", proof) == .locked(1))
            #expect(try epochs.open(account, "own", proof) == .value("value of \(account)"))
            // A proof that has opened a value once does not do without the password.
            #expect(try epochs.open(account, nil, proof) == .locked(1))
        }
    }

    @Test func `A sealed item keeps its box through every key change`() throws {
        let item = try epochs.addSealed("a")
        let box = try epochs.box(item)
        try epochs.store.keychain.rotateKeys(nil)
        #expect(try epochs.box(item) == box)
        #expect(try epochs.open("a") == .value("value of a"))
        let passcode = try EpochStore.passcode(EpochStore.typed)
        try epochs.store.keychain.setPasscode(passcode)
        try epochs.addSealed("b", under: "own", .devicePasscode)
        #expect(try epochs.open("a") == .value("value of a"))
        try epochs.store.keychain.rotateKeys(passcode)
        let proof = try epochs.passcodeProof()
        #expect(try epochs.open("b", "own", proof) == .value("value of b"))
        try epochs.store.keychain.removePasscode(passcode)
        #expect(try epochs.box(item) == box)
        #expect(try epochs.open("a") == .value("value of a"))
        #expect(try epochs.open("b") == .failed(.itemNotFound))
        #expect(epochs.keychain.damage().isEmpty)
    }

    @Test func `A sealed item is left out of a backup and counted`() throws {
        try epochs.addSealed("a")
        try epochs.keychain.add(.generic("b"))
        let report = try epochs.keychain.backUp(to: BackupPath())
        #expect(report.accessControlledCount == 1 && report.itemCount == 1)
    }

    @Test func `A sealed item cannot be synchronizable`() throws {
        var item = EpochStore.item("a", try EpochStore.accessControl(.applicationPassword))
        item.isSynchronizable = true
        #expect(epochs.code { try epochs.keychain.add(item) } == .invalidRequest)
    }

    @Test func `Doctor reports a sealed item without opening it`() throws {
        try epochs.addSealed("a")
        let messages = epochs.store.keychain.diagnose().map(\.message)
        #expect(
            messages.contains("values that need the user or a password, not opened here: 1"))
        #expect(epochs.keychain.damage().isEmpty)
    }

    /// Where no password can be had, nothing is stored without one, and nothing is lost.
    @Test func `A sealed item is not overwritten without a password`() throws {
        try epochs.addSealed("a")
        let item = EpochStore.item("a", nil)
        #expect(epochs.code { try epochs.keychain.set(item, "second") } == .interactionNotAllowed)
        let guarded = EpochStore.item("c", try EpochStore.accessControl(.applicationPassword))
        #expect(epochs.code { try epochs.keychain.set(guarded, "x") } == .interactionNotAllowed)
        #expect(epochs.code { try epochs.keychain.add(guarded) } == .interactionNotAllowed)
        #expect(try epochs.open("c") == .failed(.itemNotFound))
        #expect(try epochs.open("a") == .value("value of a"))
    }

    @Test func `A sealed item is moved with the value that was read`() throws {
        let item = try epochs.addSealed("a")
        let version = ItemVersion(item.reference, modificationDate: item.date(.modificationDate))
        let target = NewItem.generic("a", as: .afterFirstUnlock)
        func move(_ value: SecretValue?) throws {
            try epochs.store.perform(
                ItemTransfer(changes: [.init(version, to: target, value: value)]),
                for: epochs.caller)
        }
        #expect(epochs.code { try move(nil) } == .interactionNotAllowed)
        #expect(try epochs.open("a") == .value("value of a"))
        try move(.text("value of a"))
        #expect(try epochs.value("a") == "value of a")
    }
}

/// decision 56, the table.
@Suite struct `An update of an item with a password` {
    private let epochs = EpochStore()

    private func access(_ text: String? = nil, new: String? = nil) throws -> PresenceAccess {
        var access = PresenceAccess(.demanding)
        if let text { access.passwords = try epochs.passwords(text) }
        access.newPassword = try new.map(EpochStore.newPassword)
        return access
    }

    private func changes(_ constraints: AccessControl.Constraints) throws -> ItemChanges {
        var changes = ItemChanges()
        changes.accessControl = try EpochStore.accessControl(constraints)
        return changes
    }

    @Test func `Updating attributes of a sealed item needs no password and keeps the box`() throws {
        let item = try epochs.addSealed("a")
        let box = try epochs.box(item)
        let renamed = ItemChanges(attributes: [.account: .text("b"), .label: .text("label")])
        #expect(epochs.update("a", renamed) == .value(nil))
        #expect(epochs.update("b", try changes(.applicationPassword)) == .value(nil))
        #expect(try epochs.box(item) == box)
        #expect(try epochs.open("b") == .value("value of a"))
    }

    @Test func `Updating the value of a sealed item keeps its password`() throws {
        let item = try epochs.addSealed("a")
        let box = try epochs.box(item)
        #expect(epochs.update("a", to: "second") == .locked(1))
        #expect(epochs.update("a", to: "second", try access("other", new: "x")) == .locked(1))
        #expect(try epochs.open("a") == .value("value of a"))
        #expect(epochs.update("a", to: "second!!!!", try access("own")) == .value(nil))
        #expect(try epochs.open("a") == .value("second!!!!"))
        // The same key, and another nonce.
        let second = try epochs.box(item)
        #expect(second.prefix(58) == box.prefix(58) && second[58..<82] != box[58..<82])
    }

    @Test func `Updating a sealed item with an access control gives it another password`() throws {
        try epochs.addSealed("a")
        let changes = try changes(.applicationPassword)
        #expect(epochs.update("a", changes, to: "second") == .new)
        #expect(epochs.update("a", changes, to: "second", try access(new: "x")) == .value(nil))
        #expect(try epochs.open("a") == .locked(1))
        #expect(try epochs.open("a", "x") == .value("second"))
    }

    @Test func `An update seals an item and removes the seal again`() throws {
        try epochs.add("a")
        let changes = try changes(.applicationPassword)
        #expect(epochs.update("a", changes) == .new)
        #expect(try epochs.value("a") == "value of a")
        #expect(epochs.update("a", changes, try access(new: "own")) == .value(nil))
        #expect(try epochs.open("a", nil) == .locked(1))
        #expect(try epochs.open("a") == .value("value of a"))
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(epochs.update("a", plain) == .locked(1))
        #expect(epochs.update("a", plain, try access("other")) == .locked(1))
        #expect(epochs.update("a", plain, try access("own")) == .value(nil))
        #expect(try epochs.value("a") == "value of a")
    }

    @Test func `Replacing no value by a value needs no password`() throws {
        try epochs.addSealed("a")
        let plain = ItemChanges(protectionClass: .whenUnlocked)
        #expect(epochs.update("a", plain, to: "second") == .value(nil))
        #expect(try epochs.value("a") == "second")
    }

    @Test func `An update of several sealed items changes all or none`() throws {
        try epochs.addSealed("a", under: "own")
        try epochs.addSealed("b", under: "other")
        let update = ItemUpdate(
            query: .generic(), changes: ItemChanges(), value: .text("second"))
        func run(_ access: PresenceAccess) -> Sealed {
            epochs.sealed {
                try epochs.store.update(update, for: epochs.caller, access).map { _ in nil }
            }
        }
        #expect(run(PresenceAccess(.demanding)) == .locked(2))
        var access = try access("own")
        #expect(run(access) == .locked(1))
        #expect(try epochs.open("a") == .value("value of a"))
        access.passwords += try epochs.passwords("other")
        #expect(run(access) == .value(nil))
        #expect(try epochs.open("a") == .value("second"))
        #expect(try epochs.open("b", "other") == .value("second"))
    }
}

/// docs/FORMAT.md §5.5: what each field of a box is good for.
@Suite struct `The box of an application's password` {
    private let epochs = EpochStore()

    /// What a reader says of a box with one bit of a byte turned by a holder of the class key.
    static let fields: [(name: String, offset: Int, outcome: Sealed)] = [
        ("version", 0, .failed(.damaged)), ("salt", 1, .locked(1)), ("salt", 16, .locked(1)),
        ("memory", 17, .failed(.damaged)), ("memory, within bounds", 20, .locked(1)),
        ("passes", 21, .failed(.damaged)), ("passes, below", 24, .failed(.damaged)),
        ("lanes", 25, .failed(.damaged)), ("commitment", 26, .locked(1)),
        ("commitment", 57, .locked(1)), ("nonce", 58, .failed(.damaged)),
        ("ciphertext", 82, .failed(.damaged)), ("tag", 107, .failed(.damaged)),
    ]

    @Test(arguments: fields.indices)
    func `A box with a changed field is damaged, or its password is wrong`(_ index: Int) throws {
        let (name, offset, outcome) = Self.fields[index]
        let item = try epochs.addSealed("a")
        var box = try epochs.box(item)
        #expect(box.count == 108)
        // Tests stretch at less than the lowest cost, beside which nothing is within bounds.
        let lowest: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 3]
        if (17..<25).contains(offset) { box.replaceSubrange(17..<25, with: lowest) }
        box[offset] ^= 1
        try epochs.rewrite(item, box: box)
        #expect(try epochs.open("a") == outcome, "\(name)")
    }

    @Test func `A box of another length is damaged`() throws {
        let item = try epochs.addSealed("a")
        let box = try epochs.box(item)
        for changed in [box.dropLast(), box + [0], []] {
            try epochs.rewrite(item, box: Array(changed))
            #expect(try epochs.open("a") == .failed(.damaged))
            #expect(!epochs.keychain.damage().isEmpty)
        }
        try epochs.rewrite(item, box: box)
        #expect(try epochs.open("a") == .value("value of a"))
    }

    @Test func `A box does not open in another row`() throws {
        let (one, two) = (try epochs.addSealed("a"), try epochs.addSealed("b"))
        try epochs.rewrite(two, box: try epochs.box(one))
        #expect(try epochs.open("b") == .locked(1))
        #expect(try epochs.open("a") == .value("value of a"))
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

    @Test(arguments: splices.indices)
    func `A box with parts of another one is damaged`(_ index: Int) throws {
        let item = try epochs.addSealed("a")
        try epochs.addSealed("b")
        try epochs.keychain.tamper(Self.splices[index].sql, item.parameter)
        epochs.store.close()
        #expect(try epochs.open("a") == .failed(.damaged), "\(Self.splices[index].name)")
        #expect(!epochs.keychain.damage().isEmpty)
    }

    @Test func `Items with one application password have different box keys`() throws {
        let password = try EpochStore.newPassword("own")
        let boxes = try ["a", "b"].map { account in
            var access = PresenceAccess(.demanding)
            access.newPassword = password
            let accessControl = try EpochStore.accessControl(.applicationPassword)
            let addition = Addition(EpochStore.item(account, accessControl), value: .text("x"))
            guard
                case .found(let item) = try epochs.store.add(
                    addition, for: epochs.caller, access)
            else { throw KeychainFailure(.internalFault, during: "add") }
            return try epochs.box(item)
        }
        #expect(boxes[0][1..<26] == boxes[1][1..<26])
        #expect(boxes[0][26..<58] != boxes[1][26..<58])
    }

    @Test(arguments: [0, 1025])
    func `A box refuses an empty or overlong password`(_ count: Int) throws {
        let text = String(repeating: "x", count: count)
        #expect(epochs.code { _ = try EpochStore.newPassword(text) } == .invalidRequest)
    }

    @Test func `A box holds values of every size`() throws {
        let password = try EpochStore.newPassword("own")
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
