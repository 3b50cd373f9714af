// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `The synchronizable flag` {
    /// A value of the flag, and what it means to a search, to adding and to an update.
    struct Row: Sendable, CustomTestStringConvertible {
        let value: @Sendable () -> Any
        let searched: ItemQuery.Synchronizable
        let stored: Bool?
        var testDescription: String { "\(value())" }
    }

    /// spec/secitem.md §4.1, §4.2.
    static let rows = [
        Row(value: { true }, searched: .synchronizedOnly, stored: true),
        Row(value: { kCFBooleanTrue as Any }, searched: .synchronizedOnly, stored: true),
        Row(value: { 1 }, searched: .synchronizedOnly, stored: true),
        Row(value: { "1" }, searched: .synchronizedOnly, stored: true),
        Row(value: { false }, searched: .localOnly, stored: false),
        Row(value: { 0 }, searched: .localOnly, stored: false),
        Row(value: { "0" }, searched: .localOnly, stored: false),
        Row(value: { kSecAttrSynchronizableAny }, searched: .any, stored: nil),
    ]

    @Test(arguments: rows)
    func `The synchronizable flag chooses the items of a search`(_ row: Row) throws {
        let query = genericPassword + [kSecAttrSynchronizable: row.value()]
        #expect(try CopyRequest(query).search.query.synchronizable == row.searched)
        #expect(try SearchRequest(deleting: query).query.synchronizable == row.searched)
        #expect(try UpdateRequest(query, [:]).search.query.synchronizable == row.searched)
    }

    @Test(arguments: rows)
    func `A new item with the synchronizable flag "any" is local`(_ row: Row) throws {
        let attributes = genericPassword + [kSecAttrSynchronizable: row.value()]
        #expect(try AddRequest(attributes).item.isSynchronizable == row.stored ?? false)
    }

    @Test(arguments: rows)
    func `An update with the synchronizable flag "any" does not change it`(_ row: Row) throws {
        let changes: NSDictionary = [kSecAttrSynchronizable: row.value()]
        let request = try UpdateRequest(genericPassword, changes)
        #expect(request.changes.isSynchronizable == row.stored)
    }

    @Test func `Without the synchronizable flag an item is local`() throws {
        #expect(try CopyRequest(genericPassword).search.query.synchronizable == .localOnly)
        #expect(try !AddRequest(genericPassword).item.isSynchronizable)
    }

    @Test(arguments: ["x", "01", "true"])
    func `The synchronizable flag with another text matches nothing`(_ text: String) throws {
        let query = genericPassword + [kSecAttrSynchronizable: text]
        #expect(try !CopyRequest(query).search.canMatch)
        #expect(try !SearchRequest(deleting: query).canMatch)
        #expect(try !UpdateRequest(query, [:]).search.canMatch)
        #expect(parseStatus(.add, query) == errSecParam)
    }

    @Test(arguments: SecItemCall.allCases)
    func `The synchronizable flag is neither data nor a date`(_ call: SecItemCall) {
        let data = genericPassword + [kSecAttrSynchronizable: Data([1])]
        let date = genericPassword + [kSecAttrSynchronizable: Date()]
        #expect(parseStatus(call, data) == errSecParam)
        #expect(parseStatus(call, date) == errSecParam)
    }

    @Test func `The synchronizable flag may be set for a class that never leaves the device`()
        throws
    {
        let attributes: NSDictionary = [
            kSecAttrSynchronizable: true,
            kSecAttrAccessible: kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
        ]
        let item = try AddRequest(genericPassword + attributes).item
        #expect(item.isSynchronizable)
        #expect(item.protectionClass == .whenUnlockedThisDeviceOnly)
    }
}
