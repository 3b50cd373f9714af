// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// Facts that a verb shows, in order: a line of text for each, or a member of a JSON object.
struct StatusReport: Sendable {
    /// One fact.
    struct Field: Sendable {
        /// The member of the JSON object.
        let member: String
        /// What the line of text starts with.
        let label: String
        let value: JSON
        /// What a person should know about the value.
        var remark: String?
        /// Whether the text has a line for it.
        var isShownAsText = true
    }

    var fields: [Field]

    /// Writes the facts; lines are left out where there is nothing to say.
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
    /// What is shown of a keychain's status.
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
            ] + Self.keyFields(status) + Self.peopleFields(status) + Self.tpmFields(status)
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
                remark: "locks after that time without use"),
            Field(member: "recoveryKey", label: "Recovery key", value: flag(status.hasRecoveryKey)),
            Field(
                member: "needsRecovery", label: "", value: flag(status.needsRecovery),
                isShownAsText: false),
            Field(
                member: "isRotating", label: "New keys", value: flag(status.isRotating),
                remark: "they are taking the place of the old ones",
                isShownAsText: status.isRotating),
            Field(
                member: "isErasePending", label: "Erasure", value: flag(status.isErasePending),
                remark: "old keys may still be on the disk", isShownAsText: status.isErasePending),
        ]
    }

    private static let remarkOnFiles =
        "guards against other users and accidents, not against a thief of the disk"
    static let remarkOnRecovery =
        "needs recovery: put the device key back, or run 'valet recovery use'"
}
