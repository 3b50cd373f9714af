// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore
internal import SecretMemory
internal import UserPresence

/// A keychain that is unlocked for this process alone when a verb meets it locked, where opened
/// keys stay in each process. Where they are shared nobody is asked: that is `valet unlock`.
final class UnlockingAccess: ItemAccess {
    private let keychain: any ItemAccess
    private let passcodes: any SecretSource

    init(_ keychain: any ItemAccess, passcodes: any SecretSource) {
        self.keychain = keychain
        self.passcodes = passcodes
    }

    func set(_ item: NewItem, value: SecretValue) throws(KeychainFailure) {
        try unlocking { () throws(KeychainFailure) in try keychain.set(item, value: value) }
    }

    func value(of query: ItemQuery) throws(KeychainFailure) -> SecretValue? {
        try unlocking { () throws(KeychainFailure) in try keychain.value(of: query) }
    }

    func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        try unlocking { () throws(KeychainFailure) in try keychain.contains(query) }
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try unlocking { () throws(KeychainFailure) in try keychain.delete(query) }
    }

    func list(_ query: ItemQuery) throws(KeychainFailure) -> Listing {
        try unlocking { () throws(KeychainFailure) in try keychain.list(query) }
    }

    func report() throws(KeychainFailure) -> StatusReport { try keychain.report() }

    func diagnose() -> [Finding] { keychain.diagnose() }

    func isUnlockedByProcess() throws(KeychainFailure) -> Bool {
        try keychain.isUnlockedByProcess()
    }

    func unlock(_ passcode: KeychainPasscode) throws(KeychainFailure) {
        try keychain.unlock(passcode)
    }

    /// Runs `body`, and once more after unlocking if it met the keychain locked.
    private func unlocking<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            guard error.code == .locked, try keychain.isUnlockedByProcess() else { throw error }
            try unlock(after: error)
            return try body()
        }
    }

    private func unlock(after failure: KeychainFailure) throws(KeychainFailure) {
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
        "give the passcode through a descriptor, and its number in $VALET_PASSCODE_FD"
}
