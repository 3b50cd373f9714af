// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import KeychainServices
internal import KeychainStore
internal import SecItemRequests
internal import SecretMemory

/// The embedded keychain, asked by typed requests.
struct StoreKeychain: KeychainBackend {
    func set(_ item: NewItem, value: Data) throws(KeychainFailure) {
        try KeychainSession.current().set(item, value: SecretValue(copying: value.span))
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> Data? {
        try KeychainSession.current().value(of: name).map(\.data)
    }

    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure) {
        try KeychainSession.current().set(
            items.map { ($0.item, SecretValue(copying: $0.value.span)) })
    }

    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data] {
        try KeychainSession.current().values(of: accounts, in: service).mapValues(\.data)
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        try KeychainSession.current().contains(name)
    }

    func accounts(of service: PasswordService) throws(KeychainFailure) -> Set<String> {
        let accounts = try KeychainSession.current().accounts(of: service)
        var keys = Set<String>(minimumCapacity: accounts.count)
        for case .text(let account) in accounts { keys.insert(account) }
        return keys
    }

    func copy(_ query: ItemQuery, withValues: Bool) throws(KeychainFailure) -> [FoundItem] {
        let parts: ItemParts = withValues ? [.attributes, .value] : .attributes
        return try KeychainSession.current().copy(query, parts).map(FoundItem.init)
    }

    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem] {
        try SecItemKeychain().copy(matching: dictionary)
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try KeychainSession.current().delete(query)
    }

    func add(
        _ items: [(item: NewItem, value: Data)], removing: [FoundItem]
    ) throws(TransferFailure) {
        do {
            try KeychainSession.current().add(
                items.map { ($0.item, SecretValue(copying: $0.value.span)) },
                removing: try references(removing))
        } catch {
            // Only what is to be removed can be missing.
            throw error.code == .itemNotFound ? .removing(error) : .adding(error)
        }
    }

    private func references(
        _ items: [FoundItem]
    ) throws(KeychainFailure) -> [PersistentReference] {
        try items.map { item throws(KeychainFailure) in
            guard let reference = PersistentReference(bytes: Array(item.reference)) else {
                throw KeychainFailure(.itemNotFound, during: "remove an item")
            }
            return reference
        }
    }
}

extension FoundItem {
    fileprivate init(_ item: StoredItem) {
        account = item.attributes[.account]?.hashable ?? AnyHashable("")
        service = item.attributes[.service]?.hashable ?? AnyHashable("")
        protectionClass = item.protectionClass
        value = item.value.map(\.data) ?? Data()
        reference = Data(item.reference.bytes)
        dictionary = [:]
    }
}
