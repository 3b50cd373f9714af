// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSealing
internal import ValetSystem

extension SecretService {
    /// What happens to an item in memory: the names of signals.
    enum SessionItemChange: String, Sendable {
        case created = "ItemCreated"
        case changed = "ItemChanged"
        case deleted = "ItemDeleted"
    }
}

/// The items of the collection `session`: in memory alone, until the service ends.
struct SessionItems: SecretItems {
    private typealias Item = (record: SecretRecord, value: SecretValue)

    private struct Contents {
        private(set) var items: [UInt64: Item] = [:]
        private(set) var byteCount = 0
        var last: UInt64 = 0

        /// Puts an item in place of another, or removes it.
        ///
        /// - Throws: `valueTooLarge` if the items would be too many, or have too many bytes.
        mutating func set(_ id: UInt64, _ item: Item?) throws(KeychainFailure) {
            let difference = Self.byteCount(item) - Self.byteCount(items[id])
            let isMore = item != nil && items[id] == nil
            guard difference <= 0 || byteCount + difference <= SessionItems.maximalByteCount,
                !isMore || items.count < SessionItems.maximalCount
            else {
                throw KeychainFailure(
                    .valueTooLarge, during: "store a secret",
                    message: "the collection in memory is full")
            }
            byteCount += difference
            items[id] = item
        }

        /// About how many bytes an item takes.
        private static func byteCount(_ item: Item?) -> Int {
            guard let item else { return 0 }
            let attributes = item.record.attributes.reduce(0) {
                $0 + $1.key.text.utf8.count + $1.value.utf8.count
            }
            return 256 + item.record.label.utf8.count + item.record.contentType.utf8.count
                + attributes + item.value.byteCount
        }
    }

    /// More than clients keep for a session.
    private static let (maximalByteCount, maximalCount) = (64 << 20, 10_000)
    /// How many items a quick search looks at.
    private static let quickCount = 256

    private final class Memory: Sendable {
        let contents = Lock(Contents())
    }

    private let memory = Memory()
    /// Whether reads fail, with `timedOut`, if they would have to wait or to look at many items.
    var isQuick = false

    private var contents: Lock<Contents> {
        _read { yield memory.contents }
    }

    /// False also while a call changes the items: nobody waits for that.
    var isEmpty: Bool { contents.withLockIfAvailable { $0.items.isEmpty } ?? false }

    func isLocked() -> Bool { false }

    func ids(having attributes: [LookupName: String]?) throws(KeychainFailure) -> [String] {
        let wanted = attributes ?? [:]
        // No item has so many, or so long ones.
        guard LookupAttributes(wanted) != nil else { return [] }
        // All items at this moment: nobody waits while they are searched.
        let items = try read { $0 }
        if isQuick, items.count > Self.quickCount { throw Self.timedOut }
        return items.filter { $0.value.record.attributes.areFound(by: wanted) }
            .keys.sorted().map(String.init)
    }

    private func read<R: Sendable>(
        _ body: ([UInt64: Item]) -> R
    ) throws(KeychainFailure) -> R {
        guard isQuick else { return contents.withLock { body($0.items) } }
        guard let found = contents.withLockIfAvailable({ body($0.items) }) else {
            throw Self.timedOut
        }
        return found
    }

    private static let timedOut = KeychainFailure(.timedOut, during: "look at many items")

    func exists(_ id: String) throws(KeychainFailure) -> Bool { try record(of: id) != nil }

    func record(of id: String) throws(KeychainFailure) -> SecretRecord? {
        try read { items in UInt64(id).flatMap { items[$0]?.record } }
    }

    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)? {
        let item = try read { items in UInt64(id).flatMap { items[$0] } }
        return item.map { ($0.value, $0.record.contentType) }
    }

    func store(
        _ record: SecretRecord, _ value: SecretValue, replacing isReplacing: Bool
    ) throws(KeychainFailure) -> (id: String, wasThere: Bool) {
        try Self.check(record)
        let now = Self.now
        return try contents.withLock { (contents) throws(KeychainFailure) in
            var record = record
            (record.created, record.modified) = (now, now)
            let same =
                isReplacing
                ? contents.items.first {
                    $0.value.record.attributes.areSameItem(as: record.attributes)
                } : nil
            if let (id, old) = same {
                record.created = old.record.created
                if old.record.attributes.haveGeneralSchema {
                    record.attributes = old.record.attributes
                }
                try contents.set(id, (record, value))
                return (String(id), true)
            }
            try contents.set(contents.last + 1, (record, value))
            contents.last += 1
            return (String(contents.last), false)
        }
    }

    func change(_ id: String, _ change: SecretChange) throws(KeychainFailure) -> Bool {
        let now = Self.now
        return try contents.withLock { (contents) throws(KeychainFailure) in
            guard let id = UInt64(id), var item = contents.items[id] else { return false }
            item.record.label = change.label ?? item.record.label
            item.record.attributes = change.attributes ?? item.record.attributes
            if let secret = change.secret {
                (item.value, item.record.contentType) = (secret.value, secret.contentType)
            }
            try Self.check(item.record)
            item.record.modified = now
            try contents.set(id, item)
            return true
        }
    }

    /// - Throws: `invalidRequest` for what exceeds the limits of an item in the keychain.
    private static func check(_ record: SecretRecord) throws(KeychainFailure) {
        guard LookupAttributes(record.attributes) != nil, DesktopItem.isLabel(record.label),
            DesktopItem.isLabel(record.contentType)
        else { throw KeychainItems.tooMany }
    }

    func delete(_ id: String) throws(KeychainFailure) -> Bool {
        try contents.withLock { (contents) throws(KeychainFailure) in
            guard let id = UInt64(id), contents.items[id] != nil else { return false }
            try contents.set(id, nil)
            return true
        }
    }

    /// Seconds since 1970.
    static var now: UInt64 { UInt64(max(0, WallClock.nanoseconds / 1_000_000_000)) }
}
