// SPDX-License-Identifier: Apache-2.0

/// How items are shown, in a table and as JSON.
extension ListedItem {
    static let header = ["NAME", "OWNER", "KIND", "ACCESSIBILITY", "SIZE", "MODIFIED"]

    /// What `--help` says about the JSON.
    static let schema: [(member: String, help: String)] = [
        ("items", "an array of objects, in the order of the table:"),
        ("  name", "the key"), ("  owner", "the valet's identifier, the service or server"),
        ("  kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
        ("  group", "the access group"),
        ("  accessibility", "as --accessibility takes it, or always, always-this-device-only"),
        ("  requires", "what reading takes, as user-presence; null for nothing"),
        ("  cloud", "true for an item of an iCloud valet, which is not sent anywhere yet"),
        ("  byteCount", "the size of the value, null when there is none"),
        ("  modified", "ISO 8601, as 2001-01-01T00:00:00Z"),
    ]

    var sortKey: [String] { [owner.name, name, group, owner.kind.rawValue] }

    var modifiedText: String? { modified.flatMap(Timestamp.text) }

    var cells: [String] {
        [
            Escaping.printable(name), Escaping.printable(owner.name), owner.kind.rawValue,
            accessibility + (requirement.map { " (\($0))" } ?? ""),
            byteCount.map { String($0) } ?? "-", modifiedText ?? "-",
        ]
    }

    var json: JSON {
        .object([
            "name": .string(name), "owner": .string(owner.name),
            "kind": .string(owner.kind.rawValue), "group": .string(group),
            "accessibility": .string(accessibility), "requires": .text(requirement),
            "cloud": .flag(isCloud), "byteCount": .number(byteCount),
            "modified": .text(modifiedText),
        ])
    }
}
