// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetSecItem

@Suite struct `Adding an item` {
    let service = TestService()

    @Test func `SecItemAdd makes the value readable`() {
        #expect(service.add("a", "secret") == errSecSuccess)
        #expect(service.value("a") == "secret")
    }

    /// spec/secitem.md §2.3.
    @Test func `SecItemAdd fails if the primary key is taken`() {
        service.add("a", "1")
        #expect(service.add("a", "2", [kSecAttrLabel: "other"]) == errSecDuplicateItem)
        #expect(service.value("a") == "1")
        #expect(KeychainFailure.last?.code != nil)
    }

    /// spec/secitem.md §0 rule 2, §2.3: none of these is part of the key.
    @Test(arguments: ["labl", "gena", "desc", "icmt", "crtr", "type", "invi", "nega", "alis"])
    func `SecItemAdd reports a duplicate whatever else differs`(_ attribute: String) {
        #expect(service.add("a", "1", [attribute: "1"]) == errSecSuccess)
        #expect(service.add("a", "2", [attribute: "2"]) == errSecDuplicateItem)
    }

    /// spec/secitem.md §2.3.
    @Test(arguments: ["acct", "sdmn", "ptcl", "atyp", "port", "path"])
    func `SecItemAdd accepts an item whose internet key differs`(_ attribute: String) {
        #expect(SecItemAdd(service.internet([attribute: "1"]), nil) == errSecSuccess)
        #expect(SecItemAdd(service.internet([attribute: "2"]), nil) == errSecSuccess)
        #expect(SecItemAdd(service.internet([attribute: "2"]), nil) == errSecDuplicateItem)
    }

    /// spec/secitem.md §2.1: text and data with the same bytes are the same key.
    @Test func `SecItemAdd compares keys by their bytes`() {
        #expect(service.add("a", "1") == errSecSuccess)
        let same = service.generic([kSecAttrAccount: Data("a".utf8)])
        #expect(SecItemAdd(same, nil) == errSecDuplicateItem)
        #expect(service.add("A", "2") == errSecSuccess)
    }

    /// spec/secitem.md §2.3: what is missing of the key is empty.
    @Test func `SecItemAdd stores an empty account if none is given`() {
        #expect(SecItemAdd(service.generic(), nil) == errSecSuccess)
        #expect(service.add("", "1") == errSecDuplicateItem)
        #expect(service.accounts() == [""])
    }

    /// spec/secitem.md §2.1: what is given comes back with its type.
    @Test func `SecItemAdd keeps the types of attributes`() throws {
        let given: NSDictionary = [
            kSecAttrGeneric: Data([1, 2]), kSecAttrLabel: "label", kSecAttrComment: 7,
            kSecAttrCreator: "abcd", kSecAttrType: "42", kSecAttrIsInvisible: true,
            kSecAttrDescription: "",
        ]
        #expect(service.add("a", "1", given) == errSecSuccess)
        let attributes = try #require(service.attributes("a"))
        #expect(attributes[kSecAttrGeneric] as? Data == Data([1, 2]))
        #expect(attributes[kSecAttrLabel] as? String == "label")
        #expect(attributes[kSecAttrComment] as? NSNumber == 7)
        #expect(attributes[kSecAttrCreator] as? String == "abcd")
        #expect(attributes[kSecAttrType] as? NSNumber == 42)
        #expect(attributes[kSecAttrIsInvisible] as? NSNumber == 1)
        #expect(attributes[kSecAttrDescription] as? String == "")
    }

    /// spec/secitem.md §3.8.
    @Test func `SecItemAdd gives an internet password its defaults`() throws {
        #expect(SecItemAdd(service.internet(), nil) == errSecSuccess)
        let object = copy(service.internet([kSecReturnAttributes: true])).object
        let attributes = try #require(object as? NSDictionary)
        #expect(attributes[kSecAttrAccount] as? String == "")
        #expect(attributes[kSecAttrPort] as? NSNumber == 0)
        #expect(attributes[kSecAttrProtocol] as? NSNumber == 0)
        #expect(attributes[kSecAttrAccessible] as? NSString == kSecAttrAccessibleWhenUnlocked)
        #expect(attributes[kSecAttrSynchronizable] as? NSNumber == 0)
        #expect(attributes[kSecAttrTokenID] == nil)
    }

    /// spec/secitem.md §2.5.
    @Test func `SecItemAdd sets both dates`() throws {
        let past = Date(timeIntervalSinceReferenceDate: 1)
        service.add("a", "1", [kSecAttrCreationDate: past, kSecAttrModificationDate: past])
        let attributes = try #require(service.attributes("a"))
        let created = try #require(attributes[kSecAttrCreationDate] as? Date)
        #expect(abs(created.timeIntervalSinceNow) < 60)
        #expect(attributes[kSecAttrModificationDate] as? Date == created)
    }

    @Test(arguments: ["ak", "ck", "dk", "aku", "cku", "dku"])
    func `SecItemAdd works with every class that needs no passcode`(_ accessible: String) {
        #expect(service.add("a", "1", [kSecAttrAccessible: accessible]) == errSecSuccess)
        #expect(service.value("a") == "1")
        #expect(service.value("a", [kSecAttrAccessible: accessible]) == "1")
    }

    /// spec/secitem.md §9.5.
    @Test func `SecItemAdd requires a passcode for the class of passcodes`() {
        let accessible = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        let status = service.add("a", "1", [kSecAttrAccessible: accessible])
        #expect(status == errSecNotAvailable)
        #expect(KeychainFailure.last?.code == .passcodeNotSet)
    }

    @Test func `SecItemAdd accepts a value of at most 16 MiB`() {
        let value = Data(repeating: 7, count: 16 << 20)
        let item = service.generic([kSecAttrAccount: "a", kSecValueData: value])
        #expect(SecItemAdd(item, nil) == errSecSuccess)
        let read = service.generic([kSecAttrAccount: "a", kSecReturnData: true])
        #expect(copy(read).object as? Data == value)
        let larger = service.generic([kSecAttrAccount: "b", kSecValueData: value + [1]])
        #expect(SecItemAdd(larger, nil) == errSecDataTooLarge)
    }

    @Test func `SecItemAdd accepts a name of 1 MB`() {
        let account = String(repeating: "n", count: 1_000_000)
        #expect(service.add(account, "1") == errSecSuccess)
        #expect(service.value(account) == "1")
    }

    /// spec/secitem.md §3.9.
    @Test func `SecItemAdd returns what is requested`() throws {
        let flags: NSDictionary = [
            kSecReturnData: true, kSecReturnAttributes: true, kSecReturnPersistentRef: true,
        ]
        let item: NSDictionary = [kSecAttrAccount: "a", kSecValueData: Data("1".utf8)]
        let (status, object) = add(service.generic(item + flags))
        #expect(status == errSecSuccess)
        let result = try #require(object as? NSDictionary)
        #expect(result[kSecValueData] as? Data == Data("1".utf8))
        #expect(result[kSecAttrAccount] as? String == "a")
        let found = copy(service.generic([kSecReturnPersistentRef: true])).object
        #expect(result[kSecValuePersistentRef] as? Data == found as? Data)
    }

    @Test func `SecItemAdd returns nothing without a request`() {
        let (status, object) = add(service.generic())
        #expect(status == errSecSuccess)
        #expect(object == nil)
    }

    /// spec/secitem.md §3.5, with the deviation of §11.
    @Test func `SecItemAdd with a limit stores nothing`() {
        #expect(service.add("a", "1", [kSecMatchLimit: kSecMatchLimitOne]) == errSecParam)
        #expect(service.value("a") == nil)
    }
}
