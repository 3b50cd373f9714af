// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSecItem

/// spec/secitem.md §4.
@Suite struct `Synchronizable items` {
    let service = TestService()
    private let synchronizable: @Sendable () -> NSDictionary = { [kSecAttrSynchronizable: true] }
    private let any: @Sendable () -> NSDictionary = {
        [kSecAttrSynchronizable: kSecAttrSynchronizableAny]
    }

    @Test func `Synchronizable items exist beside local ones with the same key`() {
        #expect(service.add("a", "local") == errSecSuccess)
        #expect(service.add("a", "synchronized", synchronizable()) == errSecSuccess)
        #expect(service.value("a") == "local")
        #expect(service.value("a", synchronizable()) == "synchronized")
        #expect(service.add("a", "again", synchronizable()) == errSecDuplicateItem)
    }

    @Test func `Synchronizable items are found only on request`() {
        service.add("a", "1", synchronizable())
        #expect(service.value("a") == nil)
        #expect(service.value("a", any()) == "1")
        #expect(service.value("a", [kSecAttrSynchronizable: "x"]) == nil)
    }

    @Test func `Synchronizable items are deleted only on request`() {
        service.add("a", "1", synchronizable())
        #expect(SecItemDelete(service.generic()) == errSecItemNotFound)
        #expect(SecItemDelete(service.generic(any())) == errSecSuccess)
        #expect(service.value("a", any()) == nil)
    }

    @Test func `Synchronizable items are updated only on request`() {
        service.add("a", "1", synchronizable())
        let changes: NSDictionary = [kSecAttrLabel: "x"]
        #expect(SecItemUpdate(service.generic(), changes) == errSecItemNotFound)
        #expect(SecItemUpdate(service.generic(any()), changes) == errSecSuccess)
    }

    @Test func `Synchronizable items can become local, and local items synchronizable`() {
        service.add("a", "1")
        #expect(SecItemUpdate(service.generic(), synchronizable()) == errSecSuccess)
        #expect(service.value("a", synchronizable()) == "1")
        let local: NSDictionary = [kSecAttrSynchronizable: false]
        #expect(SecItemUpdate(service.generic(any()), local) == errSecSuccess)
        #expect(service.value("a") == "1")
    }

    @Test func `A synchronizable item does not become local over a local one`() {
        service.add("a", "local")
        service.add("a", "synchronized", synchronizable())
        let status = SecItemUpdate(
            service.generic(synchronizable()), [kSecAttrSynchronizable: false])
        #expect(status == errSecDuplicateItem)
        #expect(service.value("a", synchronizable()) == "synchronized")
    }

    /// spec/secitem.md §8.3: deleted and added again, the reference is another one.
    @Test func `A synchronizable item gets a new reference when it is added again`() {
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
    func `A persistent reference finds its item, local or synchronizable`(_ isSynchronizable: Bool)
    {
        let reference = add("a", [kSecAttrSynchronizable: isSynchronizable])
        let query: NSDictionary = [kSecValuePersistentRef: reference, kSecReturnData: true]
        #expect(copy(query).object as? Data == Data("1".utf8))
        #expect(copy(query + genericPassword).status == errSecSuccess)
    }

    @Test func `A persistent reference deletes its item alone`() {
        let reference = add("a")
        service.add("b", "1")
        #expect(SecItemDelete([kSecValuePersistentRef: reference]) == errSecSuccess)
        #expect(service.accounts() == ["b"])
        #expect(copy([kSecValuePersistentRef: reference]).status == errSecItemNotFound)
    }

    @Test func `A persistent reference updates its item alone`() {
        let query: NSDictionary = [kSecValuePersistentRef: add("a")]
        service.add("b", "1")
        #expect(SecItemUpdate(query, [kSecAttrLabel: "x"]) == errSecSuccess)
        #expect(service.accounts([kSecAttrLabel: "x"]) == ["a"])
    }

    @Test func `A persistent reference matches only with the attributes beside it`() {
        let query: NSDictionary = [kSecValuePersistentRef: add("a"), kSecAttrAccount: "b"]
        #expect(SecItemUpdate(query, [kSecAttrLabel: "x"]) == errSecItemNotFound)
        #expect(SecItemDelete(query) == errSecItemNotFound)
    }

    @Test func `An item that was added again has a new persistent reference`() {
        let first = add("a")
        _ = SecItemDelete(service.generic())
        #expect(add("a") != first)
    }

    @Test func `A persistent reference to nothing finds nothing`() {
        let reference = Data("genp".utf8) + Data(count: 16)
        #expect(copy([kSecValuePersistentRef: reference]).status == errSecItemNotFound)
    }

    private func add(_ account: String, _ more: NSDictionary = [:]) -> Data {
        let item: NSDictionary = [
            kSecAttrAccount: account, kSecValueData: Data("1".utf8),
            kSecReturnPersistentRef: true,
        ]
        var object: AnyObject?
        _ = unsafe SecItemAdd(service.generic(item + more), &object)
        return object as? Data ?? Data()
    }
}

/// spec/secitem.md §5.
@Suite(.enabled(if: ProcessKeychain.isConfigured)) struct `Access groups` {
    let service = TestService()

    @Test func `The default access group is the first of the application`() {
        service.add("a", "1")
        let group = service.attributes("a")?[kSecAttrAccessGroup] as? String
        #expect(group == ProcessKeychain.defaultGroup)
    }

    @Test func `Access groups keep equal keys apart`() {
        service.add("a", "default")
        let shared: NSDictionary = [kSecAttrAccessGroup: ProcessKeychain.sharedGroup]
        #expect(service.add("a", "shared", shared) == errSecSuccess)
        #expect(service.value("a", shared) == "shared")
        let first: NSDictionary = [kSecAttrAccessGroup: ProcessKeychain.defaultGroup]
        #expect(service.value("a", first) == "default")
    }

    @Test func `All access groups are searched if none is named`() {
        service.add("a", "1")
        service.add("b", "2", [kSecAttrAccessGroup: ProcessKeychain.sharedGroup])
        service.add("c", "3", [kSecAttrAccessGroup: ProcessKeychain.applicationIdentifier])
        #expect(service.accounts() == ["a", "b", "c"])
    }

    // Promise: 3.1
    @Test func `An access group that the application lacks is refused`() {
        let foreign: NSDictionary = [kSecAttrAccessGroup: "foreign"]
        let query = service.generic(foreign)
        #expect(SecItemAdd(query, nil) == errSecMissingEntitlement)
        #expect(copy(query).status == errSecMissingEntitlement)
        #expect(SecItemUpdate(query, [:]) == errSecMissingEntitlement)
        #expect(SecItemDelete(query) == errSecMissingEntitlement)
        service.add("a", "1")
        #expect(SecItemUpdate(service.generic(), foreign) == errSecMissingEntitlement)
    }

    @Test func `Access groups of tokens accept no passwords`() {
        let token = service.generic([kSecAttrAccessGroup: kSecAttrAccessGroupToken])
        #expect(SecItemAdd(token, nil) == errSecMissingEntitlement)
        #expect(SecItemUpdate(token, [:]) == errSecMissingEntitlement)
        #expect(SecItemDelete(token) == errSecMissingEntitlement)
    }

    @Test func `The access group of an item can be changed`() {
        service.add("a", "1")
        let shared: NSDictionary = [kSecAttrAccessGroup: ProcessKeychain.sharedGroup]
        #expect(SecItemUpdate(service.generic(), shared) == errSecSuccess)
        #expect(service.value("a", shared) == "1")
    }

    @Test func `An item does not move to an access group that has its key`() {
        service.add("a", "1")
        let shared: NSDictionary = [kSecAttrAccessGroup: ProcessKeychain.sharedGroup]
        service.add("a", "2", shared)
        let first: NSDictionary = [kSecAttrAccessGroup: ProcessKeychain.defaultGroup]
        #expect(SecItemUpdate(service.generic(first), shared) == errSecDuplicateItem)
        #expect(service.value("a", first) == "1")
    }

    @Test func `The failure of an access group says what helps`() {
        _ = SecItemAdd(service.generic([kSecAttrAccessGroup: "foreign"]), nil)
        #expect(KeychainFailure.last?.code == .missingEntitlement)
        #expect(KeychainFailure.last?.hint == "call `ValetKeychain.configure` with the group")
    }
}
