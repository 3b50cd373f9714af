// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// Facts that a verb shows, in order: lines of text, or members of a JSON object. `status` shows
/// all of a keychain; `device status`, `backup verify` and `backup restore` show their own.
struct StatusReport: Sendable {
    struct Field: Sendable {
        /// The member of the JSON object.
        let member: String
        /// The start of the line of text; nil for a fact without one.
        let label: String?
        let value: JSON
        /// An explanation of the value.
        let remark: String?

        init(_ member: String, _ label: String?, _ value: JSON, _ remark: String? = nil) {
            (self.member, self.label, self.value, self.remark) = (member, label, value, remark)
        }
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
            guard let label = field.label, let value = Self.text(field.value) else { continue }
            let remark = field.remark.map { " (\($0))" } ?? ""
            text += (label + ":").padded(to: 15) + value + remark + "\n"
        }
        try console.write(text)
    }

    private static func text(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : Escaping.printable(text)
        case .integer(let digits): digits
        case .boolean(let flag): flag ? "yes" : "no"
        case .null, .array, .object: nil
        }
    }
}

extension StatusReport {
    init(_ status: KeychainStatus) {
        fields =
            [
                Field(
                    "state", "State", .text(status.state.rawValue),
                    status.needsRecovery ? Self.remarkOnRecovery : nil),
                Field("folder", "Folder", .text(status.folder)),
                Field("deviceKey", "Device key", .text(status.deviceKeyPath)),
                Field(
                    "level", "Protection", .text(status.level?.rawValue),
                    status.level == .file ? Self.remarkOnFiles : nil),
                Field("keychainID", "Keychain", .text(status.keychainID)),
                Field("format", "Format", .number(status.formatVersion)),
                Field("epoch", "Epoch", .number(status.epoch)),
                Field("items", "Items", .number(status.itemCount)),
                Field("quarantinedRows", "Quarantined", .number(status.quarantinedRowCount)),
                Field("byteCount", "Size in bytes", .number(status.fileByteCount)),
                Field("isReadOnly", "Read-only", .flag(status.isReadOnly)),
            ] + Self.keyFields(status) + Self.passcodeFields(status) + Self.tpmFields(status)
    }

    private static func keyFields(_ status: KeychainStatus) -> [Field] {
        /// Null while there is no keychain.
        func flag(_ flag: Bool) -> JSON { status.keychainID == nil ? .null : .flag(flag) }
        return [
            Field(
                "lockState", "Opened keys", .text(status.lockStateProvider),
                status.lockStateReason.map(Escaping.printable)),
            Field("lockStateReason", nil, .text(status.lockStateReason)),
            Field("lockStateWarning", "Warning", .text(status.lockStateWarning)),
            Field("locksIn", "Locks in", .text(status.remaining.map(DurationText.text))),
            Field(
                "autoLock", "Auto-lock", .text(status.autoLock.map(DurationText.text)),
                "without use"),
            Field("recoveryKey", "Recovery key", flag(status.hasRecoveryKey)),
            Field("needsRecovery", nil, flag(status.needsRecovery)),
            Field(
                "isErasePending", status.isErasePending ? "Erasure" : nil,
                flag(status.isErasePending), "old keys may still be on the disk"),
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
        let place: (name: String, remark: String)? =
            switch status.level {
            case .passcode: ("software", "no TPM counts wrong passcodes")
            case .tpmAndPasscode where status.tpm?.isLockoutResettable == true:
                ("tpm", "the TPM counts wrong passcodes, but its lockout authorization is empty")
            case .tpmAndPasscode: ("tpm", "the TPM counts wrong passcodes")
            case .file, .credential, .tpm, nil: nil
            }
        return [
            Field("people", "Tries counted", .text(place?.name), place?.remark),
            Field(
                "passcodeBound", "By passcode", .number(status.passcodeBoundCount),
                "only the passcode opens these items"),
            Field(
                "fingerprintGated", "By finger", .number(status.fingerprintGatedCount),
                "programs check a finger for these items; no key comes from it"),
        ]
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
        let pcrs =
            status.pcrs.isEmpty ? nil : status.pcrs.map(String.init).joined(separator: ",")
        let registers = Field("pcrs", "PCRs", .text(pcrs), "measurements of the machine's start")
        guard let tpm = status.tpm else {
            return [registers] + tpmSchema.dropFirst().map { Field($0.0, nil, .null) }
        }
        return [
            registers,
            Field(
                "storageRootKey", "TPM key",
                .text(tpm.hasPersistentStorageRootKey ? "persistent" : "made-for-each-use")),
            Field(
                "triesLeft", "TPM tries", .number(tpm.triesLeft),
                tpm.isLockedOut ? "locked out" : "of \(tpm.tryLimit) wrong passcodes"),
            Field(
                "forgivesIn", "TPM recovery", .text(DurationText.text(tpm.recoveryInterval)),
                "until it allows one more wrong passcode"),
            // Whether anyone can reset the TPM's count of wrong passcodes.
            Field(
                "lockoutAuthorization", "TPM lockout",
                .text(tpm.isLockoutResettable ? "empty" : "set"),
                tpm.isLockoutResettable
                    ? "another system on this machine can reset the count of wrong passcodes"
                    : "resetting the count of wrong passcodes needs it"),
        ]
    }
}
