// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSecretMemory

/// What verbs ask of a keychain: ``KeychainSession``, or a stand-in for it.
protocol ItemAccess {
    /// Adds an item. Throws `duplicateItem`, and changes nothing, if there is one of its name.
    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure)
    /// Adds an item, or gives the one that exists this value.
    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure)
    /// The value of the first item that matches; nil if it has none.
    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue?
    /// Whether an item matches.
    func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool
    /// Deletes all items that match; returns how many. Throws `itemNotFound` if none does.
    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int
    /// The items that match, without their values; none is no error.
    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing
    /// What there is to know about the keychain.
    func report() throws(KeychainFailure) -> StatusReport
    /// What there is to say about the keychain's health.
    func diagnose() -> [Finding]
    /// Goes on without what a damaged log has lost; returns where the log is kept, or nil.
    func discardDamagedLog() throws(KeychainFailure) -> String?
    /// Rebuilds what follows from the rows of the database; loses none.
    func repairIndexes() throws(KeychainFailure) -> IndexRepair
    /// Removes for good the damaged rows that were set aside; returns how many.
    func clearQuarantine() throws(KeychainFailure) -> Int
    /// Whether opened keys stay in each process, so that this one has to unlock for itself.
    func isUnlockedByProcess() throws(KeychainFailure) -> Bool
    /// Unlocks the keychain.
    func unlock(_ passcode: KeychainPasscode) throws(KeychainFailure)
}

extension ItemAccess {
    /// Whether an item matches, be it damaged.
    func containsAnything(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        do throws(KeychainFailure) {
            return try contains(query)
        } catch {
            guard error.code == .damaged else { throw error }
            return true
        }
    }
}

/// The items that a search finds, some at a time.
protocol Listing {
    /// Whether there are no more.
    var isAtEnd: Bool { get }
    /// Why the search has left items out so far; nil if it has not.
    var omission: KeychainFailure? { get }
    /// The next items; there may be none before the end. What fails may be tried again.
    mutating func next() throws(KeychainFailure) -> [ListedItem]
}

/// What a session lists.
private struct SessionListing: Listing {
    let session: KeychainSession
    let query: ItemQuery
    var walk: ItemWalk

    var isAtEnd: Bool { walk.isAtEnd }
    var omission: KeychainFailure? { walk.damage }

    mutating func next() throws(KeychainFailure) -> [ListedItem] {
        try session.next(of: &walk, query).map(ListedItem.init)
    }
}

extension KeychainSession: ItemAccess {
    /// The session of a requester.
    ///
    /// A requester that names nothing is the command itself, which is an application like any
    /// other: that is where `VALET_ENTITLEMENTS` counts.
    static func open(_ requester: Requester) throws(KeychainFailure) -> KeychainSession {
        if requester == Requester() { return try current() }
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

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try value(of: query, AuthenticationPolicy())
    }

    func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        try contains(query, AuthenticationPolicy())
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing {
        SessionListing(session: self, query: query, walk: try walk(query))
    }

    func report() throws(KeychainFailure) -> StatusReport {
        StatusReport(try status())
    }

    func discardDamagedLog() throws(KeychainFailure) -> String? {
        try store.discardDamagedLog()
    }

    func repairIndexes() throws(KeychainFailure) -> IndexRepair { try store.repairIndexes() }

    func clearQuarantine() throws(KeychainFailure) -> Int {
        try store.clearQuarantine()
    }

    func isUnlockedByProcess() throws(KeychainFailure) -> Bool {
        try store.status().isUnlockedByProcess
    }

    func unlock(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        try store.unlock(passcode)
    }
}

extension KeychainStatus {
    /// Whether opened keys stay in each process.
    var isUnlockedByProcess: Bool { lockStateProvider == "process" }
}
