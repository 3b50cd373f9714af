// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `An access group` {
    /// spec/secitem.md §5.2, the row "not a string".
    @Test(arguments: [
        (SecItemCall.add, errSecParam), (.copyMatching, errSecParam),
        (.update, errSecMissingEntitlement), (.delete, errSecMissingEntitlement),
    ])
    func `An access group in a dictionary is a string`(_ call: SecItemCall, _ status: OSStatus) {
        #expect(parseStatus(call, genericPassword + [kSecAttrAccessGroup: 1]) == status)
    }

    @Test func `An access group in the changes of an update is a string`() {
        #expect(changesStatus([kSecAttrAccessGroup: 1]) == errSecParam)
    }

    @Test func `An access group in a dictionary becomes part of the request`() throws {
        let attributes = genericPassword + [kSecAttrAccessGroup: "g"]
        let group = AccessGroup("g")
        #expect(try AddRequest(attributes).item.accessGroup == group)
        #expect(try CopyRequest(attributes).search.query.accessGroup == group)
        let update = try UpdateRequest(genericPassword, [kSecAttrAccessGroup: "g"])
        #expect(update.changes.accessGroup == group)
    }

    @Test func `Without an access group in a dictionary the keychain chooses it`() throws {
        #expect(try AddRequest(genericPassword).item.accessGroup == nil)
        #expect(try CopyRequest(genericPassword).search.query.accessGroup == nil)
    }
}

@Suite struct `A persistent reference` {
    static let reference = PersistentReference(
        itemClass: .genericPassword, itemID: Array(1...16))
    static let dictionary: @Sendable () -> NSDictionary = {
        [kSecValuePersistentRef: Data(reference.bytes)]
    }

    /// spec/secitem.md §3.2, §8.2.
    @Test(arguments: [
        StatusRow("too short", [kSecValuePersistentRef: Data("genp".utf8)], errSecParam),
        StatusRow("of the old form", [kSecValuePersistentRef: bytes("genp", 8)], errSecParam),
        StatusRow("too long", [kSecValuePersistentRef: bytes("genp", 17)], errSecParam),
        StatusRow("of no class", [kSecValuePersistentRef: bytes("abcd", 16)], errSecParam),
        StatusRow("not data", [kSecValuePersistentRef: "genp"], errSecParam),
        StatusRow(
            "of another class", [kSecValuePersistentRef: bytes("inet", 16)], errSecNoSuchClass),
        StatusRow(
            "of a key beside another class", [kSecValuePersistentRef: bytes("keys", 16)],
            errSecNoSuchClass),
        StatusRow(
            "of a key without id", [kSecValuePersistentRef: Data("keys".utf8), kSecClass: nil],
            errSecParam),
        StatusRow("of the class", [kSecValuePersistentRef: bytes("genp", 16)], 0),
        StatusRow(
            "without class", [kSecValuePersistentRef: bytes("genp", 16), kSecClass: nil], 0),
    ])
    func `A persistent reference in a dictionary is 20 bytes that begin with the class`(
        _ row: StatusRow
    ) {
        for call in SecItemCall.allCases {
            #expect(parseStatus(call, row.dictionary()) == row.status)
        }
    }

    @Test func `A persistent reference of a key finds nothing`() {
        let query: NSDictionary = [kSecValuePersistentRef: bytes("keys", 16)]
        for call in [SecItemCall.copyMatching, .update, .delete] {
            #expect(parseStatus(call, query) == errSecItemNotFound)
        }
        #expect(parseStatus(.add, query) == errSecUnimplemented)
    }

    @Test func `A persistent reference in a dictionary finds local and synchronized items`() throws
    {
        var expected = ItemQuery(Self.reference)
        expected.limit = 1
        #expect(try CopyRequest(Self.dictionary()).search.query == expected)
    }

    /// spec/secitem.md §8.2.
    @Test(arguments: [
        StatusRow("an attribute", [kSecAttrAccount: "a"], errSecParam),
        StatusRow("macOS: the flag", [kSecAttrSynchronizable: true], 0),
        StatusRow("macOS: the flag, false", [kSecAttrSynchronizable: false], 0),
        StatusRow("macOS: the date of change", [kSecAttrModificationDate: Date()], 0),
        StatusRow("a group", [kSecAttrAccessGroup: "a"], errSecParam),
        StatusRow("a protection class", [kSecAttrAccessible: "ak"], errSecParam),
        StatusRow("a date", [kSecAttrCreationDate: Date()], errSecParam),
        StatusRow("any flag", [kSecAttrSynchronizable: kSecAttrSynchronizableAny], 0),
        StatusRow("a limit", [kSecMatchLimit: kSecMatchLimitAll], 0),
        StatusRow("what to return", [kSecReturnData: true], 0),
        StatusRow("a value", [kSecValueData: Data()], 0),
    ])
    func `A persistent reference may be the only key of a search`(_ row: StatusRow) {
        let query = row.dictionary() + Self.dictionary()
        #expect(parseStatus(.copyMatching, query) == row.status)
    }

    @Test func `A persistent reference in an update is narrowed by attributes`() throws {
        let query = Self.dictionary() + [kSecAttrAccount: "a", kSecAttrSynchronizable: true]
        let request = try UpdateRequest(query, [:])
        #expect(request.search.query.reference == Self.reference)
        #expect(request.search.query.attributes == [.account: .text("a")])
        #expect(request.search.query.synchronizable == .synchronizedOnly)
    }

    @Test func `A persistent reference gives its class to an added item`() throws {
        #expect(
            try AddRequest(Self.dictionary()).item == NewItem(.genericPassword, attributes: [:]))
    }

    @Test func `A persistent reference cannot be set by an update`() {
        #expect(changesStatus(Self.dictionary()) == errSecNoSuchAttr)
    }
}

private func bytes(_ prefix: String, _ count: Int) -> Data {
    Data(prefix.utf8) + Data(repeating: 7, count: count)
}
