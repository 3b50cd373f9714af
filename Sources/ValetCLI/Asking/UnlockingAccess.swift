// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// A keychain that is unlocked for this process alone when a verb meets it locked, where opened
/// keys stay in each process. Where they are shared nobody is asked: that is `valet unlock`.
final class UnlockingAccess: ItemAccess {
    private let keychain: any ItemAccess
    private let unlocking: ProcessUnlocking

    init(_ keychain: any ItemAccess, passcodes: any SecretSource) {
        self.keychain = keychain
        unlocking = ProcessUnlocking(
            passcodes: passcodes, isByProcess: keychain.isUnlockedByProcess,
            unlock: keychain.unlock)
    }

    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try keychain.add(item, value: value) }
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try keychain.set(item, value: value) }
    }

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try unlocking.run { () throws(KeychainFailure) in try keychain.value(of: query) }
    }

    func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        try unlocking.run { () throws(KeychainFailure) in try keychain.contains(query) }
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try unlocking.run { () throws(KeychainFailure) in try keychain.delete(query) }
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> any Listing {
        let listing = try unlocking.run { () throws(KeychainFailure) in try keychain.list(query) }
        return UnlockingListing(listing: listing, unlocking: unlocking)
    }

    func report() throws(KeychainFailure) -> StatusReport { try keychain.report() }

    func diagnose() -> [Finding] { keychain.diagnose() }

    func discardDamagedLog() throws(KeychainFailure) -> String? {
        try keychain.discardDamagedLog()
    }

    func repairIndexes() throws(KeychainFailure) -> IndexRepair {
        try unlocking.run { () throws(KeychainFailure) in try keychain.repairIndexes() }
    }

    func clearQuarantine() throws(KeychainFailure) -> Int { try keychain.clearQuarantine() }

    func isUnlockedByProcess() throws(KeychainFailure) -> Bool {
        try keychain.isUnlockedByProcess()
    }

    func unlock(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        try keychain.unlock(passcode)
    }
}

/// A listing whose steps unlock the keychain where they meet it locked.
private struct UnlockingListing: Listing {
    var listing: any Listing
    let unlocking: ProcessUnlocking

    var isAtEnd: Bool { listing.isAtEnd }
    var omission: KeychainFailure? { listing.omission }

    mutating func next() throws(KeychainFailure) -> [ListedItem] {
        var next = listing
        let items = try unlocking.run { () throws(KeychainFailure) in try next.next() }
        listing = next
        return items
    }
}
