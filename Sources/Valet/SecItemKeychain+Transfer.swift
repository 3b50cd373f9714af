// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetSecItemRequests

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
        let search = query
        let result = try Platform.refusingDamage(when: withValues) {
            () throws(KeychainFailure) in
            try functions.copy(search, "read items")
        }
        guard let found = result as? [[String: Any]] else {
            throw KeychainFailure(.internalFault, during: "read items")
        }
        // What finds an item again: where it was found, and the context with the proof.
        let kept = [SecItemKey.usesDataProtectionKeychain, SecItemKey.authenticationContext]
        let context = query.filter { kept.contains($0.key) }
        return try found.map { attributes throws(KeychainFailure) in
            try item(attributes, context, withValue: withValues)
        }
    }

    private func item(
        _ attributes: [String: Any], _ context: [String: Any], withValue: Bool
    ) throws(KeychainFailure) -> FoundItem {
        guard let reference = attributes[SecItemKey.persistentReference] as? Data else {
            throw KeychainFailure(.internalFault, during: "read items")
        }
        let selector = context[SecItemKey.usesDataProtectionKeychain]
        let value = try withValue ? self.value(of: reference, context) : nil
        let date = attributes[Attribute.modificationDate.rawValue] as? Date
        let flag = attributes[Attribute.synchronizable.rawValue] as? NSNumber
        return FoundItem(
            account: hashable(attributes[Attribute.account.rawValue]),
            service: hashable(attributes[Attribute.service.rawValue]),
            accessGroup: attributes[Attribute.accessGroup.rawValue] as? String,
            isSynchronizable: flag?.boolValue ?? false,
            protectionClass: (attributes[Attribute.accessible.rawValue] as? String)
                .flatMap(ProtectionClass.init(code:)),
            modificationDate: date?.timeIntervalSinceReferenceDate,
            value: value, reference: reference,
            dictionary: restorable(attributes, value: value, selector: selector))
    }

    /// The value of the item that `reference` names; nil for an item without one.
    private func value(
        of reference: Data, _ context: [String: Any]
    ) throws(KeychainFailure) -> Data? {
        var query = context
        query[SecItemKey.persistentReference] = reference
        query[SecItemKey.returnData] = true
        do throws(KeychainFailure) {
            return try functions.copy(query, "read an item") as? Data
        } catch {
            // Apple's keychain says this of an item that has attributes and no value.
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
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

    /// Does everything that a transfer says. The system has no transactions, so that each step
    /// that was done is undone when a later one fails; what cannot be undone, either, stays.
    func perform(_ transfer: Transfer) throws(TransferFailure) {
        var done = Transfer()
        var added: [Data] = []
        do throws(KeychainFailure) {
            for change in transfer.changes {
                try self.change(change.found, to: change.item)
                done.changes.append(change)
            }
            for (item, value) in transfer.additions { added.append(try add(item, value: value)) }
        } catch {
            undo(done, added: added)
            throw error.code == .itemNotFound ? .removing(error) : .storing(error)
        }
        for item in transfer.removals {
            do throws(KeychainFailure) {
                try remove(item.reference, item.selector)
                done.removals.append(item)
            } catch {
                undo(done, added: added)
                throw .removing(error)
            }
        }
    }

    /// Gives an item another class or access control. It keeps its value, which is not touched.
    private func change(_ found: FoundItem, to item: NewItem) throws(KeychainFailure) {
        let kept = [Attribute.accessible, .accessControl].map(\.rawValue)
        let changes = item.dictionary.filter { kept.contains($0.key) }
        try functions.check(functions.update(found.query, changes), "change an item")
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
        let query = FoundItem.query(reference, selector)
        try functions.check(functions.delete(query), "delete an item")
    }

    private func undo(_ done: Transfer, added: [Data]) {
        for item in done.removals { _ = functions.add(item.dictionary) }
        for reference in added { try? remove(reference, true) }
        for (found, _) in done.changes {
            let kept = [Attribute.accessible, .accessControl].map(\.rawValue)
            let before = found.dictionary.filter { kept.contains($0.key) }
            _ = functions.update(found.query, before)
        }
    }
}

extension FoundItem {
    /// Which of macOS's keychains the item was found in.
    fileprivate var selector: Any? { dictionary[SecItemKey.usesDataProtectionKeychain] }

    /// Finds this item alone.
    fileprivate var query: [String: Any] { Self.query(reference, selector) }

    fileprivate static func query(_ reference: Data, _ selector: Any?) -> [String: Any] {
        var query: [String: Any] = [
            SecItemKey.itemClass: ItemClass.genericPassword.code,
            SecItemKey.persistentReference: reference,
        ]
        query[SecItemKey.usesDataProtectionKeychain] = selector
        return query
    }
}
