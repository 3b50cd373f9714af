// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// On whose behalf a verb works.
struct Requester: Hashable, Sendable {
    /// nil for the command's own.
    var application: String?
    /// A shared group that the application is taken to have.
    var group: AccessGroup?

    /// The application whose items the command keeps unless told otherwise.
    static let defaultApplication = "valet"
}

/// The valet that a verb works on.
struct Scope: Hashable, Sendable {
    var requester = Requester()
    /// nil for the valet of a shared group that has no identifier.
    var identifier: String?
    var accessibility = ProtectionClass.whenUnlocked
    var isCloud = false

    /// The name under which the valet keeps its items.
    var service: String {
        let kind: ServiceName.Kind = isCloud ? .synchronizableValet : .valet
        guard let group = requester.group else {
            return ServiceName.standard(
                kind, identifier: identifier ?? "", accessibility: accessibility.storedName)
        }
        return ServiceName.sharedGroup(
            kind, group: group.nameWithoutPrefix, identifier: identifier,
            accessibility: accessibility.storedName)
    }

    /// What messages call the valet.
    var name: String {
        switch (requester.group, identifier) {
        case (nil, let identifier): "valet \(quoted(identifier ?? ""))"
        case (let group?, nil): "group \(quoted(group.rawValue))"
        case (let group?, let identifier?):
            "valet \(quoted(identifier)) of group \(quoted(group.rawValue))"
        }
    }

    /// A search for all of the valet's items, or for the one called `key`.
    func query(key: String? = nil) -> ItemQuery {
        var attributes: [Attribute: AttributeValue] = [.service: .text(service)]
        attributes[.account] = key.map(AttributeValue.text)
        var query = ItemQuery(
            .genericPassword, attributes: attributes, accessGroup: requester.group,
            synchronizable: isCloud ? .synchronizedOnly : .localOnly)
        query.protectionClass = accessibility
        return query
    }

    /// The item called `key`.
    func item(key: String) -> NewItem {
        NewItem(
            .genericPassword, attributes: [.service: .text(service), .account: .text(key)],
            accessGroup: requester.group, isSynchronizable: isCloud,
            protectionClass: accessibility)
    }
}

extension AccessGroup {
    /// What follows the first dot; all of a name without dots.
    var nameWithoutPrefix: String {
        guard let dot = rawValue.firstIndex(of: ".") else { return rawValue }
        return String(rawValue[rawValue.index(after: dot)...])
    }
}
