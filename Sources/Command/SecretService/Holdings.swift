// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The collections and items of the service, which the threads that carry out calls share.
struct Holdings: Sendable {
    /// How many items or objects a quick call looks at.
    static let quickCount = 64
    /// How many bytes of items a quick call reads, and of secrets it answers with.
    static let quickByteCount = 64 << 10

    /// The time for one call.
    static let longestCall = Duration.seconds(5)

    private(set) var list: CollectionList
    /// Whether calls fail, with `timedOut`, where they would have to wait or to look at much.
    private(set) var isQuick = false
    /// When the call must have ended, which may be for thousands of objects.
    private var end = Deadline.never
    /// Cancelled when nobody waits for the answer any more.
    private var departure: Cancellation?
    /// What the calling program may use; nil for everything.
    var access: AccessDecision?
    let remembered = LockedItemLabels()
    private var sessionItems = SessionItems()
    /// When the service began, in seconds since 1970.
    let started = SessionItems.now
    /// The groups that are given out for reading, by the names of their collections.
    private let shared: [String: AccessGroup]

    /// - Parameter shared: Other access groups of the session that are given out.
    init(_ session: KeychainSession, sharing shared: [AccessGroup] = []) {
        list = CollectionList(session: session)
        self.shared = Dictionary(
            shared.map { (Self.collection(of: $0), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The collection of a group that is shared. No program can make one of this name.
    static func collection(of group: AccessGroup) -> String {
        CollectionList.sharedPrefix + CollectionList.plain(group.rawValue)
    }

    /// A copy for the thread that must not wait.
    var quick: Holdings {
        var holdings = self
        (holdings.list, holdings.isQuick) = (
            CollectionList(session: list.session.ending(at: .immediately), isQuick: true), true
        )
        holdings.sessionItems.isQuick = true
        return holdings
    }

    /// A copy for a call that begins now.
    ///
    /// - Parameter departure: Ends the call before its deadline.
    func begun(_ departure: Cancellation?, within limit: Duration = longestCall) -> Holdings {
        var holdings = self
        (holdings.end, holdings.departure) = (Deadline(after: limit), departure)
        holdings.list = CollectionList(session: list.session.ending(at: holdings.end))
        return holdings
    }

    /// - Throws: `timedOut` if the call must end now. Its keychain operations look at the deadline
    ///   only where they wait.
    func checkTime() throws(KeychainFailure) {
        guard end.hasPassed || departure?.isCancelled == true else { return }
        throw KeychainFailure(
            .timedOut, during: "look at many objects",
            message: "the call takes longer than five seconds: ask for fewer objects at once")
    }

    /// A copy with the access of one program.
    func seen(by access: AccessDecision?) -> Holdings {
        var holdings = self
        holdings.access = access
        return holdings
    }

    func items(of collection: String) -> any SecretItems {
        let items: any SecretItems =
            if collection == CollectionList.session {
                sessionItems
            } else if let group = shared[collection] {
                SharedItems(session: list.session, group: group, isQuick: isQuick)
            } else {
                KeychainItems(list.session, collection: collection, isQuick: isQuick)
            }
        let access = access?.access(to: collection) ?? .allow
        return access == .allow ? items : ClosedItems(items: items, isHidden: access == .deny)
    }

    /// Whether the collection in memory has items, which end with the service.
    var hasSessionItems: Bool { !sessionItems.isEmpty }

    /// - Throws: `timedOut` for a quick call with more objects than ``quickCount``, or more bytes
    ///   than ``quickByteCount``.
    func checkQuick(_ count: Int, byteCount: Int = 0) throws(KeychainFailure) {
        guard isQuick, count > Self.quickCount || byteCount > Self.quickByteCount else { return }
        throw KeychainFailure(.timedOut, during: "look at many items")
    }

    /// - Throws: `locked` for a collection that the calling program may not use;
    ///   `invalidRequest` for a shared one.
    func checkChange(of collection: String) throws(KeychainFailure) {
        guard access?.access(to: collection) ?? .allow == .allow else { throw ClosedItems.closed }
        if shared[collection] != nil { throw SharedItems.readOnly }
    }

    /// The items of a collection that must exist.
    func items(existing collection: String) throws(KeychainFailure) -> any SecretItems {
        if collection != CollectionList.login {
            guard try record(of: collection) != nil else { throw Self.noSuchObject }
        }
        return items(of: collection)
    }

    /// The collection of an item of another group; nil for one that is not given out.
    func collection(sharing item: StoredItem) -> String? {
        guard item.attributes[.accessControl] == nil else { return nil }
        return shared.first { $0.value == item.accessGroup }?.key
    }

    /// The record of an item that is already open.
    func record(of item: StoredItem) -> SecretRecord? {
        item.accessGroup == DesktopItem.group ? SecretRecord(item) : SharedItems.record(item)
    }

    /// The ids of the items of a collection; nil if that takes opening them, or fails.
    func itemsWithoutOpening(of collection: String) -> [String]? {
        shared[collection] == nil ? try? items(of: collection).ids(having: nil) : nil
    }

    /// nil if there is no such collection.
    func record(of collection: String) throws(KeychainFailure) -> CollectionRecord? {
        if let group = shared[collection] {
            return CollectionRecord(name: collection, label: group.rawValue)
        }
        return try list.record(of: collection)
    }

    /// The name of the collection that a path names, also by an alias.
    func collection(_ path: ObjectPath?) throws(KeychainFailure) -> String? {
        try checkTime()
        return switch path {
        case .collection(let name): name
        case .alias(let alias): try list.target(ofAlias: alias)
        default: nil
        }
    }

    /// All collections, with the one in memory.
    func collections() throws(KeychainFailure) -> [String] {
        try list.all().map(\.name) + shared.keys.sorted() + [CollectionList.session]
    }

    /// The paths of the items of all collections that have these attributes.
    func search(
        _ attributes: [LookupName: String]
    ) throws(KeychainFailure) -> (unlocked: [String], locked: [String]) {
        // One search of all collections of the keychain, if it is unlocked.
        let kept = attributes.isEmpty ? nil : try unlockedItems(attributes)
        let isLocked = if kept == nil { try list.session.isLocked() } else { false }
        let isUnknown = if isLocked { try isBeforeFirstUnlock() } else { false }
        let others = shared.keys.sorted() + [CollectionList.session]
        let names = if let kept { kept.keys.sorted() } else { try list.all().map(\.name) }
        var (unlocked, locked): ([String], [String]) = ([], [])
        for name in names + others {
            let access = access?.access(to: name) ?? .allow
            guard access != .deny else { continue }
            let paths =
                if let known = kept?[name] {
                    known.map(\.text)
                } else if isUnknown, name == CollectionList.login {
                    [try postponed(attributes).text]
                } else {
                    try items(of: name).ids(having: attributes).map { id in
                        ItemPath(collection: name, id: id).text
                    }
                }
            if access == .ask || (isLocked && name != CollectionList.session) {
                locked += paths
            } else {
                unlocked += paths
            }
        }
        return (unlocked, locked)
    }

    /// The items of the keychain that have these attributes, by their collections; nil if it is
    /// locked.
    private func unlockedItems(
        _ attributes: [LookupName: String]
    ) throws(KeychainFailure) -> [String: [ItemPath]]? {
        let everything = KeychainItems(
            list.session, collection: CollectionList.login, isQuick: isQuick)
        do {
            return Dictionary(
                grouping: try everything.paths(having: attributes), by: \.collection)
        } catch {
            guard error.code == .locked else { throw error }
            return nil
        }
    }

    /// The answer to a change of the collection in memory.
    static let alwaysThere = Answer.refusal(
        .notSupported, "the collection 'session' can be neither renamed nor deleted")

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

    /// What a message has at most: the largest value of an item, and its padding.
    static let (maximalByteCount, maximalParameterByteCount) = (
        ItemStore.maximalValueByteCount + 16, 1 << 10
    )

    init(_ session: String, _ parameters: [UInt8], _ bytes: SecretValue, _ contentType: String) {
        (self.session, self.parameters) = (session, parameters)
        (self.bytes, self.contentType) = (bytes, contentType)
    }

    /// The secret itself.
    ///
    /// - Throws: `invalidRequest` if it is not sealed for its session.
    func opened(by transfer: TransferSession) throws(KeychainFailure) -> SecretValue {
        guard let value = transfer.opened(parameters, bytes) else {
            throw KeychainFailure(
                .invalidRequest, during: "open a secret",
                message: "the secret is not encrypted with the key of its session")
        }
        return value
    }
}
