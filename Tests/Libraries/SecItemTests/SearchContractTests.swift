// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSecItem

@Suite struct `Searching the keychain` {
    let service = TestService()

    /// spec/secitem.md §3.7.
    @Test(arguments: ["m_LimitOne", "m_LimitAll"])
    func `SecItemCopyMatching reports that nothing matches and returns no empty array`(
        _ limit: String
    ) {
        let (status, object) = copy(
            service.generic([kSecMatchLimit: limit, kSecReturnData: true]))
        #expect(status == errSecItemNotFound)
        #expect(object == nil)
    }

    @Test func `SecItemCopyMatching leaves the result unchanged when it fails`() {
        var object: AnyObject? = NSString("before")
        let status = unsafe SecItemCopyMatching(service.generic([kSecReturnData: true]), &object)
        #expect(status == errSecItemNotFound)
        #expect(object as? String == "before")
    }

    @Test func `SecItemCopyMatching works without a result variable`() {
        service.add("a", "1")
        #expect(SecItemCopyMatching(service.generic([kSecReturnData: true]), nil) == errSecSuccess)
    }

    /// spec/secitem.md §3.7.
    @Test func `SecItemCopyMatching without flags tells whether there is an item`() {
        service.add("a", "1")
        let one = copy(service.generic())
        #expect(one.status == errSecSuccess)
        #expect(one.object == nil)
        let all = copy(service.generic([kSecMatchLimit: kSecMatchLimitAll]))
        #expect(all.status == errSecSuccess)
        #expect((all.object as? NSArray)?.count == 0)
    }

    /// spec/secitem.md §3.7: data of items that have none.
    @Test func `SecItemCopyMatching for data leaves out items without a value`() {
        SecItemAdd(service.generic([kSecAttrAccount: "none"]))
        let one = copy(service.generic([kSecReturnData: true]))
        #expect(one.status == errSecSuccess)
        #expect(one.object == nil)
        service.add("a", "1")
        service.add("empty", "")
        let all = copy(service.generic([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitAll]))
        #expect(Set(all.object as? [Data] ?? []) == [Data("1".utf8), Data()])
    }

    @Test(arguments: [(1, nil), (2, 2), (3, 3), (100, 3), (-1, 3), (-5, 1)] as [(Int, Int?)])
    func `SecItemCopyMatching returns no more items than the limit`(_ limit: Int, _ count: Int?) {
        for account in ["a", "b", "c"] { service.add(account, "1") }
        let query: NSDictionary = [kSecReturnAttributes: true, kSecMatchLimit: limit]
        let object = copy(service.generic(query)).object
        #expect((object as? [NSDictionary])?.count == count)
    }

    @Test func `SecItemCopyMatching finds nothing with a limit of zero`() {
        service.add("a", "1")
        #expect(copy(service.generic([kSecMatchLimit: 0])).status == errSecItemNotFound)
    }

    /// spec/secitem.md §0 rule 1, §2.1.
    @Test(arguments: ["A", "a ", "", "á"])
    func `SecItemCopyMatching compares exactly`(_ account: String) {
        service.add("a", "1")
        #expect(service.value(account) == nil)
    }

    @Test func `SecItemCopyMatching distinguishes Unicode forms of the same letter`() {
        service.add("\u{E9}", "composed")
        service.add("e\u{301}", "decomposed")
        #expect(service.value("\u{E9}") == "composed")
        #expect(service.value("e\u{301}") == "decomposed")
    }

    /// spec/secitem.md §2.2, §3.3: each attribute that is not of the key filters, too.
    @Test(arguments: [
        "labl", "gena", "desc", "icmt", "crtr", "type", "scrp", "invi", "nega",
        "cusi", "alis", "prot",
    ])
    func `SecItemCopyMatching filters by every attribute`(_ attribute: String) {
        service.add("a", "1", [attribute: 1])
        service.add("b", "1", [attribute: 2])
        service.add("c", "1")
        #expect(service.accounts([attribute: 1]) == ["a"])
    }

    @Test func `SecItemCopyMatching filters by dates exactly`() throws {
        service.add("a", "1")
        let created = try #require(service.attributes("a")?[kSecAttrCreationDate] as? Date)
        #expect(service.accounts([kSecAttrCreationDate: created]) == ["a"])
        let other = created.addingTimeInterval(0.001)
        #expect(service.accounts([kSecAttrCreationDate: other]) == [])
    }

    @Test func `SecItemCopyMatching filters by protection class`() {
        service.add("a", "1", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])
        let others: NSDictionary = [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]
        #expect(service.value("a", others) == nil)
    }

    @Test func `SecItemCopyMatching does not filter by value`() {
        service.add("a", "1")
        #expect(service.accounts([kSecValueData: Data("2".utf8)]) == ["a"])
    }

    /// spec/secitem.md §2.1 "443".
    @Test func `SecItemCopyMatching compares ports as numbers`() {
        #expect(SecItemAdd(service.internet([kSecAttrPort: "443"]), nil) == errSecSuccess)
        #expect(copy(service.internet([kSecAttrPort: 443])).status == errSecSuccess)
        #expect(copy(service.internet([kSecAttrPort: "0443"])).status == errSecItemNotFound)
    }

    /// spec/secitem.md §3.6.
    @Test func `SecItemCopyMatching finds passwords of a host's subdomains`() {
        let domain = "\(service.name).example"
        let item: NSDictionary = [kSecAttrServer: "www.\(domain)", kSecAttrAccount: "a"]
        #expect(SecItemAdd(internetPassword + item, nil) == errSecSuccess)
        for (host, status) in [
            (domain, errSecSuccess), ("www.\(domain)", errSecSuccess),
            ("ww.\(domain)", errSecItemNotFound), ("a.www.\(domain)", errSecItemNotFound),
        ] {
            let query = internetPassword + [kSecMatchHostOrSubdomainOfHost: host]
            #expect(copy(query).status == status)
        }
    }

    /// spec/secitem.md §3.8: what comes back finds the same item.
    @Test func `A result of SecItemCopyMatching can be the next query`() throws {
        service.add("a", "1", [kSecAttrGeneric: Data([1]), kSecAttrCreator: "abcd"])
        service.add("b", "2")
        let found = try #require(service.attributes("a"))
        #expect(
            copy(found + genericPassword + [kSecReturnData: true]).object as? Data == Data("1".utf8)
        )
    }

    /// spec/secitem.md §3.8: only with an object is there a class.
    @Test func `SecItemCopyMatching returns the class only beside an object`() {
        service.add("a", "1")
        #expect(service.attributes("a")?[kSecClass] == nil)
        #expect(service.attributes("a", [kSecReturnRef: true])?[kSecClass] as? String == "genp")
    }

    @Test func `SecItemCopyMatching keeps the two classes apart`() {
        service.add("a", "1")
        #expect(copy(service.internet()).status == errSecItemNotFound)
    }
}

private func SecItemAdd(_ attributes: NSDictionary) {
    _ = SecItemAdd(attributes, nil)
}
