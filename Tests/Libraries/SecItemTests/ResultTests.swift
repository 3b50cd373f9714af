// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeychainServices
@testable import ValetKeychainStore
@testable import ValetSecItem

@Suite struct `What a search gives back` {
    @Test func `Reading the data of an item returns its value`() {
        #expect(found(.data) as? Data == Data([1, 2]))
    }

    @Test func `Reading the data of an item without a value returns nothing`() {
        #expect(found(.data, [.sample(value: nil)]) == nil)
    }

    @Test func `Reading the data of an item with an empty value returns empty data`() {
        #expect(found(.data, [.sample(value: [])]) as? Data == Data())
    }

    @Test func `Reading a persistent reference returns 20 bytes`() {
        #expect(found(.persistentReference) as? Data == StoredItem.sampleReference)
    }

    /// spec/secitem.md §3.7: passwords have no objects.
    @Test(arguments: [ReturnedParts(), .object])
    func `Reading without flags, or an object, returns nothing`(_ returning: ReturnedParts) {
        #expect(found(returning) == nil)
        #expect((list(returning) as? NSArray)?.count == 0)
    }

    /// spec/secitem.md §3.7: flags, and the keys of the dictionary beside attributes.
    @Test(arguments: [
        Flags([.attributes], [], hasAttributes: true),
        Flags([.data, .attributes], ["v_Data"], hasAttributes: true),
        Flags([.data, .persistentReference], ["v_Data", "v_PersistentRef"], hasAttributes: true),
        Flags([.attributes, .persistentReference], ["v_PersistentRef"], hasAttributes: true),
        Flags([.data, .object], ["v_Data", "class"], hasAttributes: false),
        Flags([.attributes, .object], ["class"], hasAttributes: true),
        Flags(
            [.persistentReference, .object], ["v_PersistentRef", "class"], hasAttributes: false),
        Flags(
            [.data, .attributes, .persistentReference], ["v_Data", "v_PersistentRef"],
            hasAttributes: true),
        Flags(
            [.data, .persistentReference, .object], ["v_Data", "v_PersistentRef", "class"],
            hasAttributes: true),
    ])
    func `Reading with other flags returns a dictionary`(_ row: Flags) throws {
        let dictionary = try #require(found(row.returning) as? [String: Any])
        let attributes = row.hasAttributes ? StoredItem.sampleKeys : []
        #expect(Set(dictionary.keys) == row.keys.union(attributes))
    }

    struct Flags: Sendable {
        let returning: ReturnedParts
        let keys: Set<String>
        let hasAttributes: Bool

        init(_ returning: ReturnedParts, _ keys: Set<String>, hasAttributes: Bool) {
            self.returning = returning
            self.keys = keys
            self.hasAttributes = hasAttributes
        }
    }

    @Test func `A dictionary for an item without a value has no value`() throws {
        let object = found([.data, .attributes], [.sample(value: nil)])
        let dictionary = try #require(object as? NSDictionary)
        #expect(dictionary[kSecValueData] == nil)
    }

    @Test func `Reading what may be several items returns an array`() throws {
        let items: [StoredItem] = [.sample(), .sample(value: nil), .sample(value: [3])]
        #expect(list(.data, items) as? [Data] == [Data([1, 2]), Data([3])])
        #expect((list(.persistentReference, items) as? [Data])?.count == 3)
        #expect((list([.attributes, .data], items) as? [NSDictionary])?.count == 3)
    }

    @Test(
        arguments: [
            ([], []), (.data, .value), (.persistentReference, []), (.attributes, .attributes),
            ([.data, .persistentReference], [.value, .attributes]), ([.data, .object], .value),
        ] as [(ReturnedParts, ItemParts)])
    func `A search reads no more than it needs`(_ returning: ReturnedParts, _ parts: ItemParts) {
        #expect(SecItemResult(returning: returning, isList: true).parts == parts)
    }

    private func found(
        _ returning: ReturnedParts, _ items: [StoredItem] = [.sample()]
    ) -> AnyObject? {
        SecItemResult(returning: returning, isList: false).found(items)
    }

    private func list(
        _ returning: ReturnedParts, _ items: [StoredItem] = [.sample()]
    ) -> AnyObject? {
        SecItemResult(returning: returning, isList: true).found(items)
    }
}

@Suite struct `A dictionary of attributes` {
    /// spec/secitem.md §3.8.
    @Test func `A dictionary of attributes has every attribute with the type it was given`() throws
    {
        let object = SecItemResult(returning: .attributes, isList: false).found([.sample()])
        let dictionary = try #require(object as? [String: Any])
        #expect(dictionary["acct"] as? String == "a")
        #expect(dictionary["svce"] as? Data == Data([7]))
        #expect(dictionary["crtr"] as? Int == 5)
        #expect(dictionary["cdat"] as? Date == Date(timeIntervalSinceReferenceDate: 1.5))
        #expect(dictionary["mdat"] as? Date == Date(timeIntervalSinceReferenceDate: 2.5))
        #expect(dictionary["agrp"] as? String == "group")
        #expect(dictionary["pdmn"] as? String == "ck")
        #expect(dictionary["sync"] as? NSNumber == NSNumber(value: 1))
        #expect(Set(dictionary.keys) == StoredItem.sampleKeys)
    }

    @Test func `A dictionary of attributes has numbers that are not Booleans`() throws {
        let object = SecItemResult(returning: .attributes, isList: false).found([.sample()])
        let dictionary = try #require(object as? NSDictionary)
        #expect(dictionary["sync"].map { AttributeInput($0) } == .number(1))
    }

    @Test func `A dictionary of attributes with its class finds the same item`() throws {
        let flags: ReturnedParts = [.attributes, .object]
        let object = SecItemResult(returning: flags, isList: false).found([.sample()])
        let query = try CopyRequest(#require(object as? NSDictionary)).search.query
        let expected = StoredItem.sampleAttributes.filter { $0.key != .tokenID }
        #expect(query.attributes == expected)
        #expect(query.accessGroup == AccessGroup("group"))
        #expect(query.synchronizable == .synchronizedOnly)
        #expect(query.protectionClass == .afterFirstUnlock)
    }
}

@Suite struct `What adding gives back` {
    /// spec/secitem.md §3.9.
    @Test(arguments: [ReturnedParts(), .object])
    func `Adding without flags, or for an object, returns nothing`(_ returning: ReturnedParts) {
        #expect(added(returning, Data()) == nil)
    }

    @Test func `Adding an item without a value returns empty data`() {
        #expect(added(.data, nil) as? Data == Data())
    }

    @Test func `Adding with the data flag returns the value`() {
        #expect(added(.data, Data([9])) as? Data == Data([9]))
    }

    @Test func `Adding with several flags returns a dictionary`() throws {
        let object = added([.data, .persistentReference, .attributes], Data([9]))
        let dictionary = try #require(object as? NSDictionary)
        #expect(dictionary["v_Data"] as? Data == Data([9]))
        #expect(dictionary["v_PersistentRef"] as? Data == StoredItem.sampleReference)
        #expect(dictionary["acct"] as? String == "a")
    }

    private func added(_ returning: ReturnedParts, _ value: Data?) -> AnyObject? {
        SecItemResult(returning: returning, isList: false).added(.sample(value: nil), value)
    }
}

extension StoredItem {
    fileprivate static let sampleReference = Data("genp".utf8) + Data(1...16)
    fileprivate static let sampleKeys: Set<String> = [
        "acct", "svce", "crtr", "cdat", "mdat", "agrp", "pdmn", "sync", "accc",
    ]
    fileprivate static let sampleAttributes: ItemAttributes = [
        .account: .text("a"), .service: .bytes([7]), .creator: .number(5),
        .creationDate: .date(1.5), .modificationDate: .date(2.5), .tokenID: .text(""),
    ]

    fileprivate static func sample(value: [UInt8]? = [1, 2]) -> StoredItem {
        StoredItem(
            itemClass: .genericPassword,
            reference: PersistentReference(
                itemClass: .genericPassword, itemID: Array(1...16)),
            accessGroup: AccessGroup("group"), isSynchronizable: true,
            protectionClass: .afterFirstUnlock, attributes: sampleAttributes,
            valueByteCount: value?.count, value: value.map { SecretValue(copying: $0.span) })
    }
}
