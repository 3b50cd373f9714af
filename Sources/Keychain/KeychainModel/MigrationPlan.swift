// SPDX-License-Identifier: Apache-2.0

// The rules of migrations into a valet, over items and values of any type: `Valet` has `Data`, the
// C interface has guarded memory.

/// Why items are not migrated.
extension KeychainFailure.Code {
    /// The query is not for generic passwords, or holds a key that a migration sets.
    package static let invalidMigrationQuery = Self(
        "invalidMigrationQuery", status: -50,
        "the attributes are not for generic passwords, or name what a migration sets")
    package static let migratedKeyInvalid = Self(
        "migratedKeyInvalid", status: -50, "a key is empty, or is not text")
    package static let migratedValueInvalid = Self(
        "migratedValueInvalid", status: -50, "a value is empty")
    package static let migratedKeysEqual = Self(
        "migratedKeysEqual", status: -25299, "two items have the same key")
    package static let migratedKeyExists = Self(
        "migratedKeyExists", status: -25299, "a key exists in the valet already")
    package static let migratedItemStays = Self(
        "migratedItemStays", status: -25291, "an item could not be removed from its old place")

    /// No finger is enrolled that an item could be bound to.
    static let notBound = Self(
        "notBound", status: authenticationFailed.status, authenticationFailed.explanation)

    /// All refusals. Their indices are the raw values of `MigrationError` and of `valet.h`.
    package static let ofMigrations: [Self] = [
        .invalidMigrationQuery, .migratedKeyInvalid, .migratedValueInvalid, .migratedKeysEqual,
        .migratedKeyExists, .migratedItemStays,
    ]
}

extension KeychainFailure {
    /// The same failure, of a call that stores. Such a call does not ask the user, so a failed
    /// authentication means that the item could not be bound to a finger.
    package var ofStoring: KeychainFailure {
        guard code == .authenticationFailed else { return self }
        let failure = KeychainFailure(
            .notBound, during: operation, message: message, path: path)
        return KeychainFailure(failure, advice: advice)
    }

    package static func migration(_ code: Code) -> KeychainFailure {
        KeychainFailure(code, during: "migrate items")
    }

    /// The raw value of the case of `MigrationError` that stands for this; nil for a failure that
    /// is no refusal of a migration.
    package var migrationErrorNumber: Int? { Code.ofMigrations.firstIndex(of: code) }
}

package protocol MigratableValue {
    var isEmpty: Bool { get }
    func isEqual(to other: Self) -> Bool
}

package protocol MigratableItem {
    associatedtype Value: MigratableValue

    /// The account; nil unless it is text.
    var accountText: String? { get }
    /// The service; nil unless it is text.
    var serviceText: String? { get }
    var groupName: String? { get }
    var isSynchronizable: Bool { get }
    /// When the value may be read; nil if that is unknown.
    var knownClass: ProtectionClass? { get }
    /// nil for an item without a value.
    var value: Value? { get }
}

extension MigratableItem {
    fileprivate var isCanary: Bool { ServiceName.isCanary(accountText) }

    /// Whether the item already has the name that it would get in `valet`.
    fileprivate func isNamed(as valet: PasswordService) -> Bool {
        // Byte by byte, as the keychain compares: texts that look alike may be two names.
        serviceText?.hasSameBytes(as: valet.service) == true
            && isSynchronizable == valet.isSynchronizable
            && [groupName.map { AccessGroup($0) }, nil].contains(valet.accessGroup)
    }

    fileprivate func has(_ key: String, _ value: Value) -> Bool {
        accountText?.hasSameBytes(as: key) == true && self.value?.isEqual(to: value) == true
    }

    fileprivate func belongs(to valet: PasswordService) -> Bool {
        isNamed(as: valet) && knownClass == valet.protectionClass
    }
}

package struct MigrationPlan<Item: MigratableItem> {
    /// A key and its value, as the caller has changed them; nil leaves the item out.
    package typealias Transform =
        (Item, Item.Value) throws(KeychainFailure) -> (key: String, value: Item.Value)?

    package private(set) var additions: [(item: NewItem, value: Item.Value, source: Item?)] = []
    /// Items that keep their name and get the protection class and the access control of `item`.
    package var changes: [(found: Item, item: NewItem)] = []
    package var removals: [Item] = []
    /// The keys of the additions that must not exist yet. Keys that removals free are not among
    /// them.
    package private(set) var addedKeys: Set<ExactName> = []

    package init(
        additions: [(item: NewItem, value: Item.Value)] = [],
        changes: [(found: Item, item: NewItem)] = [], removals: [Item] = []
    ) {
        self.additions = additions.map { ($0.item, $0.value, nil) }
        (self.changes, self.removals) = (changes, removals)
    }

    /// Stores `items` in `valet`, and removes them from their old place if `removing`.
    ///
    /// An item that already has its new name cannot be stored a second time. With removal, its
    /// class and access control change in place. If `transform` has changed its key or value, a new
    /// item takes its place.
    ///
    /// The canary is never copied; it is removed with the other items. Items without a value stay
    /// where they are.
    ///
    /// - Throws: ``KeychainFailure``, also of `transform`. An empty value is refused before
    ///   `transform` is called.
    package init(
        _ items: [Item], into valet: ValetIdentity, removing: Bool, _ transform: Transform
    ) throws(KeychainFailure) {
        let place = valet.items
        let others = items.filter { !$0.isCanary }
        for (source, key, value) in try Self.pairs(from: others, transform) {
            guard removing, source.isNamed(as: place), source.has(key, value) else {
                additions.append((valet.item(key), value, source))
                addedKeys.insert(ExactName(key))
                if removing { removals.append(source) }
                continue
            }
            guard !source.belongs(to: place) else {
                throw .migration(.migratedKeyExists)
            }
            changes.append((source, valet.item(key)))
        }
        for item in removals where item.isNamed(as: place) {
            item.accountText.map { _ = addedKeys.remove(ExactName($0)) }
        }
        if removing { removals += items.filter { $0.isCanary && !$0.belongs(to: place) } }
    }

    /// Makes the changes with `perform`, if nothing is stored under an added key.
    ///
    /// - Parameter hasAny: Whether something is stored under one of the keys.
    package func carryOut(
        unless hasAny: (_ keys: Set<ExactName>) throws(KeychainFailure) -> Bool,
        _ perform: (Self) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        if additions.isEmpty && changes.isEmpty && removals.isEmpty { return }
        if !addedKeys.isEmpty, try hasAny(addedKeys) { throw .migration(.migratedKeyExists) }
        do {
            try perform(self)
        } catch {
            switch error.code {
            case .duplicateItem: throw .migration(.migratedKeyExists)
            // Only an item to change or remove can be missing.
            case .itemNotFound: throw .migration(.migratedItemStays)
            default: throw error.ofStoring
            }
        }
    }

    /// Leaves pairs as they are.
    ///
    /// - Throws: ``KeychainFailure/Code/migratedKeyInvalid`` for a key that is not text.
    package static func keep(
        _ item: Item, _ value: Item.Value
    ) throws(KeychainFailure) -> (key: String, value: Item.Value)? {
        guard let key = item.accountText else {
            throw .migration(.migratedKeyInvalid)
        }
        return (key, value)
    }

    /// The pairs to store, each with the item that it comes from.
    ///
    /// Leaves out items without a value. `transform` gets all others, whatever their account is.
    private static func pairs(
        from items: [Item], _ transform: Transform
    ) throws(KeychainFailure) -> [(source: Item, key: String, value: Item.Value)] {
        let found = items.compactMap { item in item.value.map { (item, $0) } }
        let invalidValue = KeychainFailure.migration(.migratedValueInvalid)
        guard found.allSatisfy({ !$1.isEmpty }) else { throw invalidValue }
        var keys: Set<ExactName> = []
        var pairs: [(source: Item, key: String, value: Item.Value)] = []
        for (item, value) in found {
            guard let pair = try transform(item, value) else { continue }
            guard !pair.key.isEmpty else { throw .migration(.migratedKeyInvalid) }
            guard !pair.value.isEmpty else { throw invalidValue }
            guard keys.insert(ExactName(pair.key)).inserted else {
                throw .migration(.migratedKeysEqual)
            }
            pairs.append((item, pair.key, pair.value))
        }
        return pairs
    }
}

extension ValetIdentity {
    /// Whether something is stored under one of `keys`. An explicitly set service name does not
    /// contain the accessibility: keys under it are unique among all accessibilities.
    ///
    /// - Parameters:
    ///   - contains: Whether there is an item with this name. Called if the valet's items demand
    ///     the user.
    ///   - search: The items that match, with their attributes.
    package func hasAny<Item: MigratableItem>(
        _ keys: Set<ExactName>, contains: (PasswordName) throws(KeychainFailure) -> Bool,
        search: (ItemQuery) throws(KeychainFailure) -> [Item]
    ) throws(KeychainFailure) -> Bool {
        guard demand == nil else {
            for key in keys where try contains(PasswordName(key.text, in: items)) { return true }
            return false
        }
        var query = items.query
        query.protectionClass = nil
        do {
            let accounts = try search(query).compactMap(\.accountText)
            return accounts.contains { keys.contains(ExactName($0)) }
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return false
        }
    }
}
