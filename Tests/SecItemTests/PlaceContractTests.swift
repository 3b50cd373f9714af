// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSecItem

/// spec/secitem.md §4.
@Suite struct `Synchronizable items` {
    let service = TestService()
    private let synchronizable: @Sendable () -> [String: Any] = { [kSecAttrSynchronizable: true] }
    private let any: @Sendable () -> [String: Any] = {
        [kSecAttrSynchronizable: kSecAttrSynchronizableAny]
    }

    @Test func `live beside local ones with the same key`() {
        #expect(service.add("a", "local") == errSecSuccess)
        #expect(service.add("a", "synchronized", synchronizable()) == errSecSuccess)
        #expect(service.value("a") == "local")
        #expect(service.value("a", synchronizable()) == "synchronized")
        #expect(service.add("a", "again", synchronizable()) == errSecDuplicateItem)
    }

    @Test func `are not found unless asked for`() {
        service.add("a", "1", synchronizable())
        #expect(service.value("a") == nil)
        #expect(service.value("a", any()) == "1")
        #expect(service.value("a", [kSecAttrSynchronizable: "x"]) == nil)
    }

    @Test func `are not deleted unless asked for`() {
        service.add("a", "1", synchronizable())
        #expect(SecItemDelete(service.generic()) == errSecItemNotFound)
        #expect(SecItemDelete(service.generic(any())) == errSecSuccess)
        #expect(service.value("a", any()) == nil)
    }

    @Test func `are not updated unless asked for`() {
        service.add("a", "1", synchronizable())
        let changes: [String: Any] = [kSecAttrLabel: "x"]
        #expect(SecItemUpdate(service.generic(), changes) == errSecItemNotFound)
        #expect(SecItemUpdate(service.generic(any()), changes) == errSecSuccess)
    }

    @Test func `become local and back`() {
        service.add("a", "1")
        #expect(SecItemUpdate(service.generic(), synchronizable()) == errSecSuccess)
        #expect(service.value("a", synchronizable()) == "1")
        let local: [String: Any] = [kSecAttrSynchronizable: false]
        #expect(SecItemUpdate(service.generic(any()), local) == errSecSuccess)
        #expect(service.value("a") == "1")
    }

    @Test func `do not become local over a local one`() {
        service.add("a", "local")
        service.add("a", "synchronized", synchronizable())
        let status = SecItemUpdate(
            service.generic(synchronizable()), [kSecAttrSynchronizable: false])
        #expect(status == errSecDuplicateItem)
        #expect(service.value("a", synchronizable()) == "synchronized")
    }

    /// spec/secitem.md §8.3: deleted and added again, the reference is another one.
    @Test func `get a new reference when added again`() {
        let attributes = service.generic(synchronizable() + [kSecReturnPersistentRef: true])
        let first = add(attributes).object as? Data
        #expect(SecItemDelete(service.generic(any())) == errSecSuccess)
        let second = add(attributes).object as? Data
        #expect(first?.count == 20)
        #expect(second?.count == 20)
        #expect(first != second)
    }
}

/// spec/secitem.md §8.
@Suite struct `Persistent references` {
    let service = TestService()

    @Test(arguments: [false, true])
    func `find their item, local or not`(_ isSynchronizable: Bool) {
        let reference = add("a", [kSecAttrSynchronizable: isSynchronizable])
        let query: [String: Any] = [kSecValuePersistentRef: reference, kSecReturnData: true]
        #expect(copy(query).object as? Data == Data("1".utf8))
        #expect(copy(query + genericPassword).status == errSecSuccess)
    }

    @Test func `delete their item alone`() {
        let reference = add("a")
        service.add("b", "1")
        #expect(SecItemDelete([kSecValuePersistentRef: reference]) == errSecSuccess)
        #expect(service.accounts() == ["b"])
        #expect(copy([kSecValuePersistentRef: reference]).status == errSecItemNotFound)
    }

    @Test func `update their item alone`() {
        let query: [String: Any] = [kSecValuePersistentRef: add("a")]
        service.add("b", "1")
        #expect(SecItemUpdate(query, [kSecAttrLabel: "x"]) == errSecSuccess)
        #expect(service.accounts([kSecAttrLabel: "x"]) == ["a"])
    }

    @Test func `match only with the attributes beside them`() {
        let query: [String: Any] = [kSecValuePersistentRef: add("a"), kSecAttrAccount: "b"]
        #expect(SecItemUpdate(query, [kSecAttrLabel: "x"]) == errSecItemNotFound)
        #expect(SecItemDelete(query) == errSecItemNotFound)
    }

    @Test func `are new for an item that was added again`() {
        let first = add("a")
        _ = SecItemDelete(service.generic())
        #expect(add("a") != first)
    }

    @Test func `of nothing find nothing`() {
        let reference = Data("genp".utf8) + Data(count: 16)
        #expect(copy([kSecValuePersistentRef: reference]).status == errSecItemNotFound)
    }

    private func add(_ account: String, _ more: [String: Any] = [:]) -> Data {
        let item: [String: Any] = [
            kSecAttrAccount: account, kSecValueData: Data("1".utf8),
            kSecReturnPersistentRef: true,
        ]
        var object: AnyObject?
        _ = unsafe SecItemAdd(service.generic(item + more), &object)
        return object as? Data ?? Data()
    }
}

/// spec/secitem.md §5.
@Suite(.enabled(if: TestKeychain.isConfigured)) struct `Access groups` {
    let service = TestService()

    @Test func `are by default the first of the application`() {
        service.add("a", "1")
        let group = service.attributes("a")?[kSecAttrAccessGroup] as? String
        #expect(group == TestKeychain.defaultGroup)
    }

    @Test func `keep equal keys apart`() {
        service.add("a", "default")
        let shared: [String: Any] = [kSecAttrAccessGroup: TestKeychain.sharedGroup]
        #expect(service.add("a", "shared", shared) == errSecSuccess)
        #expect(service.value("a", shared) == "shared")
        let first: [String: Any] = [kSecAttrAccessGroup: TestKeychain.defaultGroup]
        #expect(service.value("a", first) == "default")
    }

    @Test func `are all searched if none is named`() {
        service.add("a", "1")
        service.add("b", "2", [kSecAttrAccessGroup: TestKeychain.sharedGroup])
        service.add("c", "3", [kSecAttrAccessGroup: TestKeychain.applicationIdentifier])
        #expect(service.accounts() == ["a", "b", "c"])
    }

    @Test func `are refused if the application lacks them`() {
        let foreign: [String: Any] = [kSecAttrAccessGroup: "foreign"]
        let query = service.generic(foreign)
        #expect(SecItemAdd(query, nil) == errSecMissingEntitlement)
        #expect(copy(query).status == errSecMissingEntitlement)
        #expect(SecItemUpdate(query, [:]) == errSecMissingEntitlement)
        #expect(SecItemDelete(query) == errSecMissingEntitlement)
        service.add("a", "1")
        #expect(SecItemUpdate(service.generic(), foreign) == errSecMissingEntitlement)
    }

    @Test func `of tokens take no passwords`() {
        let token = service.generic([kSecAttrAccessGroup: kSecAttrAccessGroupToken])
        #expect(SecItemAdd(token, nil) == errSecMissingEntitlement)
        #expect(SecItemUpdate(token, [:]) == errSecMissingEntitlement)
        #expect(SecItemDelete(token) == errSecMissingEntitlement)
    }

    @Test func `can be changed`() {
        service.add("a", "1")
        let shared: [String: Any] = [kSecAttrAccessGroup: TestKeychain.sharedGroup]
        #expect(SecItemUpdate(service.generic(), shared) == errSecSuccess)
        #expect(service.value("a", shared) == "1")
    }

    @Test func `are not changed into one that has the key`() {
        service.add("a", "1")
        let shared: [String: Any] = [kSecAttrAccessGroup: TestKeychain.sharedGroup]
        service.add("a", "2", shared)
        let first: [String: Any] = [kSecAttrAccessGroup: TestKeychain.defaultGroup]
        #expect(SecItemUpdate(service.generic(first), shared) == errSecDuplicateItem)
        #expect(service.value("a", first) == "1")
    }

    @Test func `say in the failure what would help`() {
        _ = SecItemAdd(service.generic([kSecAttrAccessGroup: "foreign"]), nil)
        #expect(KeychainFailure.last?.code == .missingEntitlement)
        #expect(KeychainFailure.last?.hint == "name the group in ValetKeychain.configure")
    }
}
