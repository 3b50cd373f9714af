// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `A request to add` {
    @Test func `A request to add has the defaults of a local item`() throws {
        let request = try AddRequest(genericPassword)
        #expect(request.item == NewItem(.genericPassword, attributes: [:]))
        #expect(request.item.protectionClass == .whenUnlocked)
        #expect(request.value == nil)
    }

    @Test func `A request to add has the value`() throws {
        #expect(try AddRequest(genericPassword + [kSecValueData: Data([1])]).value == Data([1]))
    }

    @Test func `A request to add distinguishes an empty value from no value`() throws {
        #expect(try AddRequest(genericPassword + [kSecValueData: Data()]).value == Data())
    }

    /// spec/secitem.md §2.5.
    @Test func `A request to add leaves the dates to the keychain`() throws {
        let dates: NSDictionary = [kSecAttrCreationDate: Date(), kSecAttrModificationDate: Date()]
        #expect(try AddRequest(genericPassword + dates).item.attributes.isEmpty)
    }

    @Test(arguments: ProtectionClass.allCases)
    func `A request to add accepts every protection class`(_ protectionClass: ProtectionClass)
        throws
    {
        let attributes = genericPassword + [kSecAttrAccessible: protectionClass.code]
        #expect(try AddRequest(attributes).item.protectionClass == protectionClass)
    }
}

@Suite struct `A request to update` {
    /// spec/secitem.md §6.
    @Test func `A request to update changes what it names`() throws {
        let changes: NSDictionary = [
            kSecAttrAccount: "b", kSecAttrAccessible: kSecAttrAccessibleAlways,
            kSecValueData: Data([1]), kSecAttrCreationDate: Date(timeIntervalSinceReferenceDate: 3),
        ]
        let request = try UpdateRequest(genericPassword + [kSecAttrAccount: "a"], changes)
        #expect(request.search.query.attributes == [.account: .text("a")])
        #expect(
            request.changes
                == ItemChanges(
                    attributes: [.account: .text("b"), .creationDate: .date(3)],
                    protectionClass: .always))
        #expect(request.value == Data([1]))
    }

    @Test func `A request to update ignores a modification date`() throws {
        let request = try UpdateRequest(genericPassword, [kSecAttrModificationDate: Date()])
        #expect(request.changes == ItemChanges())
    }

    @Test func `A request to update may change nothing`() throws {
        #expect(try UpdateRequest(genericPassword, [:]).changes == ItemChanges())
    }

    /// spec/secitem.md §6.
    @Test(arguments: [
        StatusRow("null for a value", [kSecValueData: NSNull()], errSecParam),
        StatusRow("text for a value", [kSecValueData: "a"], errSecParam),
        StatusRow("null for an attribute", [kSecAttrLabel: NSNull()], errSecParam),
        StatusRow("an attribute of another class", [kSecAttrServer: "a"], errSecNoSuchAttr),
        StatusRow("an empty attribute", [kSecAttrLabel: ""], 0),
        StatusRow("an app clip's mark", ["clip": 1], errSecNoSuchAttr),
    ])
    func `A request to update sets the attributes of the class`(_ row: StatusRow) {
        #expect(changesStatus(row.changes) == row.status)
    }

    @Test func `A request to update reports an error in the query before one in the changes`() {
        let update = { _ = try UpdateRequest(genericPassword + ["r_X": true], ["zzzz": 1]) }
        let error = #expect(throws: KeychainFailure.self) { try update() }
        #expect(error?.status == errSecParam)
    }

    @Test func `A request to update takes the class of its changes from a reference`() throws {
        let reference = PersistentReference(
            itemClass: .internetPassword, itemID: Array(1...16))
        let query: NSDictionary = [kSecValuePersistentRef: Data(reference.bytes)]
        let request = try UpdateRequest(query, [kSecAttrServer: "s"])
        #expect(request.changes.attributes == [.server: .text("s")])
    }
}
