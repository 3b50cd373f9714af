// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// A change of the keychain, whichever program made it.
struct ObservedChange: Sendable {
    enum Kind: String, Sendable {
        case created = "Created"
        case changed = "Changed"
        case deleted = "Deleted"
    }

    enum Subject: Hashable, Sendable {
        case item(ItemPath)
        case collection(String)
    }

    let kind: Kind
    let subject: Subject
}

/// Finds out, on a thread of its own, what changes in the keychain and whether it is locked.
final class KeychainObserver: Sendable {
    private let holdings: Holdings
    private let inbox: Inbox<SecretService.Event>
    private let end = Cancellation()

    /// The limits above which properties are not told: for items that changed at once, and for
    /// items in a collection.
    private static let (maximalChangeCount, maximalItemCount) = (64, 1_000)

    init(_ holdings: Holdings, _ inbox: Inbox<SecretService.Event>) {
        (self.holdings, self.inbox) = (holdings, inbox)
    }

    private var store: ItemStore { holdings.list.session.store }

    /// Looks once, so that no later change is missed, then continues on another thread.
    func start() {
        let seen = look(after: Seen())
        // Without a thread clients hear of no change, and everything else works.
        try? BackgroundThread.start { try? self.run(after: seen) }
    }

    func stop() { end.cancel() }

    /// What the last look has found.
    private struct Seen: Sendable {
        var snapshot = ItemSnapshot<ObservedChange.Subject>()
        var isLocked: Bool?
        /// When the keychain locks by itself.
        var remaining: Duration?
    }

    private func look(after last: Seen) -> Seen {
        var seen = last
        if let found = try? store.keychain.availability() {
            seen.remaining = found.remaining
            let isLocked = found.state == .locked || found.state == .beforeFirstUnlock
            if let wasLocked = last.isLocked, wasLocked != isLocked {
                inbox.add(.lockChanged(isLocked))
            }
            seen.isLocked = isLocked
        }
        // Watching does not count as use of the keychain: what it opens is not opened again.
        var records: [ItemPath: SecretRecord] = [:]
        let changes = try? store.changes(since: &seen.snapshot) { item in
            let subject = self.subject(item)
            if case .item(let path)? = subject, last.isLocked != nil,
                records.count <= Self.maximalChangeCount
            {
                records[path] = self.holdings.record(of: item)
            }
            return subject
        }
        let observed = (changes ?? []).compactMap(Self.change)
        if !observed.isEmpty {
            inbox.add(.observed(observed, properties(after: observed, records)))
        }
        return seen
    }

    private func run(after first: Seen) throws(KeychainFailure) {
        var watch = try ItemWatch(store)
        end.listen { [watch] in watch.wake() }
        var seen = first
        while !end.isCancelled {
            watch.beginLook()
            seen = look(after: seen)
            watch.wait(atMost: seen.remaining)
        }
    }

    /// The new properties of what has changed, as far as they can be told.
    private func properties(
        after changes: [ObservedChange], _ records: [ItemPath: SecretRecord]
    ) -> [PropertyChange] {
        var (told, collections): ([PropertyChange], Set<String>) = ([], [])
        var isServiceChanged = false
        func tell(_ object: ObjectPath) {
            // A name other than "Items" leaves out the items of a collection.
            if let properties = try? holdings.properties(of: object, only: "Label") {
                told.append(PropertyChange(object: object, properties: properties))
            }
        }
        for change in changes {
            switch (change.subject, change.kind) {
            case (.item(let item), .changed):
                guard let record = records[item], records.count <= Self.maximalChangeCount else {
                    continue
                }
                told.append(
                    PropertyChange(
                        object: .item(item), properties: Holdings.properties(of: record)))
            case (.item(let item), _): collections.insert(item.collection)
            case (.collection(let name), .changed): tell(.collection(name))
            case (.collection, _): isServiceChanged = true
            }
        }
        if isServiceChanged { tell(.service) }
        for name in collections.sorted() {
            guard let ids = holdings.itemsWithoutOpening(of: name),
                ids.count <= Self.maximalItemCount
            else { continue }
            let paths = ids.map { ItemPath(collection: name, id: $0).text }
            told.append(
                PropertyChange(object: .collection(name), properties: [("Items", .paths(paths))]))
        }
        return told
    }

    private func subject(_ item: StoredItem) -> ObservedChange.Subject? {
        guard item.itemClass == .genericPassword else { return nil }
        guard item.accessGroup == DesktopItem.group else {
            return holdings.collection(sharing: item).map { name in
                .item(ItemPath(collection: name, id: Hexadecimal.text(item.reference.itemID)))
            }
        }
        guard let service = item.attributes[.service]?.text else { return nil }
        if service == CollectionList.collections {
            return item.attributes[.account]?.text.map(ObservedChange.Subject.collection)
        }
        return KeychainItems.path(of: item, service: service).map(ObservedChange.Subject.item)
    }

    private static func change(
        _ change: ItemChange<ObservedChange.Subject>
    ) -> ObservedChange? {
        switch change {
        case .added(let subject): ObservedChange(kind: .created, subject: subject)
        case .changed(let subject): ObservedChange(kind: .changed, subject: subject)
        case .removed(let subject?): ObservedChange(kind: .deleted, subject: subject)
        case .removed(nil): nil
        }
    }
}
