// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The generic passwords of an access group that is not the service's own, for reading: what
/// programs and people store with Valet, SecItem or the command. Items that need a person stay
/// invisible.
struct SharedItems: UnchangedItems {
    let session: KeychainSession
    let group: AccessGroup
    /// Whether a search of all items fails with `timedOut`.
    let isQuick: Bool

    private func query(_ id: String) -> ItemQuery? {
        KeychainItems.reference(id).map { reference in
            var query = ItemQuery(reference)
            query.accessGroup = group
            return query
        }
    }

    func isLocked() throws(KeychainFailure) -> Bool { try session.isLocked() }

    /// Empty while the items are locked: those that need a person cannot be told apart then.
    func ids(having attributes: [LookupName: String]?) throws(KeychainFailure) -> [String] {
        if isQuick { throw KeychainFailure(.timedOut, during: "look at many items") }
        if try isLocked() { return [] }
        let wanted = attributes ?? [:]
        let found = try existing { () throws(KeychainFailure) in
            let found = try session.attributes(of: query(wanted))
            // A program that searches may store a secret elsewhere if there is none. All items are
            // a list.
            return try wanted.isEmpty ? found.itemsReportingDamage() : found.items
        }
        return (found ?? []).filter { item in
            Self.record(item)?.attributes.contain(wanted) == true
        }.map { Hexadecimal.text($0.reference.itemID) }
    }

    /// A search for the items that may have these attributes.
    private func query(_ wanted: [LookupName: String]) -> ItemQuery {
        var query = ItemQuery(.genericPassword, accessGroup: group, synchronizable: .any)
        query.attributes[.service] = wanted["service"].map(AttributeValue.text)
        query.attributes[.account] =
            (wanted["account"] ?? wanted["username"]).map(AttributeValue.text)
        return query
    }

    func exists(_ id: String) throws(KeychainFailure) -> Bool {
        if try isLocked() { return false }
        return try record(of: id) != nil
    }

    func record(of id: String) throws(KeychainFailure) -> SecretRecord? {
        try session.item(query(id)).flatMap(Self.record)
    }

    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)? {
        guard let query = query(id), let record = try record(of: id) else { return nil }
        let value = try existing { () throws(KeychainFailure) in try session.value(of: query) }
        return value.map { ($0 ?? SecretValue(SecretBytes(byteCount: 0)), record.contentType) }
    }

    var refusal: KeychainFailure { Self.readOnly }

    static let readOnly = KeychainFailure(
        .invalidRequest, during: "change a shared item",
        message: "programs of the desktop only read the items of this collection")

    /// The record of an item, which clients find by its service and account, as Python's keyring
    /// and secret-tool's examples name them.
    static func record(_ item: StoredItem) -> SecretRecord? {
        guard item.attributes[.accessControl] == nil else { return nil }
        var record = SecretRecord(item)
        let (service, account) = (item.attributes[.service]?.text, item.attributes[.account]?.text)
        record.attributes = [LookupAttributes.schema: LookupAttributes.generalSchema]
        record.attributes["service"] = service
        record.attributes["account"] = account
        record.attributes["username"] = account
        record.contentType = DesktopItem.usualContentType
        if record.label.isEmpty { record.label = account ?? service ?? "" }
        return record
    }
}
