// SPDX-License-Identifier: Apache-2.0

internal import KeychainStore

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
            guard let value = Self.text(field.value) else { continue }
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
        fields = [
            Field(member: "state", label: "State", value: .text(status.state.rawValue)),
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
                member: "byteCount", label: "Size in bytes", value: .number(status.fileByteCount)),
            Field(member: "isReadOnly", label: "Read-only", value: .flag(status.isReadOnly)),
        ]
    }

    private static let remarkOnFiles =
        "guards against other users and accidents, not against a thief of the disk"
}
