// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// The calls about items that verbs need: ``KeychainSession``, or a stand-in for it.
protocol ItemAccess {
    /// Adds an item. Throws `duplicateItem`, and changes nothing, if one has its name already.
    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure)
    /// Adds an item, or gives the existing item this value.
    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure)
    /// Those of `services` that have an item called `key`, readable or not.
    func services(
        having key: String, among services: [PasswordService]
    ) throws(KeychainFailure) -> [PasswordService]
    /// Stores a value in the service that `placement` chooses, all or nothing. Returns the found
    /// items, and the choice.
    func place(
        _ placement: Placement
    ) throws(KeychainFailure) -> (found: [Placement.Occupied], choice: Placement.Choice)
    /// The value of the item with that name; nil if it has none.
    func value(of name: PasswordName) throws(KeychainFailure) -> SecretValue?
    /// Whether there is an item with that name.
    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool
    /// Deletes all items that match; returns how many. Throws `itemNotFound` if none does.
    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int
    /// The items that match, without their values. Finding none is no error.
    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing
    /// The value of the first item that matches; nil if it has none.
    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue?
    /// The items that match with all their attributes: for queries that match few. Finding none is
    /// no error.
    func details(of query: ItemQuery) throws(KeychainFailure) -> [ItemDetails]
    /// Changes every item that matches, or none; returns how many. A value replaces theirs.
    func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> Int
    /// The items of every application.
    func everything() throws(KeychainFailure) -> any Listing
    /// The application whose items these are.
    var applicationIdentifier: String { get }
    /// The keychain that the items are in.
    var keychain: any KeychainAccess { get }
}

/// The calls about the keychain as a whole that verbs need: ``Keychain``, or a stand-in for it.
protocol KeychainAccess {
    /// The keychain's status.
    func report() throws(KeychainFailure) -> StatusReport
    /// The keychain's health.
    func diagnose() -> [Finding]
    /// Sets a damaged log aside, with the changes that it has lost. Returns the path of the log, or
    /// nil if it is not damaged.
    func discardDamagedLog() throws(KeychainFailure) -> String?
    /// Rebuilds indexes and search entries from the rows of the database. Loses no row.
    func repairIndexes() throws(KeychainFailure) -> IndexRepair
    /// Deletes the damaged rows that were set aside. Returns how many.
    func clearQuarantine() throws(KeychainFailure) -> Int
    /// Whether each process keeps its own opened keys, so that this one has to unlock for itself.
    func isUnlockedByProcess() throws(KeychainFailure) -> Bool
    /// Checks the passcode, and unlocks nothing.
    func check(_ passcode: KeychainPasscode) throws(KeychainFailure)
    func unlock(_ passcode: KeychainPasscode, _ reach: UnlockReach) throws(KeychainFailure)
}

/// For whom a keychain is unlocked.
enum UnlockReach: Hashable, Sendable {
    /// For this process alone, and until it ends.
    case process
    /// For all programs that share opened keys; with nil until it is locked.
    case session(Duration?)
}

extension ItemAccess {
    /// Whether an item matches, damaged or not.
    func hasAny(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        do {
            return try !details(of: query).isEmpty
        } catch {
            guard error.code == .damaged else { throw error }
            return true
        }
    }
}

/// The items that a search finds, in portions.
protocol Listing {
    /// Whether there are no more items.
    var isAtEnd: Bool { get }
    /// Why the search has left items out so far; nil if it has not.
    var omission: KeychainFailure? { get }
    /// The next items. The array may be empty before the end. A failed call may be repeated.
    mutating func next() throws(KeychainFailure) -> [ListedItem]
}

private struct SessionListing: Listing {
    let session: KeychainSession
    /// nil for the items of every application.
    let query: ItemQuery?
    var walk: ItemWalk
    var omission: KeychainFailure?

    var isAtEnd: Bool { walk.isAtEnd }

    mutating func next() throws(KeychainFailure) -> [ListedItem] {
        let found =
            if let query {
                try session.next(of: &walk, query)
            } else {
                try session.store.next(of: &walk)
            }
        omission = omission ?? found.damage
        return found.items.map(ListedItem.init)
    }
}

extension KeychainSession: ItemAccess {
    /// The session of a requester.
    ///
    /// A requester without application and group is the command itself, an application like any
    /// other. Only then `VALET_ENTITLEMENTS` counts.
    package static func open(_ requester: Requester) throws(KeychainFailure) -> KeychainSession {
        if requester == Requester() {
            return try current()
        }
        let application = requester.application ?? Requester.defaultApplication
        guard let group = requester.group else { return try current(onBehalfOf: application) }
        return try current(
            onBehalfOf: application, accessGroups: [AccessGroup(application), group])
    }

    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        _ = try add(item, value: value, AuthenticationPolicy())
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try set(item, value: value, AuthenticationPolicy())
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> SecretValue? {
        try value(of: name, AuthenticationPolicy())
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        try contains(name, AuthenticationPolicy())
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing {
        SessionListing(session: self, query: query, walk: try walk(query))
    }

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try value(of: query, AuthenticationPolicy())
    }

    func details(of query: ItemQuery) throws(KeychainFailure) -> [ItemDetails] {
        do {
            return try attributes(of: query).items.map(ItemDetails.init)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> Int {
        try update(query, changes, value: value, AuthenticationPolicy())
    }

    func everything() throws(KeychainFailure) -> any Listing {
        SessionListing(session: self, query: nil, walk: try store.walkEverything())
    }

    var applicationIdentifier: String { caller.applicationIdentifier }

    var keychain: any KeychainAccess { store.keychain }
}

extension Keychain: KeychainAccess {
    func report() throws(KeychainFailure) -> StatusReport {
        StatusReport(try status())
    }

    func isUnlockedByProcess() throws(KeychainFailure) -> Bool {
        try status().isUnlockedByProcess
    }

    func unlock(
        _ passcode: KeychainPasscode, _ reach: UnlockReach
    ) throws(KeychainFailure) {
        switch reach {
        case .process: try unlockForThisProcess(passcode)
        case .session(let duration): try unlock(passcode, for: duration)
        }
    }
}

extension KeychainStatus {
    /// Whether each process keeps its own opened keys.
    var isUnlockedByProcess: Bool { lockStateProvider == "process" }
}
