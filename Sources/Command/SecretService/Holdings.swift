// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSealing

/// Everything that the service gives out: what the threads that carry out calls share.
struct Holdings: Sendable {
    let list: CollectionList
    private let sessionItems = SessionItems()

    init(_ session: KeychainSession) { list = CollectionList(session: session) }

    func items(of collection: String) -> any SecretItems {
        collection == CollectionList.session
            ? sessionItems : KeychainItems(list.session, collection: collection)
    }

    /// The items of a collection that there is.
    func items(existing collection: String) throws(KeychainFailure) -> any SecretItems {
        if ![CollectionList.login, CollectionList.session].contains(collection) {
            guard try list.record(of: collection) != nil else { throw Self.noSuchObject }
        }
        return items(of: collection)
    }

    /// The name of the collection that a path names, also by an alias.
    func collection(_ path: ObjectPath?) throws(KeychainFailure) -> String? {
        switch path {
        case .collection(let name): name
        case .alias(let alias): try list.target(ofAlias: alias)
        default: nil
        }
    }

    /// All collections, with the one in memory.
    func collections() throws(KeychainFailure) -> [String] {
        try list.all().map(\.name) + [CollectionList.session]
    }

    /// The paths of the items of all collections that have these attributes.
    func search(
        _ attributes: [String: String]
    ) throws(KeychainFailure) -> (unlocked: [String], locked: [String]) {
        var (unlocked, locked): ([String], [String]) = ([], [])
        for name in try collections() {
            let items = items(of: name)
            let paths = try items.ids(having: attributes).map { id in
                ItemPath(collection: name, id: id).text
            }
            if try items.isLocked() { locked += paths } else { unlocked += paths }
        }
        return (unlocked, locked)
    }

    static let noSuchObject = KeychainFailure(
        .itemNotFound, during: "look for an object", message: "there is no such object")
}

/// A secret as it travels: the structure `(oayays)` of the specification.
struct TravellingSecret: Sendable {
    /// The path of the session.
    let session: String
    let parameters: [UInt8]
    let bytes: SecretValue
    let contentType: String

    static let signature = "oayays"

    init(_ session: String, _ parameters: [UInt8], _ bytes: SecretValue, _ contentType: String) {
        (self.session, self.parameters) = (session, parameters)
        (self.bytes, self.contentType) = (bytes, contentType)
    }
}
