// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSystem

/// What `doctor` has to say about keys: docs/FORMAT.md §4.4.
extension Engine {
    /// Where opened keys lie, what a change of keys left undone, and what it left behind.
    func examineKeys(_ deadline: Deadline) throws(KeychainFailure) -> [Finding] {
        let operation = "examine the keys"
        let facts = try readFacts(operation, deadline)
        return try translating(operation) {
            var findings: [Finding] = []
            if let provider = facts.lockState?.provider {
                let place = provider.place == .kernel ? "kernel" : "process"
                findings.append(
                    Finding(.fine, "opened keys lie in the \(place): \(provider.reason)"))
            }
            findings += facts.sharedLockState.findings().map { finding in
                Finding(
                    .warning, finding,
                    hint: "find out which program did that; `valet lock --all` removes them")
            }
            if try facts.newest.recoveryPublicKey != nil {
                findings.append(Finding(.fine, "a recovery key opens the keychain"))
            }
            findings += try changeFindings(facts) + strayKeys(facts)
            findings += tpmFindings(facts, deadline)
            return findings + deviceKeyFindings(facts, deadline)
        }
    }

    /// An unlocked keychain works without its device key, until it is to be unlocked again.
    private func deviceKeyFindings(_ facts: KeychainFacts, _ deadline: Deadline) -> [Finding] {
        guard facts.lockState != nil else { return [] }
        do throws(KeychainFailure) {
            try source.check(facts, until: deadline)
            return []
        } catch {
            return [Finding(error)]
        }
    }

    private func changeFindings(_ facts: KeychainFacts) throws -> [Finding] {
        if facts.older != nil {
            return [
                Finding(
                    .warning, "a change of keys has not come to its end",
                    hint: facts.lockState == nil
                        ? "the next change of an item goes on with it"
                        : KeychainFailure.unlockHint)
            ]
        }
        guard try isErasePending() else { return [] }
        return [
            Finding(
                .warning, "old keys may still be on the disk",
                hint: "end programs that read the keychain for long; then change an item")
        ]
    }
}
