// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import ValetAppleKeychainRequests

private func hashable(_ dictionary: [String: Any]) -> [String: AnyHashable] {
    dictionary.compactMapValues { $0 as? AnyHashable }
}

@Suite struct `Requests as dictionaries` {
    private let query = ItemQuery(.genericPassword, attributes: [.service: .text("s")])
    private let plain: [String: AnyHashable] = ["class": "genp", "svce": "s", "nleg": true]

    /// What `query` becomes, without what every query becomes.
    private func difference(_ change: (inout ItemQuery) -> Void) -> [String: AnyHashable] {
        var query = query
        change(&query)
        return hashable(query.dictionary).filter { plain[$0.key] != $0.value }
    }

    @Test func `A search dictionary names its class and attributes`() {
        #expect(hashable(query.dictionary) == plain)
    }

    @Test func `A search dictionary for internet passwords names that class`() {
        #expect(ItemQuery(.internetPassword).dictionary["class"] as? String == "inet")
    }

    @Test func `A search dictionary names the access group`() {
        #expect(difference { $0.accessGroup = AccessGroup("a.b") } == ["agrp": "a.b"])
    }

    @Test(arguments: ProtectionClass.allCases)
    func `A search dictionary names the protection class by its code`(
        _ protectionClass: ProtectionClass
    ) {
        let difference = difference { $0.protectionClass = protectionClass }
        #expect(difference == ["pdmn": AnyHashable(protectionClass.code)])
    }

    @Test func `A search dictionary names the synchronizable items that it is for`() {
        #expect(difference { $0.synchronizable = .synchronizedOnly } == ["sync": true])
        #expect(difference { $0.synchronizable = .any } == ["sync": "syna"])
    }

    @Test func `A search dictionary names the host`() {
        let difference = difference { $0.hostOrSubdomainOfHost = "example.com" }
        #expect(difference == ["m_HostOrSubdomainOfHost": "example.com"])
    }

    @Test func `A search dictionary names the item that it refers to`() {
        let reference = PersistentReference(
            itemClass: .genericPassword, itemID: Array(repeating: 7, count: 16))
        let difference = difference { $0.reference = reference }
        #expect(difference == ["v_PersistentRef": AnyHashable(Data(reference.bytes))])
    }

    @Test func `A search dictionary keeps the types of values`() {
        let difference = difference {
            $0.attributes[.generic] = .bytes([1])
            $0.attributes[.creator] = .number(7)
            $0.attributes[.creationDate] = .date(1)
        }
        #expect(
            difference == [
                "gena": AnyHashable(Data([1])), "crtr": AnyHashable(Int64(7)),
                "cdat": AnyHashable(Date(timeIntervalSinceReferenceDate: 1)),
            ])
    }

    @Test func `Only a search dictionary for reading has a limit`() {
        var query = query
        query.limit = 1
        #expect(query.dictionary["m_Limit"] == nil)
        #expect(query.searchDictionary["m_Limit"] as? String == "m_LimitOne")
        query.limit = 2
        #expect(query.searchDictionary["m_Limit"] as? Int == 2)
        query.limit = nil
        #expect(query.searchDictionary["m_Limit"] as? String == "m_LimitAll")
    }

    @Test func `A dictionary for a new item names its parts`() {
        let item = NewItem(
            .genericPassword, attributes: [.account: .text("a")],
            accessGroup: AccessGroup("g"), isSynchronizable: true,
            protectionClass: .afterFirstUnlock)
        #expect(
            hashable(item.dictionary) == [
                "class": "genp", "acct": "a", "agrp": "g", "sync": true, "pdmn": "ck", "nleg": true,
            ])
    }

    @Test func `A dictionary for a local item does not mention synchronization`() {
        #expect(NewItem(.genericPassword, attributes: [:]).dictionary["sync"] == nil)
    }
}
