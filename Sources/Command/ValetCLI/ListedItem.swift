// SPDX-License-Identifier: Apache-2.0

// One item in the output of `list` and `backup list`, and its owner.

package import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

struct ListedItem: Hashable, Sendable {
    /// The account: text, data as "0x" and hexadecimal digits, or a decimal number.
    var name: String
    /// The valet, service or server of the item.
    var owner: ItemOwner
    var group: String
    var accessibility: String
    var isCloud: Bool
    /// nil for an item without a value.
    var byteCount: Int?
    /// Seconds since 2001-01-01 00:00 UTC.
    var modified: Double?
    /// What reading the value requires; nil if nothing.
    var requirement: String?
    var label = ""
    /// What else tells internet passwords of one server apart; nil for other items.
    var login: LoginDetails?
    /// Distinguishes items that look alike: the id of a stored item, or the position in a backup.
    var id: [UInt8] = []

    /// Whether this is a valet's canary, which is no secret.
    var isCanary: Bool { owner.isValet && ServiceName.isCanary(name) }

    /// The label that a program of the desktop gave the item, whose name is random. nil for other
    /// items, and without a label.
    var desktopLabel: String? {
        guard !label.isEmpty, group == DesktopItem.group.rawValue,
            DesktopItem.collection(ofService: owner.name) != nil
        else { return nil }
        return label
    }

    /// What a person is shown as the name.
    var title: String { desktopLabel.map { "\($0) (\(name))" } ?? name }

    /// A label that says more than the other columns; nil without one.
    private var ownLabel: String? {
        guard !label.isEmpty, desktopLabel == nil, label != name, label != owner.name else {
            return nil
        }
        return label
    }
}

/// The attributes of internet passwords that are neither account nor server. Empty where an item
/// has none.
struct LoginDetails: Hashable, Sendable {
    /// As in URLs: "https".
    var scheme = ""
    var port = ""
    var path = ""
    /// How the password is used: "form" for one of a web page.
    var kind = ""
    var realm = ""

    init(_ attributes: ItemAttributes) {
        func text(_ attribute: Attribute) -> String {
            guard let value = attributes[attribute], value != attribute.defaultValue else {
                return ""
            }
            return ListedItem.text(value)
        }
        (scheme, port) = (NetworkProtocol.name(text(.protocol)), text(.port))
        (path, realm) = (text(.path), text(.securityDomain))
        kind = text(.authenticationType)
    }

    /// The parts, in the order of ``init(parts:)``.
    var parts: [String] { [scheme, port, path, kind, realm] }

    init?(parts: [String]) {
        guard parts.count == 5 else { return nil }
        (scheme, port, path) = (parts[0], parts[1], parts[2])
        (kind, realm) = (parts[3], parts[4])
    }

    /// What follows the server's name in an address.
    var suffix: String { (port.isEmpty ? "" : ":" + port) + (path.isEmpty ? "" : "/" + path) }

    /// The rest, for people: "https, form"; nil if there is none.
    var description: String? {
        let isUsual = AttributeValue.text(kind) == LoginPlace.authenticationType
        let parts = [scheme, isUsual ? "" : kind, realm].filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension ListedItem {
    init(_ item: StoredItem) {
        name = Self.text(item.attributes[.account])
        owner = item.owner
        group = item.accessGroup.rawValue
        accessibility = item.protectionClass.word
        isCloud = item.isSynchronizable
        byteCount = item.valueByteCount
        modified = item.attributes[.modificationDate]?.date
        requirement = item.accessControl?.requirement
        label = Self.text(item.attributes[.label])
        login = item.itemClass == .internetPassword ? LoginDetails(item.attributes) : nil
        id = item.reference.itemID
    }

    /// The line of an item in a backup, after `place` other items.
    init(_ item: BackedUpItem, at place: UInt64) {
        let attributes = item.properties.attributes
        name = Self.text(attributes[.account])
        owner = ItemOwner(item.properties.itemClass, attributes, in: item.accessGroup)
        group = item.accessGroup.rawValue
        accessibility = item.properties.protectionClass.word
        isCloud = item.properties.isSynchronizable
        byteCount = item.valueByteCount
        modified = attributes[.modificationDate]?.date
        label = Self.text(attributes[.label])
        login = item.properties.itemClass == .internetPassword ? LoginDetails(attributes) : nil
        id = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: place >> $0) }
    }

    static func text(_ value: AttributeValue?) -> String {
        switch value {
        case .text(let text): text
        case .bytes(let bytes), .accessControl(let bytes): "0x" + Hexadecimal.text(bytes)
        case .number(let number): String(number)
        case .date(let seconds): Timestamp.text(secondsSince2001: seconds) ?? ""
        case nil: ""
        }
    }
}

extension ListedItem {
    /// The JSON members in `--help`.
    static let schema: [(member: String, help: String)] = [
        ("items", "an array of objects, in the order of the table:"),
        ("  name", "the key; random for what programs of the desktop store"),
        ("  owner", "the valet's identifier, the service or server"),
        ("  kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")),
        ("  group", "the access group: the application, or a group that applications share"),
        ("  label", "the label; empty without one"),
        ("  protocol", "of an internet password, as https; else null"),
        ("  port", "of an internet password; null for the usual one"),
        ("  path", "of an internet password, or null"),
        ("  authentication", "of an internet password, as dflt, or form for a web page; or null"),
        ("  realm", "the security domain of an internet password, or null"),
        ("  accessibility", "a value of --accessibility, or always, always-this-device-only"),
        ("  requires", "what reading requires, as user-presence; null if nothing"),
        ("  cloud", "true for an item of an iCloud valet, which the devices of a circle share"),
        ("  byteCount", "the size of the value; null without a value"),
        ("  modified", "ISO 8601, as 2001-01-01T00:00:00Z"),
        ("  id", "for --item, which chooses this item alone; null in a backup"),
    ]

    var modifiedText: String? { modified.flatMap(Timestamp.text) }

    /// The cell of a column, safe to show.
    func cell(_ column: ListColumn) -> String {
        switch column {
        case .name: Escaping.printable(title)
        case .owner: Escaping.printable(owner.name + (login?.suffix ?? ""))
        case .label: Escaping.printable(ownLabel ?? "")
        case .application: Escaping.printable(group)
        case .kind: kind
        case .accessibility: accessibility + (requirement.map { " (\($0))" } ?? "")
        case .byteCount: byteCount.map { String($0) } ?? "-"
        case .modified: modifiedText ?? "-"
        }
    }

    /// The kind of the owner, and whether devices share the item.
    private var kind: String {
        let kind = owner.kind.rawValue
        let isNamed = owner.kind == .cloudValet
        let details = login?.description.map { " (\(Escaping.printable($0)))" } ?? ""
        return (isCloud && !isNamed ? "cloud-" + kind : kind) + details
    }

    var json: JSON {
        .object([
            "name": .string(name), "owner": .string(owner.name),
            "kind": .string(owner.kind.rawValue), "group": .string(group),
            "label": .string(label), "protocol": .textIfAny(login?.scheme),
            "port": .number(login.flatMap { Int($0.port) }), "path": .textIfAny(login?.path),
            "authentication": .textIfAny(login?.kind), "realm": .textIfAny(login?.realm),
            "accessibility": .string(accessibility), "requires": .text(requirement),
            "cloud": .flag(isCloud), "byteCount": .number(byteCount),
            "modified": .text(modifiedText),
            // In a backup it is the position.
            "id": .text(id.count == 16 ? Hexadecimal.text(id) : nil),
        ])
    }
}

extension AccessControl {
    /// What reading the item requires, as `list` shows it; nil if nothing.
    var requirement: String? {
        let names = Self.names.filter { constraints.contains($0.constraint) }.map(\.name)
        guard !names.isEmpty else { return nil }
        return names.joined(separator: constraints.contains(.or) ? " or " : " and ")
    }

    private static let names: [(constraint: Constraints, name: String)] = [
        (.userPresence, "user-presence"), (.biometryAny, "biometry-any"),
        (.biometryCurrentSet, "biometry-current-set"), (.devicePasscode, "device-passcode"),
        (.companion, "companion"), (.applicationPassword, "application-password"),
    ]
}

/// The owner of an item: a valet, or another program's service or server.
package struct ItemOwner: Hashable, Sendable {
    /// The kinds, with their names in `list`.
    package enum Kind: String, CaseIterable, Sendable {
        case valet
        case cloudValet = "cloud-valet"
        case enclaveValet = "enclave-valet"
        case generic
        case internet
    }

    package let kind: Kind
    /// A valet's identifier (empty for a group's valet without one), a service or a server.
    package let name: String

    var isValet: Bool { kind != .generic && kind != .internet }

    /// Whether it is a valet whose items the command stores, so that a name in it is one secret.
    var isOfSecrets: Bool { kind == .valet || kind == .cloudValet }

    /// The owner of generic passwords with `service` in `group`.
    package init(service: String, group: AccessGroup) {
        for (kind, standard, shared) in Self.prefixes {
            if let rest = service.afterPrefix(standard), let name = rest.beforeClass {
                self.init(kind: kind, name: name)
                return
            }
            if let rest = service.afterPrefix(shared), let name = rest.beforeClass {
                let groupName = ValetIdentity.Group(group).nameWithoutPrefix
                let identifier = name == groupName ? "" : name.afterPrefix(groupName + "_")
                self.init(kind: kind, name: identifier ?? name)
                return
            }
        }
        self.init(kind: .generic, name: service)
    }

    package init(kind: Kind, name: String) {
        self.kind = kind
        self.name = name
    }

    /// The owner of an item with these attributes.
    init(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, in group: AccessGroup
    ) {
        switch itemClass {
        case .genericPassword:
            self.init(service: ListedItem.text(attributes[.service]), group: group)
        case .internetPassword:
            self.init(kind: .internet, name: ListedItem.text(attributes[.server]))
        }
    }

    /// The prefixes of valets' service names: the standard ones, and those of shared groups.
    private static let prefixes: [(kind: Kind, standard: String, shared: String)] = [
        (Kind.valet, ServiceName.Kind.valet), (.cloudValet, .synchronizableValet),
        (.enclaveValet, .secureEnclaveValet), (.enclaveValet, .singlePromptSecureEnclaveValet),
    ].map { kind, stored in
        let standard = ServiceName.standard(stored, identifier: "", accessibility: "")
        let shared = ServiceName.sharedGroup(
            stored, group: "", identifier: nil, accessibility: "")
        // The templates end in the separators of their empty parts: "__".
        return (kind, String(standard.dropLast(1)), String(shared.dropLast(1)))
    }
}

extension String {
    /// The text after `prefix`; nil if its bytes do not start with those of `prefix`.
    fileprivate func afterPrefix(_ prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(utf8.dropFirst(prefix.utf8.count))
    }

    /// The text before the "_Accessible…" of a service name.
    fileprivate var beforeClass: String? {
        var rest = self[...]
        while let underscore = rest.lastIndex(of: "_") {
            if rest[underscore...].hasPrefix("_Accessible") {
                return String(rest[..<underscore])
            }
            rest = rest[..<underscore]
        }
        return nil
    }
}
