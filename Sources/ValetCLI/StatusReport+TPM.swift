// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainStore

/// What is shown of a TPM that keeps a keychain's keys.
extension StatusReport {
    /// The members of the JSON object that are about it, null without one.
    static let tpmSchema = [
        ("pcrs", "the PCRs of the TPM that the device key is bound to, as 0,7, or null"),
        ("storageRootKey", "persistent, or made-for-each-use; null if the TPM was not asked"),
        ("triesLeft", "how many wrong passcodes the TPM takes before it takes none, or null"),
        ("forgivesIn", "after how long it forgives one, as 10m, or null"),
        ("lockoutAuthorization", "set, or empty: anybody can reset the count; null if not asked"),
    ]

    static func tpmFields(_ status: KeychainStatus) -> [Field] {
        let tpm = status.tpm
        let key = tpm.map {
            $0.hasPersistentStorageRootKey ? "persistent" : "made-for-each-use"
        }
        let tries = tpm.map {
            $0.isLockedOut ? "locked out" : "of \($0.tryLimit) wrong passcodes"
        }
        return [
            Field(
                member: "pcrs", label: "PCRs",
                value: .text(
                    status.pcrs.isEmpty ? nil : status.pcrs.map(String.init).joined(separator: ",")
                ), remark: "how the machine is started"),
            Field(member: "storageRootKey", label: "TPM key", value: .text(key)),
            Field(
                member: "triesLeft", label: "TPM takes", value: .number(tpm?.triesLeft),
                remark: tries),
            Field(
                member: "forgivesIn", label: "TPM forgives",
                value: .text(tpm.map { DurationText.text($0.recoveryInterval) }),
                remark: "for one wrong passcode"),
            lockoutField(tpm),
        ]
    }
}

extension StatusReport {
    /// Whether anybody can reset the TPM's count of wrong passcodes.
    private static func lockoutField(_ tpm: TPMSummary?) -> Field {
        Field(
            member: "lockoutAuthorization", label: "TPM lockout",
            value: .text(tpm.map { $0.isLockoutResettable ? "empty" : "set" }),
            remark: tpm.map {
                $0.isLockoutResettable
                    ? "another system started here can reset the count of wrong passcodes"
                    : "nobody resets the count of wrong passcodes without it"
            })
    }
}
