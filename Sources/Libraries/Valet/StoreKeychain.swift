// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSecItem

struct StoreKeychain: KeychainBackend {
    private let session: @Sendable () throws(KeychainFailure) -> KeychainSession

    init() {
        session = { () throws(KeychainFailure) in try KeychainSession.current() }
    }

    init(_ session: KeychainSession) {
        self.session = { session }
    }

    /// Adds or replaces an item with an access control. Does not ask the user; an access control
    /// for the current set of fingers binds the item to those that are enrolled now.
    ///
    /// - Throws: `duplicateItem` if the item exists with another protection class.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication?
    ) throws(KeychainFailure) {
        try session().set(item, value: .copy(of: value), authentication.policy)
    }

    func value(
        of name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Data? {
        try session().value(of: name, authentication.policy).map(\.data)
    }

    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure) {
        try session().set(
            try items.map { item throws(KeychainFailure) in
                Addition(item.item, value: try SecretValue.copy(of: item.value))
            })
    }

    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data] {
        try session().values(of: accounts, in: service).mapValues(\.data)
    }

    func contains(
        _ name: PasswordName, _ authentication: Authentication?
    ) throws(KeychainFailure) -> Bool {
        try session().contains(name, authentication.policy)
    }

    func accounts(
        of service: PasswordService, _ authentication: Authentication?
    ) throws(KeychainFailure) -> [String] {
        try session().accountTexts(of: service, authentication?.policy).itemsReportingDamage()
    }

    func copy(
        _ query: ItemQuery, withValues: Bool, _ authentication: Authentication?
    ) throws(KeychainFailure) -> [FoundItem] {
        let session = try session()
        let found =
            try withValues
            ? session.copy(query, [.attributes, .value], authentication.policy)
            : session.attributes(of: query)
        return try found.itemsUnlessDamaged().map(FoundItem.init)
    }

    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem] {
        var dictionary = dictionary
        if dictionary[SecItemKey.limit] == nil {
            dictionary[SecItemKey.limit] = SecItemKey.limitAll
        }
        return try session().items(matching: dictionary as NSDictionary)
            .itemsUnlessDamaged().map(FoundItem.init)
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try session().delete(query)
    }

    func perform(_ transfer: Transfer) throws(KeychainFailure) {
        try session().perform(
            ItemTransfer(
                additions: try transfer.additions.map { (addition) throws(KeychainFailure) in
                    Addition(
                        addition.item, value: try SecretValue.copy(of: addition.value),
                        fieldsOf: try addition.source?.version)
                },
                changes: try transfer.changes.map { (change) throws(KeychainFailure) in
                    ItemTransfer.Change(
                        try change.found.version, to: change.item,
                        value: try SecretValue.copy(ofAny: change.found.value))
                },
                deletions: try transfer.removals.map { (item) throws(KeychainFailure) in
                    try item.version
                }))
    }
}

extension Authentication? {
    fileprivate var policy: AuthenticationPolicy { self?.policy ?? AuthenticationPolicy() }
}

extension FoundItem {
    fileprivate init(_ item: StoredItem) {
        account = item.attributes[.account]?.hashable ?? AnyHashable("")
        service = item.attributes[.service]?.hashable ?? AnyHashable("")
        accessGroup = item.accessGroup.rawValue
        isSynchronizable = item.isSynchronizable
        protectionClass = item.protectionClass
        modificationDate =
            if case .date(let date)? = item.attributes[.modificationDate] { date } else { nil }
        value = item.value.map(\.data)
        reference = Data(item.reference.bytes)
        dictionary = [:]
    }

    /// - Throws: `itemNotFound` for a reference that names no item.
    fileprivate var version: ItemVersion {
        get throws(KeychainFailure) {
            guard let reference = PersistentReference(bytes: Array(reference)) else {
                throw KeychainFailure(.itemNotFound, during: "move items")
            }
            return ItemVersion(reference, modificationDate: modificationDate)
        }
    }
}
