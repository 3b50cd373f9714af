// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import SecItemRequests

extension SecItemKeychain {
    /// The items that a dictionary finds; values are read one by one.
    ///
    /// The keychains of older systems do not hand out several values at once.
    func items(
        matching query: [String: Any], withValues: Bool
    ) throws(KeychainFailure) -> [FoundItem] {
        var query = query
        query[SecItemKey.returnAttributes] = true
        query[SecItemKey.returnPersistentReference] = true
        let result = try functions.copy(query, "read items")
        guard let found = result as? [[String: Any]] else {
            throw KeychainFailure(.internalFault, during: "read items")
        }
        let selector = query[SecItemKey.usesDataProtectionKeychain]
        return try found.map { attributes throws(KeychainFailure) in
            try item(attributes, selector: selector, withValue: withValues)
        }
    }

    private func item(
        _ attributes: [String: Any], selector: Any?, withValue: Bool
    ) throws(KeychainFailure) -> FoundItem {
        guard let reference = attributes[SecItemKey.persistentReference] as? Data else {
            throw KeychainFailure(.internalFault, during: "read items")
        }
        var query: [String: Any] = [SecItemKey.persistentReference: reference]
        query[SecItemKey.usesDataProtectionKeychain] = selector
        var value: Data?
        if withValue {
            var valueQuery = query
            valueQuery[SecItemKey.returnData] = true
            value = try functions.copy(valueQuery, "read an item") as? Data
        }
        return FoundItem(
            account: hashable(attributes[Attribute.account.rawValue]),
            service: hashable(attributes[Attribute.service.rawValue]),
            protectionClass: (attributes[Attribute.accessible.rawValue] as? String)
                .flatMap(ProtectionClass.init(code:)),
            value: value ?? Data(), reference: reference,
            dictionary: restorable(attributes, value: value, selector: selector))
    }

    private func hashable(_ value: Any?) -> AnyHashable {
        if let text = value as? String { return text }
        if let bytes = value as? Data { return bytes }
        return value as? AnyHashable ?? AnyHashable("")
    }

    /// What adds an item again: all that it had but what the keychain gives it.
    private func restorable(
        _ attributes: [String: Any], value: Data?, selector: Any?
    ) -> [String: Any] {
        let given: [Attribute] = [.creationDate, .modificationDate, .tokenID, .syncViewHint]
        var item = attributes.filter { key, _ in
            Attribute(rawValue: key).map { !given.contains($0) } ?? false
        }
        // An access control carries its protection class, and both together are refused.
        if item[Attribute.accessControl.rawValue] != nil {
            item[Attribute.accessible.rawValue] = nil
        }
        item[SecItemKey.itemClass] = ItemClass.genericPassword.code
        item[SecItemKey.usesDataProtectionKeychain] = selector
        item[SecItemKey.data] = value
        return item
    }

    /// Adds all items and removes those named. The system has no transactions, so that each step
    /// that was done is undone when a later one fails; what cannot be undone, either, stays.
    func add(
        _ items: [(item: NewItem, value: Data)], removing: [FoundItem]
    ) throws(TransferFailure) {
        var added: [Data] = []
        for (item, value) in items {
            do {
                added.append(try add(item, value: value))
            } catch {
                undo(added: added, removed: [])
                throw .adding(error)
            }
        }
        for (index, item) in removing.enumerated() {
            do {
                try remove(item.reference, item.dictionary[SecItemKey.usesDataProtectionKeychain])
            } catch {
                undo(added: added, removed: removing[..<index])
                throw .removing(error)
            }
        }
    }

    private func add(_ item: NewItem, value: Data) throws(KeychainFailure) -> Data {
        var attributes = item.dictionary
        attributes[SecItemKey.data] = value
        attributes[SecItemKey.returnPersistentReference] = true
        let (status, result) = functions.add(attributes)
        try functions.check(status, "add an item")
        guard let reference = result as? Data else {
            throw KeychainFailure(.internalFault, during: "add an item")
        }
        return reference
    }

    private func remove(_ reference: Data, _ selector: Any?) throws(KeychainFailure) {
        var query: [String: Any] = [
            SecItemKey.itemClass: ItemClass.genericPassword.code,
            SecItemKey.persistentReference: reference,
        ]
        query[SecItemKey.usesDataProtectionKeychain] = selector
        try functions.check(functions.delete(query), "delete an item")
    }

    private func undo(added: [Data], removed: ArraySlice<FoundItem>) {
        for item in removed { _ = functions.add(item.dictionary) }
        for reference in added { try? remove(reference, true) }
    }
}
