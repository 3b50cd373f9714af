// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSealing
internal import ValetSystem

/// Everything that the service gives out: what the threads that carry out calls share.
struct Holdings: Sendable {
    /// How many items or objects a quick call looks at.
    static let quickCount = 64

    let list: CollectionList
    /// Whether calls fail, with `timedOut`, where they would have to wait or to look at much.
    let isQuick: Bool
    private let sessionItems: SessionItems

    init(_ session: KeychainSession) {
        (list, isQuick, sessionItems) = (CollectionList(session: session), false, SessionItems())
    }

    private init(quick others: Holdings) {
        list = CollectionList(session: others.list.session.ending(at: .immediately))
        (isQuick, sessionItems) = (true, others.sessionItems)
    }

    /// The same for the thread that must not wait.
    var quick: Holdings { Holdings(quick: self) }

    func items(of collection: String) -> any SecretItems {
        collection == CollectionList.session
            ? sessionItems
            : KeychainItems(list.session, collection: collection, isQuick: isQuick)
    }

    /// Whether something is in memory that ends with the service.
    var hasSessionItems: Bool { !sessionItems.ids(having: nil).isEmpty }

    /// - Throws: `timedOut` for a quick call with more objects than ``quickCount``.
    func checkQuick(_ count: Int) throws(KeychainFailure) {
        guard isQuick, count > Self.quickCount else { return }
        throw KeychainFailure(.timedOut, during: "look at many items")
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
        let own = sessionItems.ids(having: attributes).map { id in
            ItemPath(collection: CollectionList.session, id: id).text
        }
        let everything = KeychainItems(
            list.session, collection: CollectionList.login, isQuick: isQuick)
        guard try everything.isLocked() || attributes.isEmpty else {
            return (try everything.paths(having: attributes) + own, [])
        }
        var paths: [String] = []
        for name in try list.all().map(\.name) {
            paths += try items(of: name).ids(having: attributes).map { id in
                ItemPath(collection: name, id: id).text
            }
        }
        return try everything.isLocked() ? (own, paths) : (paths + own, [])
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
