// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A search` {
    /// What a limit comes to.
    struct Limit: Sendable {
        let value: @Sendable () -> Any
        let limit: Int?
        let isList: Bool
        var canMatch = true
    }

    /// spec/secitem.md §3.6.
    @Test(arguments: [
        Limit(value: { kSecMatchLimitOne }, limit: 1, isList: false),
        Limit(value: { kSecMatchLimitAll }, limit: nil, isList: true),
        Limit(value: { 1 }, limit: 1, isList: false),
        Limit(value: { 2 }, limit: 2, isList: true),
        Limit(value: { NSNumber(value: 1000) }, limit: 1000, isList: true),
        Limit(value: { -1 }, limit: nil, isList: true),
        Limit(value: { -2 }, limit: 1, isList: true),
        Limit(value: { Int64.min }, limit: 1, isList: true),
        Limit(value: { 0 }, limit: 1, isList: false, canMatch: false),
    ])
    func `The limit of a search is a number or a name`(_ row: Limit) throws {
        let request = try CopyRequest(genericPassword + [kSecMatchLimit: row.value()])
        #expect(request.search.query.limit == row.limit)
        #expect(request.isList == row.isList)
        #expect(request.search.canMatch == row.canMatch)
    }

    @Test func `A search finds one item by default`() throws {
        let request = try CopyRequest(genericPassword)
        #expect(request.search.query.limit == 1)
        #expect(!request.isList)
    }

    /// spec/secitem.md §3.6, for generic passwords.
    @Test(arguments: [
        StatusRow("an unknown limit", [kSecMatchLimit: "m_Limit"], errSecParam),
        StatusRow("a boolean for a limit", [kSecMatchLimit: true], errSecParam),
        StatusRow("data for a limit", [kSecMatchLimit: Data()], errSecParam),
        StatusRow("issuers", [kSecMatchIssuers: [Data()]], errSecUnimplemented),
        StatusRow("text for issuers", [kSecMatchIssuers: "a"], errSecParam),
        StatusRow("no policy", [kSecMatchPolicy: "a"], errSecParam),
        StatusRow("a host", [kSecMatchHostOrSubdomainOfHost: "a.b"], errSecUnimplemented),
        StatusRow("a number for a host", [kSecMatchHostOrSubdomainOfHost: 1], errSecParam),
        StatusRow("trusted only", [kSecMatchTrustedOnly: true], 0),
        StatusRow("trusted as number", [kSecMatchTrustedOnly: 1], errSecParam),
        StatusRow("valid on a date", [kSecMatchValidOnDate: Date()], 0),
        StatusRow("valid now", [kSecMatchValidOnDate: NSNull()], 0),
        StatusRow("valid on a number", [kSecMatchValidOnDate: 1], errSecParam),
        StatusRow("an address", [kSecMatchEmailAddressIfPresent: "a@b"], 0),
        StatusRow("no address", [kSecMatchEmailAddressIfPresent: 1], errSecParam),
        StatusRow("a subject", [kSecMatchSubjectContains: 1], 0),
        StatusRow("a search list", [kSecMatchSearchList: [1]], 0),
        StatusRow("an item list", [kSecMatchItemList: [1]], 0),
    ])
    func `A search knows the match keys`(_ row: StatusRow) {
        #expect(parseStatus(.copyMatching, row.dictionary()) == row.status)
    }

    @Test func `A search looks for internet passwords of a host`() throws {
        let query = internetPassword + [kSecMatchHostOrSubdomainOfHost: "www.example.com"]
        let request = try CopyRequest(query)
        #expect(request.search.query.hostOrSubdomainOfHost == "www.example.com")
    }

    @Test func `A search filters by everything that is given`() throws {
        let date = Date(timeIntervalSinceReferenceDate: 7.5)
        let given: NSDictionary = [
            kSecAttrAccount: "a", kSecAttrLabel: Data([1]), kSecAttrAccessGroup: "g",
            kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
            kSecAttrCreationDate: date, kSecValueData: Data([9]),
        ]
        var expected = ItemQuery(
            .genericPassword,
            attributes: [
                .account: .text("a"), .label: .bytes([1]), .creationDate: .date(7.5),
            ], accessGroup: AccessGroup("g"))
        expected.protectionClass = .afterFirstUnlock
        #expect(try SearchRequest(deleting: genericPassword + given).query == expected)
    }

    @Test func `A search says what to return`() throws {
        let query: NSDictionary = [kSecReturnData: true, kSecReturnAttributes: false]
        #expect(try CopyRequest(genericPassword + query).returning == .data)
    }

    @Test func `A delete or update acts on every match`() throws {
        #expect(try SearchRequest(deleting: genericPassword).query.limit == nil)
        #expect(try UpdateRequest(genericPassword, [:]).search.query.limit == nil)
    }
}
