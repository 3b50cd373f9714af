// SPDX-License-Identifier: Apache-2.0

import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

/// A keychain in memory that fails on demand.
final class FakeKeychain: ItemAccess, KeychainAccess {
    var keychain: any KeychainAccess { self }

    var items: [NewItem] = []
    var values: [[UInt8]] = []
    /// What every call throws.
    var failure: KeychainFailure?
    /// What `list` says that it left out.
    var omission: KeychainFailure?
    var findings: [Finding] = []
    /// Where a damaged log would be kept; nil if there is none.
    var damagedLogPath: String?
    /// How many damaged rows are set aside.
    var quarantinedRowCount = 0
    /// What a repair says.
    var repair = IndexRepair()
    var requesters: [Requester] = []
    /// The passcode that takes `failure` away; nil where keys are shared.
    var passcode: String?
    var unlockCount = 0
    /// For whom it was unlocked.
    var reaches: [UnlockReach] = []
    /// Whether programs share opened keys, although there is a passcode.
    var sharesKeys = false
    let applicationIdentifier = "valet"
    var listCount = 0

    func open(_ requester: Requester) throws(KeychainFailure) -> any ItemAccess {
        requesters.append(requester)
        return self
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try fail()
        let bytes = value.withBytes { span in span.indices.map { span[$0] } }
        if let index = items.firstIndex(of: item) {
            values[index] = bytes
        } else {
            items.append(item)
            values.append(bytes)
        }
    }

    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try fail()
        if items.contains(item) { throw KeychainFailure(.duplicateItem, during: "add an item") }
        try set(item, value: value)
    }

    func services(
        having key: String, among services: [PasswordService]
    ) throws(KeychainFailure) -> [PasswordService] {
        try fail()
        return services.filter { !matches(PasswordName(key, in: $0).query).isEmpty }
    }

    func place(
        _ placement: Placement
    ) throws(KeychainFailure) -> (found: [Placement.Occupied], choice: Placement.Choice) {
        let services = try services(having: placement.account, among: placement.services)
        let found = services.map { Placement.Occupied($0) }
        let choice = placement.choose(found)
        switch choice {
        case .nothing: break
        case .set(let service):
            try set(service.item(placement.account), value: placement.value)
        case .move(let old, let new):
            _ = try delete(PasswordName(placement.account, in: old).query)
            try set(new.item(placement.account), value: placement.value)
        }
        return (found, choice)
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> SecretValue? {
        try fail()
        guard let index = matches(name.query).first else {
            throw KeychainFailure(.itemNotFound, during: "read an item", hint: "look elsewhere")
        }
        let bytes = values[index]
        return SecretValue(copying: bytes.span)
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        try fail()
        return !matches(name.query).isEmpty
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try fail()
        let found = matches(query)
        if found.isEmpty { throw KeychainFailure(.itemNotFound, during: "delete items") }
        for index in found.reversed() {
            items.remove(at: index)
            values.remove(at: index)
        }
        return found.count
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing {
        listCount += 1
        try fail()
        let listed = matches(query).map { index in
            let item = items[index]
            let group = item.accessGroup ?? AccessGroup("valet")
            return ListedItem(
                name: ListedItem.text(item.attributes[.account]),
                owner: item.itemClass == .internetPassword
                    ? ItemOwner(kind: .internet, name: ListedItem.text(item.attributes[.server]))
                    : ItemOwner(
                        service: ListedItem.text(item.attributes[.service]), group: group),
                group: group.rawValue,
                accessibility: item.protectionClass.word,
                isCloud: item.isSynchronizable, byteCount: values[index].count, modified: 0,
                requirement: item.accessControl?.requirement,
                label: ListedItem.text(item.attributes[.label]))
        }
        return FakeListing(items: listed, omission: omission)
    }

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try fail()
        guard let index = matches(query).first else {
            throw KeychainFailure(.itemNotFound, during: "read an item")
        }
        let bytes = values[index]
        return SecretValue(copying: bytes.span)
    }

    func details(of query: ItemQuery) throws(KeychainFailure) -> [ItemDetails] {
        try fail()
        return matches(query).map { index in
            let item = items[index]
            return ItemDetails(
                reference: Self.reference(item, index),
                group: item.accessGroup?.rawValue ?? applicationIdentifier,
                isCloud: item.isSynchronizable, protectionClass: item.protectionClass,
                attributes: item.attributes, byteCount: values[index].count)
        }
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> Int {
        try fail()
        let found = matches(query)
        for index in found {
            items[index].attributes = items[index].attributes.overwritten(by: changes.attributes)
            items[index].protectionClass = changes.protectionClass ?? items[index].protectionClass
            if let value {
                values[index] = value.withBytes { span in span.indices.map { span[$0] } }
            }
        }
        return found.count
    }

    func everything() throws(KeychainFailure) -> any Listing {
        var queries = ItemClass.allCases.map { ItemQuery($0, synchronizable: .any) }
        let first = try list(queries.removeFirst())
        var all: [ListedItem] = []
        for var listing in [first, try list(queries[0])] {
            while !listing.isAtEnd { all += try listing.next() }
        }
        return FakeListing(items: all, omission: omission)
    }

    /// The position of an item, as its id.
    private static func reference(_ item: NewItem, _ index: Int) -> PersistentReference {
        PersistentReference(
            itemClass: item.itemClass,
            itemID: [UInt8](repeating: 0, count: 15) + [UInt8(index)])
    }

    func report() throws(KeychainFailure) -> StatusReport {
        try fail()
        return StatusReport(fields: [
            .init(member: "state", label: "State", value: .string("noPasscode")),
            .init(member: "folder", label: "Folder", value: .string("/tmp/a\nb"), remark: "far"),
            .init(member: "epoch", label: "Epoch", value: .null),
            .init(member: "isReadOnly", label: "Read-only", value: .flag(false)),
        ])
    }

    func diagnose() -> [Finding] { findings }

    func discardDamagedLog() throws(KeychainFailure) -> String? {
        try fail()
        defer { damagedLogPath = nil }
        return damagedLogPath
    }

    func repairIndexes() throws(KeychainFailure) -> IndexRepair {
        try fail()
        return repair
    }

    func clearQuarantine() throws(KeychainFailure) -> Int {
        try fail()
        defer { quarantinedRowCount = 0 }
        return quarantinedRowCount
    }

    func isUnlockedByProcess() throws(KeychainFailure) -> Bool { passcode != nil && !sharesKeys }

    func unlock(
        _ passcode: KeychainPasscode, _ reach: UnlockReach
    ) throws(KeychainFailure) {
        unlockCount += 1
        reaches.append(reach)
        try check(passcode)
        failure = nil
    }

    func check(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        guard let known = self.passcode, passcode.isShort == (known.count < 8) else {
            throw KeychainFailure(
                .authenticationFailed, during: "unlock the keychain", message: "wrong passcode")
        }
    }

    private func fail() throws(KeychainFailure) {
        if let failure { throw failure }
    }

    private func matches(_ query: ItemQuery) -> [Int] {
        items.indices.filter { index in
            let item = items[index]
            return item.itemClass == query.itemClass
                && query.attributes.allSatisfy {
                    (item.attributes[$0.key] ?? $0.key.defaultValue) == $0.value
                }
                && (query.reference == nil || query.reference == Self.reference(item, index))
                && (query.accessGroup == nil || item.accessGroup == query.accessGroup)
                && (query.protectionClass ?? item.protectionClass) == item.protectionClass
                && (query.synchronizable == .any
                    || (query.synchronizable == .synchronizedOnly) == item.isSynchronizable)
        }
    }
}

/// Items that are listed one at a time.
private struct FakeListing: Listing {
    var items: [ListedItem]
    let omission: KeychainFailure?
    var isAtEnd: Bool { items.isEmpty }

    mutating func next() -> [ListedItem] { [items.removeFirst()] }
}
