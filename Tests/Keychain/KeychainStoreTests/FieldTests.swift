// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

extension EntryFields {
    /// Secret fields, "name=value" each; not secret if a colon follows the name.
    static func of(_ texts: String...) -> EntryFields {
        let list = texts.map { text in
            let isSecret = !text.contains(":")
            let parts = text.split(separator: isSecret ? "=" : ":", maxSplits: 1).map(String.init)
            return EntryField(parts[0], isSecret: isSecret, .text(parts[1]))
        }
        return EntryFields(list.compactMap(\.self)) ?? EntryFields()
    }

    /// The form of ``of(_:)``.
    var texts: [String] {
        list.map { field in
            field.name + (field.isSecret ? "=" : ":")
                + String(decoding: field.value.array, as: UTF8.self)
        }
    }
}

extension TestKeychain {
    fileprivate func addEntry(
        _ account: String, _ value: String, _ fields: EntryFields,
        as protectionClass: ProtectionClass = .whenUnlocked
    ) throws {
        try store.set(
            Addition(.generic(account, as: protectionClass), value: .text(value), fields: fields),
            for: caller)
    }

    fileprivate func fields(_ account: String) throws -> [String] {
        try item(.exact(account))?.fields.texts ?? []
    }

    @discardableResult
    fileprivate func change(_ account: String, _ changes: [FieldChange]) throws -> Bool {
        let update = ItemUpdate(
            query: .exact(account), changes: ItemChanges(), value: nil, fields: changes)
        guard case .found = try store.update(update, for: caller, PresenceAccess(.demanding))
        else { return false }
        return true
    }
}

private func change(_ name: String, _ value: String, isSecret: Bool = true) -> FieldChange {
    guard let field = EntryField(name, isSecret: isSecret, .text(value)) else {
        preconditionFailure("no name of a field")
    }
    return .set(field)
}

/// docs/FORMAT.md §5.7.
@Suite struct `The fields of an entry` {
    private let keychain = TestKeychain()
    private static let some = EntryFields.of("username:anna", "otp=JBSWY3DP", "note=two\nlines")

    // Promise: 22.1
    @Test func `Readers of the value see the password alone`() throws {
        try keychain.addEntry("a", "password", Self.some)
        for _ in 0..<2 { #expect(try keychain.value(named: "a") == "password") }
        #expect(try keychain.value("a") == "password")
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.text == "password" && item.valueByteCount == 8)
        #expect(item.fields.texts == ["username:anna", "otp=JBSWY3DP", "note=two\nlines"])
        #expect(item.attributes[.fieldCount] == .number(3))
        let listed = try keychain.items(.exact("a"), .attributes)
        #expect(listed.first?.fields.isEmpty == true && listed.first?.valueByteCount == 8)
    }

    @Test func `An entry may have an empty password`() throws {
        try keychain.addEntry("a", "", .of("number=4111"))
        #expect(try keychain.value("a") == "")
        #expect(try keychain.fields("a") == ["number=4111"])
    }

    // Promise: 22.1
    @Test func `A new value keeps the fields, whoever writes it`() throws {
        try keychain.addEntry("a", "1", Self.some)
        let writes: [(String, () throws -> Void)] = [
            ("2", { try keychain.set(.generic("a"), "2") }),
            ("3", { try keychain.update(.exact("a"), ItemChanges(), "3") }),
            (
                "4",
                {
                    try keychain.store.replace(
                        .exact("a"), with: Addition(.generic("a"), value: .text("4")),
                        for: keychain.caller)
                }
            ),
            (
                "4",
                { try keychain.update(.exact("a"), ItemChanges(attributes: [.label: .text("l")])) }
            ),
        ]
        for (value, write) in writes {
            try write()
            #expect(try keychain.value("a") == value)
            #expect(try keychain.fields("a") == Self.some.texts)
        }
    }

    @Test func `Fields are added, changed and removed one by one`() throws {
        try keychain.add(.generic("a"), "password")
        try keychain.change("a", [change("pin", "1234")])
        try keychain.change("a", [change("username", "anna", isSecret: false)])
        try keychain.change("a", [change("pin", "9"), .remove("nothing")])
        #expect(try keychain.fields("a") == ["pin=9", "username:anna"])
        try keychain.change("a", [.remove("pin")])
        #expect(try keychain.fields("a") == ["username:anna"])
        try keychain.change("a", [.remove("username")])
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.fields.isEmpty && item.attributes[.fieldCount] == nil)
        #expect(item.text == "password")
        #expect(try keychain.row(item).header.flags == [])
    }

    // Promise: 22.1
    @Test func `A row with fields is sealed like any other, and longer`() throws {
        try keychain.addEntry("a", "password", Self.some)
        let row = try #require(try keychain.rows().first)
        #expect(row.header.flags == .fields)
        for needle in ["JBSWY3DP", "anna", "username"] {
            let bytes = row.names + (row.secret ?? [])
            #expect(!String(decoding: bytes, as: Unicode.ASCII.self).contains(needle))
        }
    }

    // Promise: 22.3
    @Test func `An item that requires the user or a password takes no fields`() throws {
        try keychain.add(.generic("a"), "password")
        let sealed = try TestKeychain.accessControl(.applicationPassword)
        let addition = Addition(
            TestKeychain.item("b", sealed), value: .text("v"), fields: Self.some)
        var access = PresenceAccess(.demanding)
        access.newPassword = try TestKeychain.newPassword("own")
        let permitted = access
        #expect(
            failure {
                _ = try keychain.store.add(addition, for: keychain.caller, permitted)
            } == .invalidRequest)
        try keychain.change("a", [change("pin", "1")])
        var guarding = ItemChanges()
        guarding.accessControl = sealed
        let update = ItemUpdate(query: .exact("a"), changes: guarding, value: nil)
        #expect(
            failure {
                _ = try keychain.store.update(update, for: keychain.caller, permitted)
            } == .invalidRequest)
        #expect(try keychain.value("a") == "password")
        #expect(try keychain.fields("a") == ["pin=1"])
    }

    @Test func `What is too large or too much is refused, and nothing changes`() throws {
        try keychain.addEntry("a", "password", Self.some)
        let large = String(repeating: "x", count: ItemStore.maximalValueByteCount)
        #expect(failure { try keychain.change("a", [change("x", large)]) } == .valueTooLarge)
        #expect(failure { try keychain.addEntry("b", large, Self.some) } == .valueTooLarge)
        let many = (0...EntryFields.maximalCount).map { change("\($0)", "x") }
        #expect(failure { try keychain.change("a", many) } == .invalidRequest)
        #expect(try keychain.fields("a") == Self.some.texts)
    }

    @Test func `A change of fields of an item without a value is refused`() throws {
        try keychain.add(.generic("a"), nil)
        #expect(failure { try keychain.change("a", [change("x", "y")]) } == .invalidRequest)
    }
}

/// docs/FORMAT.md §5.7, §8, §11.
@Suite struct `Entries in history, backups and key changes` {
    private let history = History()
    private var keychain: TestKeychain { history.keychain }

    private func set(_ value: String, _ fields: EntryFields?) throws {
        try history.store.set(
            Addition(.generic("a"), value: .text(value), fields: fields), for: history.person)
        keychain.clock.advance(seconds: 1)
    }

    private func former() throws -> [[String]] {
        try history.store.formerItems([.exact("a")], for: history.person).map { former in
            let value = try history.store.formerValue(former)
            let password = value.map { String(decoding: $0.value.array, as: UTF8.self) }
            return [password ?? "none"] + (value?.fields.texts ?? [])
        }
    }

    // Promise: 22.2
    @Test func `Former values have their fields, and undo swaps whole entries`() throws {
        try set("1", .of("pin=1"))
        try set("2", nil)
        try set("2", .of("pin=2", "note=n"))
        #expect(try former() == [["2", "pin=1"], ["1", "pin=1"]])
        try history.undo()
        #expect(try keychain.item(.exact("a"))?.text == "2")
        #expect(try keychain.item(.exact("a"))?.fields.texts == ["pin=1"])
        #expect(try former().first == ["2", "pin=2", "note=n"])
        try history.store.delete(.exact("a"), for: history.person)
        try history.undo()
        #expect(try keychain.item(.exact("a"))?.fields.texts == ["pin=1"])
    }

    @Test func `A new field is no former value, because it replaces nothing`() throws {
        try set("1", .of("pin=1"))
        try set("1", .of("pin=1", "note=n"))
        #expect(try former().isEmpty)
        try set("1", .of("note=n"))
        #expect(try former() == [["1", "pin=1", "note=n"]])
    }

    // Promise: 22.2
    @Test func `An entry without fields can come back over one with fields, and the reverse`()
        throws
    {
        try set("1", nil)
        try set("2", .of("pin=2"))
        try history.undo()
        let item = try #require(try keychain.item(.exact("a")))
        #expect(item.text == "1" && item.fields.isEmpty && item.attributes[.fieldCount] == nil)
        try history.undo()
        #expect(try keychain.item(.exact("a"))?.fields.texts == ["pin=2"])
    }

    // Promise: 22.2
    @Test func `A backup and a restore keep fields, of items and of former values`() throws {
        try set("1", .of("pin=1"))
        try set("2", .of("pin=2", "username:anna"))
        let file = BackupPath()
        var request = BackupRequest(path: file.path)
        request.cost = .lowest
        _ = try history.store.keychain.backUp(request, passphrase: BackupPath.secret())
        let other = History()
        let backup = try keychain.open(file)
        _ = try other.store.keychain.restore(backup, nil)
        var sizes: [Int?] = []
        try backup.forEachItem { sizes.append($0.valueByteCount) }
        #expect(sizes == [1])
        let item = try #require(try other.keychain.item(.exact("a")))
        #expect(item.text == "2" && item.fields.texts == ["pin=2", "username:anna"])
        try other.undo()
        #expect(try other.keychain.item(.exact("a"))?.fields.texts == ["pin=1"])
    }

    // Promise: 22.2
    @Test func `A key change keeps fields, of items and of former values`() throws {
        try set("1", .of("pin=1"))
        try set("2", .of("pin=2"))
        _ = try history.store.keychain.rotateKeys(nil)
        #expect(try keychain.item(.exact("a"))?.fields.texts == ["pin=2"])
        #expect(try former() == [["1", "pin=1"]])
        #expect(keychain.damage().isEmpty)
    }

    // Promise: 22.2
    @Test func `A moved entry takes its fields along`() throws {
        try set("1", .of("pin=1"))
        let item = try #require(try keychain.item(.exact("a")))
        let change = ItemTransfer.Change(
            item.version, to: .generic("b", service: "other", as: .afterFirstUnlock), value: nil)
        _ = try history.store.perform(ItemTransfer(changes: [change]), for: history.person)
        let moved = try #require(try keychain.item(.exact("b", service: "other")))
        #expect(moved.text == "1" && moved.fields.texts == ["pin=1"])
    }
}

/// docs/FORMAT.md §5.7.
@Suite struct `The sealed form of a value with fields` {
    private static let form: [UInt8] =
        [0, 0, 0, 21, 0, 2, 0, 1] + Array("u".utf8) + [0, 0, 0, 1] + Array("x".utf8)
        + [1, 2] + Array("ab".utf8) + [0, 0, 0, 3] + Array("yyy".utf8) + Array("pw".utf8)

    @Test func `The sealed form is the page's`() throws {
        let fields = EntryFields.of("u:x", "ab=yyy")
        let value = ItemValue(.text("pw"), fields)
        #expect(value.sealedForm.array == Self.form)
        #expect(value.sealedByteCount == Self.form.count)
        let again = try #require(ItemValue(sealedForm: .bytes(Self.form), fieldCount: 2))
        #expect(again.isEqual(to: value))
        #expect(ItemValue.value(inFormWithFields: .bytes(Self.form))?.array == Array("pw".utf8))
    }

    @Test func `Every other form is refused`() {
        for count in [0, 1, 3] {
            #expect(ItemValue(sealedForm: .bytes(Self.form), fieldCount: count) == nil)
        }
        for end in 0..<25 {
            let cut = SecretValue.bytes(Array(Self.form[..<end]))
            #expect(ItemValue(sealedForm: cut, fieldCount: 2) == nil, "\(end)")
        }
        var changes: [(at: Int, to: UInt8)] = [(3, 20), (3, 22), (5, 1), (6, 2), (7, 0), (12, 2)]
        changes += [(8, 0), (8, 0xFF), (18, 255)]
        for change in changes {
            var form = Self.form
            form[change.at] = change.to
            #expect(ItemValue(sealedForm: .bytes(form), fieldCount: 2) == nil, "\(change)")
        }
        var twice = Self.form
        twice.replaceSubrange(14..<21, with: [1, 1, 0x75, 0, 0, 0, 4])
        #expect(ItemValue(sealedForm: .bytes(twice), fieldCount: 2) == nil)
    }

    @Test(arguments: ["", "a\nb", "a\u{7F}", String(repeating: "x", count: 256)])
    func `A name that no field can have is refused`(_ name: String) {
        #expect(EntryField(name, isSecret: true, .text("x")) == nil)
    }

    @Test func `Two fields of one name are refused`() {
        #expect(EntryFields.of("a=1", "a=2").isEmpty)
        #expect(EntryFields.of("a=1", "A=2").list.count == 2)
    }
}
