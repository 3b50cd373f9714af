// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetSystem
internal import ValetTPM

/// What a TPM that keeps a keychain's keys says of itself.
package struct TPMSummary: Hashable, Sendable {
    /// Whether its storage root key is kept; else it is made for each use, which takes longer.
    package let hasPersistentStorageRootKey: Bool
    /// How many wrong passcodes it takes from now on, before it takes none.
    package let triesLeft: Int
    /// How many it takes when all are forgiven.
    package let tryLimit: Int
    /// After how long it forgives one.
    package let recoveryInterval: Duration
    /// Whether the right passcode, too, would be refused.
    package let isLockedOut: Bool
    /// Whether the TPM's lockout authorization is empty. Then the tries limit nobody who can start
    /// another system on the machine: that system can reset their count.
    package let isLockoutResettable: Bool

    init(_ status: TPMStatus) {
        hasPersistentStorageRootKey = status.hasPersistentStorageRootKey
        triesLeft = status.dictionaryAttack.triesLeft
        tryLimit = status.dictionaryAttack.limit
        recoveryInterval = status.dictionaryAttack.recoveryInterval
        isLockedOut = status.dictionaryAttack.isLockedOut
        isLockoutResettable = !status.hasLockoutAuthorization
    }
}

extension ItemStore {
    /// What the TPM says of itself to which the keychain is bound, or is to be.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if it is not there or cannot be used,
    ///   `timedOut`, `inputOutput`.
    package func tpmSummary() throws(KeychainFailure) -> TPMSummary {
        do throws(TPMError) {
            return TPMSummary(try location.tpm.status(until: Deadline(after: timeLimit)))
        } catch {
            throw KeychainFailure(
                error, during: "look at the TPM", path: location.tpm.place.path)
        }
    }
}

extension Engine {
    /// What `doctor` says of the TPM that a keychain is bound to.
    func tpmFindings(_ facts: KeychainFacts, _ deadline: Deadline) -> [Finding] {
        guard facts.isBoundToTPM else { return [] }
        let path = location.tpm.place.path
        do throws(TPMError) {
            let tpm = TPMSummary(try location.tpm.status(until: deadline))
            let hasPasscode = facts.newest.level == .tpmAndPasscode
            return [
                tpm.tries(path), tpm.lockout(path, hasPasscode: hasPasscode),
                tpm.storageRootKey(path),
            ] + registers(facts, path)
        } catch {
            return [Finding(KeychainFailure(error, during: "look at the TPM", path: path))]
        }
    }

    private func registers(_ facts: KeychainFacts, _ path: String) -> [Finding] {
        guard let pcrs = try? source.registers(of: facts.newest), !pcrs.isEmpty else { return [] }
        let numbers = pcrs.numbers.map(String.init).joined(separator: ", ")
        return [
            Finding(.fine, "the device key is bound to PCRs of the TPM: \(numbers)", path: path)
        ]
    }
}

extension TPMSummary {
    fileprivate func tries(_ path: String) -> Finding {
        let state = "\(triesLeft) of \(tryLimit) wrong passcodes"
        guard !isLockedOut else {
            return Finding(
                .warning, "the TPM takes no passcodes, because too many were wrong", path: path,
                hint: "wait: it forgives one each \(recoveryInterval.components.seconds) s")
        }
        let isLow = 2 * triesLeft < tryLimit
        return Finding(
            isLow ? .warning : .fine, "the TPM takes \(state) before it takes none", path: path,
            hint: isLow
                ? "wait: it forgives one each \(recoveryInterval.components.seconds) s" : nil)
    }

    fileprivate func lockout(_ path: String, hasPasscode: Bool) -> Finding {
        guard isLockoutResettable else {
            return Finding(.fine, "the TPM's lockout authorization is set", path: path)
        }
        return Finding(
            hasPasscode ? .warning : .fine,
            "the TPM's lockout authorization is empty: anybody who starts another system on this "
                + "machine can reset the count of wrong passcodes",
            path: path, hint: hasPasscode ? Self.lockoutHint : nil)
    }

    /// How to have the TPM limit guesses. The value goes through a file, not an argument.
    package static let lockoutHint =
        "set it with `tpm2_changeauth -c lockout file:PATH`, and keep what is in that file"

    fileprivate func storageRootKey(_ path: String) -> Finding {
        Finding(
            .fine,
            hasPersistentStorageRootKey
                ? "the TPM keeps its storage root key"
                : "the TPM makes its storage root key for each use", path: path)
    }
}
