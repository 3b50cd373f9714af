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

/// What a look at the keychain has found.
struct ObservedChanges: Sendable {
    let changes: [ObservedChange]
    /// The new properties of what has changed, as far as they can be told to all programs.
    let properties: [PropertyChange]
    /// Items whose new properties are not among these.
    let untold: Set<ItemPath>

    /// The items that have changed.
    var items: Set<ItemPath> {
        Set(
            changes.compactMap { change in
                guard case .item(let item) = change.subject, change.kind == .changed else {
                    return nil
                }
                return item
            })
    }
}

/// Finds out, on a thread of its own, what changes in the keychain and whether it is locked.
final class KeychainObserver: Sendable {
    private let holdings: Holdings
    private let inbox: Inbox<SecretService.Event>
    private let end = Cancellation()

    /// The most items whose properties one look tells.
    private static let maximalChangeCount = 64
    /// For each item of a collection, the pause after its list was told, in nanoseconds: while a
    /// program stores many items, the lists take a small part of the time.
    private static let listPause: Int64 = 100_000
    /// The pause after which a thread that found nothing to watch with tries again.
    private static let retryPause = Duration.seconds(1)
    private static let pauseWithoutAnnouncements = Duration.seconds(30)

    init(_ holdings: Holdings, _ inbox: Inbox<SecretService.Event>) {
        (self.holdings, self.inbox) = (holdings, inbox)
    }

    private var store: ItemStore { holdings.list.session.store }

    /// Looks once, so that no later change is missed, then continues on another thread.
    func start() {
        let seen = look(after: Seen())
        do {
            try BackgroundThread.start { self.run(after: seen) }
        } catch {
            inbox.add(.noted("valet: warning: programs are not told what changes: \(error)"))
        }
    }

    func stop() { end.cancel() }

    /// What the last look has found.
    private struct Seen: Sendable {
        var snapshot = ItemSnapshot<ObservedChange.Subject>()
        var lockState: LockState?
        /// When the keychain locks by itself.
        var remaining: Duration?
        /// Collections whose lists of items have changed since they were told.
        var changedLists: Set<String> = []
        /// What programs may use by a lasting yes.
        var grants: Set<AccessGrant> = []
        /// When the lists can be told again.
        var nextLists = Deadline.immediately
    }

    private func look(after last: Seen) -> Seen {
        var seen = last
        let availability = inbox.known { () throws(KeychainFailure) in
            try store.keychain.availability()
        }
        if let found = availability {
            // In a folder that nobody may write, other programs do not announce a lock.
            let pause = found.isAnnounced ? nil : Self.pauseWithoutAnnouncements
            seen.remaining = [found.remaining, pause].compactMap(\.self).min()
            seen.lockState = found.state
            if found.state == .beforeFirstUnlock { holdings.remembered.forgetAll() }
            if let former = last.lockState, former.isLocked != found.state.isLocked {
                inbox.add(
                    .lockChanged(
                        isLocked: found.state.isLocked,
                        collections(withItems: former == .beforeFirstUnlock)))
            }
        }
        // Watching does not count as use of the keychain: what it opens is not opened again.
        var records: [ItemPath: SecretRecord] = [:]
        let changes = inbox.known { () throws(KeychainFailure) in
            try store.changes(since: &seen.snapshot) { item in
                let subject = self.subject(item)
                if case .item(let path)? = subject, let record = self.holdings.record(of: item) {
                    if item.accessGroup == DesktopItem.group {
                        self.holdings.remembered.remember(record, of: path)
                    }
                    if last.lockState != nil, records.count < Self.maximalChangeCount {
                        records[path] = record
                    }
                }
                return subject
            }
        }
        tell((changes ?? []).compactMap(Self.change), records, &seen)
        lookAtGrants(&seen)
        return seen
    }

    /// When a grant was last used is no change.
    private func lookAtGrants(_ seen: inout Seen) {
        let list = inbox.known { () throws(KeychainFailure) in
            try holdings.list.session.grants()
        }
        guard let found = list?.grants else { return }
        let grants = Set(
            found.map { AccessGrant($0.program, collection: $0.collection, since: $0.since) })
        if grants != seen.grants { inbox.add(.grantsChanged) }
        seen.grants = grants
    }

    private func tell(
        _ changes: [ObservedChange], _ records: [ItemPath: SecretRecord], _ seen: inout Seen
    ) {
        var untold: Set<ItemPath> = []
        for change in changes {
            guard case .item(let item) = change.subject else { continue }
            if change.kind == .deleted { holdings.remembered.forget(item) }
            if change.kind != .changed {
                seen.changedLists.insert(item.collection)
            } else if records[item] == nil {
                untold.insert(item)
            }
        }
        let properties = properties(after: changes, records) + changedLists(&seen)
        guard !changes.isEmpty || !properties.isEmpty else { return }
        inbox.add(
            .observed(ObservedChanges(changes: changes, properties: properties, untold: untold)))
    }

    private func run(after first: Seen) {
        var (seen, isNoted) = (first, false)
        while !end.isCancelled {
            do throws(KeychainFailure) {
                var watch = try ItemWatch(store)
                end.listen { [watch] in watch.wake() }
                defer { end.stopListening() }
                while !end.isCancelled {
                    watch.beginLook()
                    seen = look(after: seen)
                    let lists = seen.changedLists.isEmpty ? nil : seen.nextLists.remaining
                    watch.wait(atMost: [seen.remaining, lists].compactMap(\.self).min())
                }
            } catch {
                if !isNoted {
                    inbox.add(
                        .noted(
                            "valet: warning: programs learn a second late what changes: "
                                + error.message))
                }
                isNoted = true
                _ = WaitLimit(until: Deadline(after: Self.retryPause), cancellation: end).wait(
                    for: -1)
                seen = look(after: seen)
            }
        }
    }

    /// The properties of what has changed, as far as they can be told to all programs.
    private func properties(
        after changes: [ObservedChange], _ records: [ItemPath: SecretRecord]
    ) -> [PropertyChange] {
        var told: [PropertyChange] = []
        var isServiceChanged = false
        for change in changes {
            switch (change.subject, change.kind) {
            case (.item(let item), .changed):
                guard let record = records[item] else { continue }
                told.append(
                    PropertyChange(
                        object: .item(item), properties: Holdings.properties(of: record)))
            case (.item, _): break
            case (.collection(let name), .changed):
                told += properties(of: .collection(name), withItems: false)
            case (.collection, _): isServiceChanged = true
            }
        }
        return isServiceChanged ? told + properties(of: .service, withItems: false) : told
    }

    private func properties(of object: ObjectPath, withItems: Bool) -> [PropertyChange] {
        // A name other than "Items" leaves out the items of a collection.
        let found = try? holdings.properties(of: object, only: withItems ? nil : "Label")
        return (found ?? nil).map { [PropertyChange(object: object, properties: $0)] } ?? []
    }

    /// The properties of all collections of the keychain.
    ///
    /// - Parameter withItems: Whether it was not known which collections and items there are.
    private func collections(withItems: Bool) -> [PropertyChange] {
        let names = (try? holdings.collections()) ?? [CollectionList.login]
        let told = names.filter { $0 != CollectionList.session }.flatMap { name in
            properties(of: .collection(name), withItems: withItems)
        }
        return withItems ? properties(of: .service, withItems: false) + told : told
    }

    /// The lists of items that have changed, once they can be told again.
    private func changedLists(_ seen: inout Seen) -> [PropertyChange] {
        guard !seen.changedLists.isEmpty, seen.nextLists.hasPassed else { return [] }
        var (told, count): ([PropertyChange], Int64) = ([], 0)
        for name in seen.changedLists.sorted() {
            guard let ids = holdings.itemsWithoutOpening(of: name) else { continue }
            count += Int64(ids.count)
            let paths = ids.map { ItemPath(collection: name, id: $0).text }
            told.append(
                PropertyChange(object: .collection(name), properties: [("Items", .paths(paths))]))
        }
        seen.changedLists = []
        seen.nextLists = Deadline(after: .nanoseconds(count * Self.listPause))
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
        // This collection is always there; its label is stored once it has one.
        case .added(.collection(CollectionList.login)), .removed(.collection(CollectionList.login)):
            ObservedChange(kind: .changed, subject: .collection(CollectionList.login))
        case .added(let subject): ObservedChange(kind: .created, subject: subject)
        case .changed(let subject): ObservedChange(kind: .changed, subject: subject)
        case .removed(let subject?): ObservedChange(kind: .deleted, subject: subject)
        case .removed(nil): nil
        }
    }
}

extension Inbox where Event == SecretService.Event {
    /// The result of a read that the service can do without; nil if it fails. Lost changes are told
    /// to the person who runs the service: no other call hears of them again.
    func known<R>(_ body: () throws(KeychainFailure) -> R) -> R? {
        do {
            return try body()
        } catch {
            if error.cause == .lostChanges { add(.noted("valet: error: \(error)")) }
            return nil
        }
    }
}
