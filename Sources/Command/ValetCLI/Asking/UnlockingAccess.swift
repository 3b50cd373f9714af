// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// A keychain that is unlocked if a verb finds it locked: see ``CommandUnlocking``.
struct UnlockingAccess: ItemAccess {
    private let items: any ItemAccess
    private let unlocking: CommandUnlocking

    init(_ items: any ItemAccess, passcodes: any SecretSource, console: any Console) {
        self.items = items
        unlocking = CommandUnlocking(
            passcodes: passcodes, keychain: items.keychain, console: console)
    }

    var keychain: any KeychainAccess { items.keychain }
    var applicationIdentifier: String { items.applicationIdentifier }

    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try items.add(item, value: value) }
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try items.set(item, value: value) }
    }

    func services(
        having key: String, among services: [PasswordService]
    ) throws(KeychainFailure) -> [PasswordService] {
        try unlocking.run { () throws(KeychainFailure) in
            try items.services(having: key, among: services)
        }
    }

    func place(
        _ placement: Placement
    ) throws(KeychainFailure) -> (found: [Placement.Occupied], choice: Placement.Choice) {
        try unlocking.run { () throws(KeychainFailure) in try items.place(placement) }
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> SecretValue? {
        try unlocking.run { () throws(KeychainFailure) in try items.value(of: name) }
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        try unlocking.run { () throws(KeychainFailure) in try items.contains(name) }
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try unlocking.run { () throws(KeychainFailure) in try items.delete(query) }
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing {
        let listing = try unlocking.run { () throws(KeychainFailure) in try items.list(query) }
        return UnlockingListing(listing: listing, unlocking: unlocking)
    }

    func everything() throws(KeychainFailure) -> any Listing {
        let listing = try unlocking.run { () throws(KeychainFailure) in try items.everything() }
        return UnlockingListing(listing: listing, unlocking: unlocking)
    }

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try unlocking.run { () throws(KeychainFailure) in try items.value(of: query) }
    }

    func details(of query: ItemQuery) throws(KeychainFailure) -> [ItemDetails] {
        try unlocking.run { () throws(KeychainFailure) in try items.details(of: query) }
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?
    ) throws(KeychainFailure) -> Int {
        try unlocking.run { () throws(KeychainFailure) in
            try items.update(query, changes, value: value)
        }
    }
}

/// A listing whose steps unlock the keychain if they find it locked.
private struct UnlockingListing: Listing {
    var listing: any Listing
    let unlocking: CommandUnlocking

    var isAtEnd: Bool { listing.isAtEnd }
    var omission: KeychainFailure? { listing.omission }

    mutating func next() throws(KeychainFailure) -> [ListedItem] {
        var next = listing
        let items = try unlocking.run { () throws(KeychainFailure) in try next.next() }
        listing = next
        return items
    }
}
