// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/keys-and-states.md §5 and spec/secitem.md §9, cell by cell.
@Suite struct `Every call in every state` {
    @Test(arguments: TableState.allCases)
    func `Every call answers as the tables say in every state`(_ state: TableState) throws {
        let fixture = try StateFixture(state)
        for table in StateTable.all {
            for protectionClass in ProtectionClass.allCases {
                let expected = try #require(table.status(protectionClass, state))
                // A call may create what there was not.
                let fixture = state == .absent ? try StateFixture(state) : fixture
                let found = status {
                    try table.operation.perform(protectionClass, fixture)
                }
                #expect(
                    found == expected,
                    "\(table.operation) \(protectionClass.code) \(state): \(table.section)")
            }
        }
    }

    @Test func `Every state has a table of answers`() {
        #expect(Set(StateTable.all.map(\.operation)) == Set(StateOperation.allCases))
    }

    @Test(arguments: [TableState.beforeFirstUnlock, .locked])
    func `A call that a state refuses has changed nothing`(_ state: TableState) throws {
        let fixture = try StateFixture(state)
        var kept: [(StateOperation, ProtectionClass)] = []
        for table in StateTable.all {
            for protectionClass in ProtectionClass.allCases
            where table.status(protectionClass, state) == errSecInteractionNotAllowed {
                _ = status { try table.operation.perform(protectionClass, fixture) }
                kept.append((table.operation, protectionClass))
            }
        }
        try fixture.unlock()
        for (operation, protectionClass) in kept {
            var query = ItemQuery(
                .genericPassword,
                attributes: [.service: .text(operation.service(protectionClass))],
                synchronizable: .any)
            query.limit = 10
            let items = try? fixture.session.copy(query, [.attributes, .value]).items
            let expected = operation.items(protectionClass)
            #expect(
                items?.map(\.protectionClass) ?? [] == expected.map(\.protectionClass),
                "\(operation) \(protectionClass.code)")
            #expect(items?.allSatisfy { $0.value?.data == Data("value".utf8) } ?? true)
        }
    }

    private func status(_ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return errSecSuccess
        } catch {
            return (error as? KeychainFailure)?.status ?? errSecInternalComponent
        }
    }
}

/// spec/keys-and-states.md §5, state K of a keychain with a passcode, and §8, case 15.
@Suite struct `A locked keychain` {
    let fixture: StateFixture
    let query: NSDictionary = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: "filter",
    ]

    init() throws {
        fixture = try StateFixture(.unlocked)
    }

    private var service: KeychainSession { fixture.session }

    private func code(_ body: () throws -> Void) -> KeychainFailure.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.code
        }
    }

    private func addThree() throws {
        for label in ["X", "Y", "Z"] {
            let item: NSDictionary = [
                kSecAttrAccount: label, kSecAttrLabel: label, kSecValueData: Data(label.utf8),
            ]
            _ = try service.add(query + item)
        }
        try fixture.session.store.keychain.lock()
    }

    private func accounts() throws -> [String?] {
        try fixture.unlock()
        let more: NSDictionary = [
            kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll,
        ]
        let found = try service.copyMatching(query + more) as? [NSDictionary]
        return found?.map { $0[kSecAttrAccount] as? String } ?? []
    }

    @Test func `A locked keychain deletes the one item that has a label`() throws {
        try addThree()
        try service.delete(query + [kSecAttrLabel: "X"])
        #expect(try accounts() == ["Y", "Z"])
    }

    @Test func `A locked keychain deletes nothing by an attribute that it cannot read`() throws {
        try addThree()
        let date: NSDictionary = [kSecAttrModificationDate: Date(timeIntervalSince1970: 1)]
        #expect(code { try service.delete(query + date) } == .locked)
        #expect(try accounts() == ["X", "Y", "Z"])
    }

    @Test func `A locked keychain without device key reports the device key before the passcode`()
        throws
    {
        try fixture.session.store.keychain.lock(all: true)
        try fixture.removeDeviceKey()
        let operation = StateOperation.copyData
        #expect(code { try operation.perform(.whenUnlocked, fixture) } == .incomplete)
        #expect(code { try fixture.unlock() } == .incomplete)
    }

    @Test func `A locked keychain refuses another device key`() throws {
        try fixture.session.store.keychain.lock(all: true)
        try fixture.replaceDeviceKey()
        let operation = StateOperation.add
        #expect(code { try operation.perform(.whenUnlocked, fixture) } == .keyUnavailable)
        #expect(code { try fixture.unlock() } == .keyUnavailable)
    }

    @Test func `A locked keychain reads what is open without the device key`() throws {
        try fixture.removeDeviceKey()
        #expect(code { try StateOperation.copyData.perform(.whenUnlocked, fixture) } == nil)
        try fixture.session.store.keychain.lock()
        #expect(code { try StateOperation.copyData.perform(.whenUnlocked, fixture) } == .incomplete)
        #expect(code { try StateOperation.set.perform(.afterFirstUnlock, fixture) } == nil)
        #expect(try fixture.session.store.keychain.status().state == .incomplete)
    }
}
