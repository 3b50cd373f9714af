// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel

struct SecItemKeychain: KeychainBackend {
    let functions: any SecItemFunctions

    init(_ functions: any SecItemFunctions = PlatformSecItem()) {
        self.functions = functions
    }

    /// With an access control, deletes an existing item before it adds the new one, because an
    /// update would ask the user. The system has no call that deletes and adds at once.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication?
    ) throws(KeychainFailure) {
        var attributes = item.dictionary.with(authentication)
        attributes[SecItemKey.data] = value
        let query = item.query.dictionary
        // Two rounds: another process may add the item in between, or delete it.
        for _ in 0..<2 {
            let status =
                authentication == nil
                ? functions.update(query, [SecItemKey.data: value]) : functions.delete(query)
            let isAbsent = status == KeychainFailure.Code.itemNotFound.status
            guard isAbsent || authentication != nil && status == 0 else {
                return try functions.check(status, "set an item")
            }
            let added = functions.add(attributes).status
            guard added == KeychainFailure.Code.duplicateItem.status else {
                return try functions.check(added, "set an item")
            }
        }
        throw KeychainFailure(.duplicateItem, during: "set an item")
    }

    func value(
        of name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Data? {
        try value(name.query.searchDictionary.with(authentication))
    }

    private func value(_ query: [String: Any]) throws(KeychainFailure) -> Data? {
        var query = query
        query[SecItemKey.returnData] = true
        return try functions.copy(query, "read an item") as? Data
    }

    private func valueIfAny(_ query: [String: Any]) throws(KeychainFailure) -> Data? {
        do {
            return try value(query)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
    }

    func contains(
        _ name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Bool {
        var query = name.query.searchDictionary.with(authentication)
        if authentication != nil {
            query[SecItemKey.authenticationUI] = SecItemKey.authenticationUIFail
        }
        let status = functions.copy(query).status
        guard status != KeychainFailure.Code.itemNotFound.status else { return false }
        // The item exists: reading it would ask the user. A locked device gives the same status.
        let wouldAsk = status == KeychainFailure.Code.interactionNotAllowed.status
        guard authentication == nil || !wouldAsk else { return true }
        try functions.check(status, "look for an item")
        return true
    }

    func accounts(
        of service: PasswordService, _ authentication: Authentication?
    ) throws(KeychainFailure) -> [String] {
        do {
            return try copy(service.query, withValues: false, authentication)
                .compactMap(\.accountText)
        } catch  where error.code == .itemNotFound {
            return []
        }
    }

    func copy(
        _ query: ItemQuery, withValues: Bool, _ authentication: Authentication?
    ) throws(KeychainFailure) -> [FoundItem] {
        try items(matching: query.searchDictionary.with(authentication), withValues: withValues)
    }

    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem] {
        var dictionary = dictionary
        if dictionary[SecItemKey.limit] == nil {
            dictionary[SecItemKey.limit] = SecItemKey.limitAll
        }
        return try items(matching: dictionary, withValues: true)
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try functions.check(functions.delete(query.dictionary), "delete items")
    }

    /// Sets all items. The system has no transactions: if an item fails, those before it are set
    /// back. An item that cannot be set back keeps its new value.
    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure) {
        var done: [(item: NewItem, before: Data?)] = []
        do {
            for (item, value) in items {
                var query = item.query
                query.limit = 1
                let before = try valueIfAny(query.searchDictionary)
                try set(item, value: value, nil)
                done.append((item, before))
            }
        } catch {
            for (item, before) in done.reversed() {
                if let before {
                    try? set(item, value: before, nil)
                } else {
                    try? delete(item.query)
                }
            }
            throw error
        }
    }

    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data] {
        var values: [String: Data] = [:]
        for account in accounts {
            let query = PasswordName(account, in: service).query
            values[account] = try valueIfAny(query.searchDictionary)
        }
        return values
    }

    /// The items that a dictionary finds. Reads values one by one, because the keychains of older
    /// systems do not return several values at once.
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
        // Which keychain holds the item, and the context with the user's proof.
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
        let named = context.merging([SecItemKey.persistentReference: reference]) { $1 }
        // Apple's keychain finds no value of an item that has attributes alone.
        let value = try withValue ? valueIfAny(named) : nil
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

    private func hashable(_ value: Any?) -> AnyHashable {
        if let text = value as? String { return text }
        if let bytes = value as? Data { return bytes }
        return value as? AnyHashable ?? AnyHashable("")
    }

    /// A dictionary that adds an item again, without the attributes that the keychain sets itself.
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

    /// Makes every change of a transfer. The system has no transactions: if a step fails, those
    /// before it are undone. A step that cannot be undone stays.
    func perform(_ transfer: Transfer) throws(KeychainFailure) {
        var done = Transfer()
        var added: [Data] = []
        do {
            for change in transfer.changes {
                try self.change(change.found, to: change.item)
                done.changes.append(change)
            }
            for (item, value, _) in transfer.additions { added.append(try add(item, value: value)) }
            for item in transfer.removals {
                try remove(item.reference, item.selector)
                done.removals.append(item)
            }
        } catch {
            undo(done, added: added)
            throw error
        }
    }

    /// Gives an item another class or access control. Its value is not touched.
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

    /// - Throws: `itemNotFound`, whatever the reason.
    private func remove(_ reference: Data, _ selector: Any?) throws(KeychainFailure) {
        guard functions.delete(FoundItem.query(reference, selector)) == 0 else {
            throw KeychainFailure(.itemNotFound, during: "delete an item")
        }
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

extension [String: Any] {
    fileprivate func with(_ authentication: Authentication?) -> [String: Any] {
        authentication?.added(to: self) ?? self
    }
}

extension FoundItem {
    /// Which of macOS's two keychains holds the item.
    fileprivate var selector: Any? { dictionary[SecItemKey.usesDataProtectionKeychain] }

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
