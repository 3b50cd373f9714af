// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// A keychain that this process unlocks for itself if a verb finds it locked, where each process
/// keeps its own opened keys. Where keys are shared it does not ask: `valet unlock` unlocks them.
struct UnlockingAccess: ItemAccess {
    private let items: any ItemAccess
    private let unlocking: ProcessUnlocking

    init(_ items: any ItemAccess, passcodes: any SecretSource) {
        self.items = items
        unlocking = ProcessUnlocking(passcodes: passcodes, keychain: items.keychain)
    }

    var keychain: any KeychainAccess { items.keychain }

    func add(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try items.add(item, value: value) }
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking.run { () throws(KeychainFailure) in try items.set(item, value: value) }
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
}

/// A listing whose steps unlock the keychain if they find it locked.
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

/// Unlocks a keychain for this process alone, where each process keeps its own opened keys.
struct ProcessUnlocking {
    let passcodes: any SecretSource
    let keychain: any KeychainAccess

    /// Runs `body`. If the keychain is locked, unlocks it and runs `body` again.
    func run<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            guard error.code == .locked, try keychain.isUnlockedByProcess() else { throw error }
            try askAndUnlock(after: error)
            return try body()
        }
    }

    private func askAndUnlock(after failure: KeychainFailure) throws(KeychainFailure) {
        var problem: String?
        var triesLeft = passcodes.isInteractive ? 3 : 1
        while true {
            triesLeft -= 1
            let passcode = try KeychainPasscode(try ask(problem, failure))
            do throws(KeychainFailure) {
                return try keychain.unlock(passcode)
            } catch {
                guard error.code == .authenticationFailed, triesLeft > 0 else { throw error }
                problem = error.message
            }
        }
    }

    private func ask(
        _ problem: String?, _ failure: KeychainFailure
    ) throws(KeychainFailure) -> SecretBytes {
        do throws(UserPresenceError) {
            return try passcodes.ask(
                PasscodePrompt(
                    description: "Unlock the keychain for this command.", previousError: problem))
        } catch {
            if error.code == .cancelled {
                throw KeychainFailure(.userCancelled, during: failure.operation)
            }
            let reason = KeychainFailure(
                .locked, during: failure.operation,
                message: "\(failure.message), and \(error.reason)")
            throw KeychainFailure(reason, hint: Self.hint)
        }
    }

    private static let hint =
        "pass the passcode through a file descriptor, and its number in $VALET_PASSCODE_FD: "
        + "VALET_PASSCODE_FD=3 … 3<passcode.txt"
}
