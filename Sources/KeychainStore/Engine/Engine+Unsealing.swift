// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSystem

/// A keychain without a passcode whose device secret a TPM has.
extension Engine {
    /// Has the TPM give out the device secret, for this process and those that come after it: its
    /// keys are put where those of an unlocked keychain are. Never called in a transaction, nor
    /// under the lock: others would wait for the TPM, too.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable`, `timedOut`, `inputOutput`.
    func unseal(_ facts: KeychainFacts, _ deadline: Deadline) throws(KeychainFailure) {
        let protector = Protector(try source.secret(of: facts, until: deadline))
        // A reader that finds no keys asks the TPM itself.
        try? share(facts, openedBy: protector)
    }

    /// Publishes the keys, unless somebody is writing or has changed them.
    private func share(
        _ facts: KeychainFacts, openedBy protector: borrowing Protector
    ) throws {
        let lockState = facts.sharedLockState
        guard lockState.isShared, !directory.isReadOnly else { return }
        let opened = try facts.unlock(with: protector)
        let held = try lock.acquire(before: .immediately)
        let now = try readFacts("open the keychain", .immediately)
        if now.settings == facts.settings {
            try lockState.publish(facts.published(opened), within: .none)
        }
        _ = consume held
    }
}
