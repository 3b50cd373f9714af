// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSecItem

/// spec/secitem.md §6.
@Suite struct `Updating items` {
    let service = TestService()

    @Test func `SecItemUpdate replaces the value and keeps the rest`() {
        service.add("a", "1", [kSecAttrLabel: "label"])
        #expect(update("a", [kSecValueData: Data("2".utf8)]) == errSecSuccess)
        #expect(service.value("a") == "2")
        #expect(service.attributes("a")?[kSecAttrLabel] as? String == "label")
    }

    @Test func `SecItemUpdate replaces attributes and keeps the value`() {
        service.add("a", "1")
        #expect(update("a", [kSecAttrLabel: Data([1])]) == errSecSuccess)
        #expect(service.value("a") == "1")
        #expect(service.attributes("a")?[kSecAttrLabel] as? Data == Data([1]))
    }

    @Test func `SecItemUpdate reports that nothing matches`() {
        #expect(update("a", [kSecAttrLabel: "x"]) == errSecItemNotFound)
    }

    @Test func `SecItemUpdate changes every match`() {
        for account in ["a", "b", "c"] { service.add(account, "1") }
        #expect(SecItemUpdate(service.generic(), [kSecAttrLabel: "x"]) == errSecSuccess)
        #expect(service.accounts([kSecAttrLabel: "x"]) == ["a", "b", "c"])
    }

    @Test func `SecItemUpdate moves an item to another key and keeps its reference`() {
        service.add("a", "1")
        let reference = self.reference("a")
        #expect(update("a", [kSecAttrAccount: "b"]) == errSecSuccess)
        #expect(service.value("a") == nil)
        #expect(service.value("b") == "1")
        #expect(self.reference("b") == reference)
    }

    @Test func `SecItemUpdate changes nothing if the new key is taken`() {
        service.add("a", "1")
        service.add("b", "2")
        #expect(update("a", [kSecAttrAccount: "b"]) == errSecDuplicateItem)
        #expect(service.value("a") == "1")
        #expect(service.value("b") == "2")
    }

    @Test func `SecItemUpdate changes nothing if several items would have one key`() {
        service.add("a", "1")
        service.add("b", "2")
        let status = SecItemUpdate(service.generic(), [kSecAttrAccount: "c"])
        #expect(status == errSecDuplicateItem)
        #expect(service.accounts() == ["a", "b"])
    }

    @Test func `SecItemUpdate may give an item the key that it has`() {
        service.add("a", "1")
        #expect(update("a", [kSecAttrAccount: "a", kSecAttrLabel: "x"]) == errSecSuccess)
        #expect(service.accounts([kSecAttrLabel: "x"]) == ["a"])
    }

    /// spec/secitem.md §2.5: later even if the clock stands still.
    @Test func `SecItemUpdate raises the modification date whatever it changes`() throws {
        service.add("a", "1")
        var previous = try #require(modified("a"))
        for _ in 0..<3 {
            #expect(update("a", [:]) == errSecSuccess)
            let next = try #require(modified("a"))
            #expect(next > previous)
            previous = next
        }
    }

    @Test func `SecItemUpdate sets the creation date but not the modification date`() {
        service.add("a", "1")
        let past = Date(timeIntervalSinceReferenceDate: 1)
        let dates: NSDictionary = [kSecAttrCreationDate: past, kSecAttrModificationDate: past]
        #expect(update("a", dates) == errSecSuccess)
        #expect(service.attributes("a")?[kSecAttrCreationDate] as? Date == past)
        #expect(modified("a") != past)
    }

    @Test func `SecItemUpdate moves an item to another protection class`() {
        service.add("a", "1")
        let accessible = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        #expect(update("a", [kSecAttrAccessible: accessible]) == errSecSuccess)
        #expect(service.value("a", [kSecAttrAccessible: accessible]) == "1")
    }

    @Test func `SecItemUpdate empties an attribute with an empty value`() {
        service.add("a", "1", [kSecAttrLabel: "x"])
        #expect(update("a", [kSecAttrLabel: ""]) == errSecSuccess)
        #expect(service.attributes("a")?[kSecAttrLabel] as? String == "")
    }

    @Test func `SecItemUpdate gives a value to an item without one`() {
        _ = SecItemAdd(service.generic([kSecAttrAccount: "a"]), nil)
        #expect(update("a", [kSecValueData: Data("1".utf8)]) == errSecSuccess)
        #expect(service.value("a") == "1")
    }

    private func update(_ account: String, _ changes: NSDictionary) -> OSStatus {
        SecItemUpdate(service.generic([kSecAttrAccount: account]), changes)
    }

    private func reference(_ account: String) -> Data? {
        let query: NSDictionary = [kSecAttrAccount: account, kSecReturnPersistentRef: true]
        return copy(service.generic(query)).object as? Data
    }

    private func modified(_ account: String) -> Date? {
        service.attributes(account)?[kSecAttrModificationDate] as? Date
    }
}

/// spec/secitem.md §7.
@Suite struct `Deleting items` {
    let service = TestService()

    @Test func `SecItemDelete deletes every match and nothing else`() {
        for account in ["a", "b", "c"] { service.add(account, "1", [kSecAttrLabel: "x"]) }
        service.add("d", "1")
        #expect(SecItemDelete(service.generic([kSecAttrLabel: "x"])) == errSecSuccess)
        #expect(service.accounts() == ["d"])
    }

    @Test func `SecItemDelete reports that nothing matches`() {
        #expect(SecItemDelete(service.generic()) == errSecItemNotFound)
    }

    @Test func `SecItemDelete does not compare values`() {
        service.add("a", "1")
        let query = service.generic([kSecValueData: Data("2".utf8)])
        #expect(SecItemDelete(query) == errSecSuccess)
    }

    @Test func `SecItemDelete compares protection classes`() {
        service.add("a", "1")
        let query = service.generic([kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])
        #expect(SecItemDelete(query) == errSecItemNotFound)
        #expect(service.value("a") == "1")
    }

    @Test func `SecItemDelete ignores return flags`() {
        service.add("a", "1")
        #expect(SecItemDelete(service.generic([kSecReturnData: true])) == errSecSuccess)
    }

    @Test func `SecItemDelete frees the key`() {
        service.add("a", "1")
        #expect(SecItemDelete(service.generic()) == errSecSuccess)
        #expect(service.add("a", "2") == errSecSuccess)
        #expect(service.value("a") == "2")
    }
}
