// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSystem

/// The items that a client has used by their paths. Clients keep what they read of these, so they
/// are told when it changes.
struct SeenItems: Sendable {
    /// More than a window shows. Of further items a client hears by the signals of collections.
    private static let (maximalCount, maximalByteCount) = (1_000, 256 << 10)

    private(set) var paths: Set<ItemPath> = []
    private var byteCount = 0

    mutating func add(_ path: ItemPath) {
        let more = path.collection.utf8.count + path.id.utf8.count
        guard paths.count < Self.maximalCount, byteCount + more <= Self.maximalByteCount,
            paths.insert(path).inserted
        else { return }
        byteCount += more
    }
}

extension Holdings {
    /// What the calling program can read of items now. Leaves out items that are gone.
    func changes(of items: some Sequence<ItemPath>) -> [PropertyChange] {
        items.compactMap { item in
            (try? properties(of: .item(item))).map { properties in
                PropertyChange(object: .item(item), properties: properties)
            }
        }
    }
}

extension SecretService {
    /// Notes that a client uses an object.
    func see(_ object: ObjectPath, by client: String) {
        guard case .item(let item) = object else { return }
        clients[client]?.seen.add(item)
    }

    /// Tells each client what it can read now of the items that it has seen.
    ///
    /// - Parameter changed: The only items that matter; nil for all.
    func tellSeenItems(_ changed: Set<ItemPath>? = nil) {
        for client in clients.keys { tellSeenItems(changed, to: client) {} }
    }

    /// Tells one client, then does `next` on the thread that has read the items.
    func tellSeenItems(
        _ changed: Set<ItemPath>? = nil, to client: String,
        then next: @escaping @Sendable () -> Void
    ) {
        guard let state = clients[client] else { return next() }
        let items = changed.map(state.seen.paths.intersection) ?? state.seen.paths
        guard !items.isEmpty else { return next() }
        let (inbox, holdings, access) = (inbox, holdings.seen(by: state.access), state.access)
        let departure = state.departure
        let job = Workers.Job(
            run: {
                inbox.add(.seen(client, access, holdings.begun(departure).changes(of: items)))
                next()
            }, refuse: next)
        let answer = workers.run(for: client, of: owner(of: client)?.name ?? "", job)
        if answer != .taken { next() }
    }

    /// Sends what was read of items to a client that may still read it.
    func emit(
        _ changes: [PropertyChange], seenBy client: String, _ access: AccessDecision?
    ) throws(SystemError) {
        guard clients[client] != nil, isCurrent(access, of: client) else { return }
        for change in changes {
            guard case .item(let item) = change.object else { continue }
            try emit(change, to: client)
            try emit(SessionItemChange.changed.rawValue, item: item, to: client)
        }
    }
}
