// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// Facts that a verb shows, in order: lines of text, or members of a JSON object. `status` shows
/// all of a keychain; `device status`, `backup verify` and `backup restore` show their own.
struct StatusReport: Sendable {
    /// One fact.
    struct Field: Sendable {
        /// The member of the JSON object.
        let member: String
        /// The start of the line of text.
        let label: String
        let value: JSON
        /// An explanation of the value.
        var remark: String?
        /// Whether the fact has a line of text.
        var isShownAsText = true
    }

    var fields: [Field]

    /// Writes the facts. Leaves out lines without a value.
    func write(to console: any Console, asJSON: Bool) throws(CLIError) {
        if asJSON {
            let members = fields.map { JSON.Member(name: $0.member, value: $0.value) }
            return try console.write(.object(members))
        }
        var text = ""
        for field in fields {
            guard field.isShownAsText, let value = Self.text(field.value) else { continue }
            let remark = field.remark.map { " (\($0))" } ?? ""
            text += (field.label + ":").padded(to: 15) + value + remark + "\n"
        }
        try console.write(text)
    }

    private static func text(_ value: JSON) -> String? {
        switch value {
        case .string(let text): Escaping.printable(text)
        case .integer(let digits): digits
        case .boolean(let flag): flag ? "yes" : "no"
        case .null, .array, .object: nil
        }
    }
}

extension StatusReport {
    /// The facts of a keychain's status.
    init(_ status: KeychainStatus) {
        fields =
            [
                Field(
                    member: "state", label: "State", value: .text(status.state.rawValue),
                    remark: status.needsRecovery ? Self.remarkOnRecovery : nil),
                Field(member: "folder", label: "Folder", value: .text(status.folder)),
                Field(member: "deviceKey", label: "Device key", value: .text(status.deviceKeyPath)),
                Field(
                    member: "level", label: "Protection", value: .text(status.level?.rawValue),
                    remark: status.level == .file ? Self.remarkOnFiles : nil),
                Field(member: "keychainID", label: "Keychain", value: .text(status.keychainID)),
                Field(member: "format", label: "Format", value: .number(status.formatVersion)),
                Field(member: "epoch", label: "Epoch", value: .number(status.epoch)),
                Field(member: "items", label: "Items", value: .number(status.itemCount)),
                Field(
                    member: "quarantinedRows", label: "Quarantined",
                    value: .number(status.quarantinedRowCount)),
                Field(
                    member: "byteCount", label: "Size in bytes",
                    value: .number(status.fileByteCount)),
                Field(member: "isReadOnly", label: "Read-only", value: .flag(status.isReadOnly)),
            ] + Self.keyFields(status) + Self.passcodeFields(status) + Self.tpmFields(status)
    }

    private static func keyFields(_ status: KeychainStatus) -> [Field] {
        /// Null while there is no keychain.
        func flag(_ flag: Bool) -> JSON { status.keychainID == nil ? .null : .flag(flag) }
        return [
            Field(
                member: "lockState", label: "Opened keys", value: .text(status.lockStateProvider),
                remark: status.lockStateReason.map(Escaping.printable)),
            Field(
                member: "lockStateReason", label: "", value: .text(status.lockStateReason),
                isShownAsText: false),
            Field(
                member: "lockStateWarning", label: "Warning",
                value: .text(status.lockStateWarning)),
            Field(
                member: "locksIn", label: "Locks in",
                value: .text(status.remaining.map(DurationText.text))),
            Field(
                member: "autoLock", label: "Auto-lock",
                value: .text(status.autoLock.map(DurationText.text)),
                remark: "without use"),
            Field(member: "recoveryKey", label: "Recovery key", value: flag(status.hasRecoveryKey)),
            Field(
                member: "needsRecovery", label: "", value: flag(status.needsRecovery),
                isShownAsText: false),
            Field(
                member: "isErasePending", label: "Erasure", value: flag(status.isErasePending),
                remark: "old keys may still be on the disk", isShownAsText: status.isErasePending),
        ]
    }

    private static let remarkOnFiles =
        "protects against other users and accidents, not against a thief of the disk"
    static let remarkOnRecovery =
        "needs recovery: put the device key back, or run 'valet recovery use'"
}

/// Where wrong passcodes are counted, and which items need the passcode or a finger:
/// docs/THREAT-MODEL.md, "What each thief gets".
extension StatusReport {
    /// These members of the JSON object, which are null without a passcode.
    static let passcodeSchema = [
        ("people", "software or tpm: where wrong passcodes are counted; null without a passcode"),
        ("passcodeBound", "how many items open only with the passcode, or null"),
        ("fingerprintGated", "how many items programs open after checking a finger, or null"),
    ]

    static func passcodeFields(_ status: KeychainStatus) -> [Field] {
        let place = CountingPlace(status.level)
        return [
            Field(
                member: "people", label: "Tries counted", value: .text(place?.rawValue),
                remark: place?.remark(status.tpm)),
            Field(
                member: "passcodeBound", label: "By passcode",
                value: .number(status.passcodeBoundCount),
                remark: "only the passcode opens these items"),
            Field(
                member: "fingerprintGated", label: "By finger",
                value: .number(status.fingerprintGatedCount),
                remark: "programs check a finger for these items; no key comes from it"),
        ]
    }

    /// Where wrong passcodes are counted.
    private enum CountingPlace: String {
        case software, tpm

        init?(_ level: ProtectionLevel?) {
            switch level {
            case .passcode: self = .software
            case .tpmAndPasscode: self = .tpm
            case .file, .credential, .tpm, nil: return nil
            }
        }

        func remark(_ tpm: TPMSummary?) -> String {
            switch self {
            case .software: "no TPM counts wrong passcodes"
            case .tpm where tpm?.isLockoutResettable == true:
                "the TPM counts wrong passcodes, but its lockout authorization is empty"
            case .tpm: "the TPM counts wrong passcodes"
            }
        }
    }
}

/// The TPM that keeps a keychain's keys.
extension StatusReport {
    /// These members of the JSON object, which are null without a TPM.
    static let tpmSchema = [
        ("pcrs", "the PCRs of the TPM that the device key is bound to, as 0,7, or null"),
        ("storageRootKey", "persistent, or made-for-each-use; null if the TPM was not asked"),
        ("triesLeft", "how many more wrong passcodes the TPM allows, or null"),
        ("forgivesIn", "after which time it allows one more, as 10m, or null"),
        ("lockoutAuthorization", "set, or empty: anyone can reset the count; null if not asked"),
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
                ), remark: "measurements of the machine's start"),
            Field(member: "storageRootKey", label: "TPM key", value: .text(key)),
            Field(
                member: "triesLeft", label: "TPM tries", value: .number(tpm?.triesLeft),
                remark: tries),
            Field(
                member: "forgivesIn", label: "TPM recovery",
                value: .text(tpm.map { DurationText.text($0.recoveryInterval) }),
                remark: "until it allows one more wrong passcode"),
            lockoutField(tpm),
        ]
    }
}

extension StatusReport {
    /// Whether anyone can reset the TPM's count of wrong passcodes.
    private static func lockoutField(_ tpm: TPMSummary?) -> Field {
        Field(
            member: "lockoutAuthorization", label: "TPM lockout",
            value: .text(tpm.map { $0.isLockoutResettable ? "empty" : "set" }),
            remark: tpm.map {
                $0.isLockoutResettable
                    ? "another system on this machine can reset the count of wrong passcodes"
                    : "resetting the count of wrong passcodes needs it"
            })
    }
}
