// SPDX-License-Identifier: Apache-2.0

// Collections of the replica that remember their changes, so that a transaction writes only
// changes, and a batch looks only at changes.

/// A dictionary that remembers which keys were changed.
struct Tracked<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The contents.
    private(set) var values: [Key: Value] = [:]
    /// The keys that were changed since they were last taken.
    private(set) var changed: Set<Key> = []

    var isEmpty: Bool { values.isEmpty }

    subscript(key: Key) -> Value? {
        get { values[key] }
        _modify {
            changed.insert(key)
            yield &values[key]
        }
    }

    subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
        get { values[key] ?? value() }
        _modify {
            changed.insert(key)
            yield &values[key, default: value()]
        }
    }

    /// Returns the changed keys, and forgets that they were changed.
    mutating func takeChanged() -> Set<Key> {
        defer { changed = [] }
        return changed
    }
}

/// A set that remembers which elements were put in or taken out.
struct TrackedSet<Element: Hashable & Sendable>: Sendable {
    /// The contents.
    private(set) var values: Set<Element> = []
    /// The elements that were changed since they were last taken.
    private(set) var changed: Set<Element> = []

    var isEmpty: Bool { values.isEmpty }

    func contains(_ element: Element) -> Bool { values.contains(element) }

    mutating func insert(_ element: Element) {
        if values.insert(element).inserted { changed.insert(element) }
    }

    mutating func remove(_ element: Element) {
        if values.remove(element) != nil { changed.insert(element) }
    }

    mutating func removeAll() {
        changed.formUnion(values)
        values = []
    }

    /// Returns the changed elements, and forgets that they were changed.
    mutating func takeChanged() -> Set<Element> {
        defer { changed = [] }
        return changed
    }
}

/// The deleted records of messages that were not read yet, by log.
struct Cloud: Sendable {
    private(set) var logs: [LogID: Set<Dot>] = [:]
    private(set) var count = 0
    /// The logs that were changed since they were last taken.
    private(set) var changed: Set<LogID> = []
    /// The logs whose dots, or whose position, have changed since they were trimmed.
    private var untrimmed: Set<LogID> = []

    var isEmpty: Bool { count == 0 }
    var dots: Set<Dot> { logs.values.reduce(into: []) { $0.formUnion($1) } }

    func contains(_ dot: Dot) -> Bool { logs[dot.log]?.contains(dot) == true }

    mutating func insert(_ dot: Dot) {
        guard logs[dot.log, default: []].insert(dot).inserted else { return }
        count += 1
        changed.insert(dot.log)
        untrimmed.insert(dot.log)
    }

    /// A log was read further.
    mutating func noteRead(_ log: LogID) {
        if logs[log] != nil { untrimmed.insert(log) }
    }

    /// Drops the dots that the positions have reached.
    mutating func trim(to positions: LogTable) {
        for log in untrimmed {
            guard let dots = logs[log], let last = positions[log]?.number else { continue }
            let rest = dots.filter { $0.number > last }
            guard rest.count < dots.count else { continue }
            count -= dots.count - rest.count
            logs[log] = rest.isEmpty ? nil : rest
            changed.insert(log)
        }
        untrimmed = []
    }

    /// Returns the changed logs, and forgets that they were changed.
    mutating func takeChanged() -> Set<LogID> {
        defer { changed = [] }
        return changed
    }
}

/// The items that a batch may have to send, in the order of their changes.
///
/// With many items pending, each batch takes items from the front, and none looks at all of them.
struct NewsQueue: Sendable {
    private var keys: [SyncItemID] = []
    private var head = 0
    private var known: Set<SyncItemID> = []

    /// The items, the oldest first.
    var items: ArraySlice<SyncItemID> { keys[head...] }

    mutating func append(_ new: some Sequence<SyncItemID>) {
        for key in new where known.insert(key).inserted { keys.append(key) }
    }

    /// Drops the items in front that have nothing to send.
    mutating func drop(while isOld: (SyncItemID) -> Bool) {
        while head < keys.count, isOld(keys[head]) {
            known.remove(keys[head])
            head += 1
        }
        guard head > keys.count / 2 else { return }
        keys.removeFirst(head)
        head = 0
    }
}
