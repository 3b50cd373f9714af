// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// What keeps an item: a valet, or a program with a service or a server of its own.
struct ItemOwner: Hashable, Sendable {
    /// The kinds, as `list` spells them.
    enum Kind: String, CaseIterable, Sendable {
        case valet
        case cloudValet = "cloud-valet"
        case enclaveValet = "enclave-valet"
        case generic
        case internet
    }

    let kind: Kind
    /// A valet's identifier (empty for the valet of a group without one), a service, a server.
    let name: String

    /// Whether a valet keeps the item.
    var isValet: Bool { kind != .generic && kind != .internet }

    /// The keeper of generic passwords of `service` in `group`.
    init(service: String, group: AccessGroup) {
        for (kind, storedKind) in Self.valets {
            let standard = ServiceName.standard(storedKind, identifier: "", accessibility: "")
            let shared = ServiceName.sharedGroup(
                storedKind, group: "", identifier: nil, accessibility: "")
            // The templates end in the separators around what they leave empty: "__".
            if let rest = service.afterPrefix(standard.dropLast(1)), let name = rest.beforeClass {
                self.init(kind: kind, name: name)
                return
            }
            if let rest = service.afterPrefix(shared.dropLast(1)), let name = rest.beforeClass {
                let groupName = group.nameWithoutPrefix
                let identifier = name == groupName ? "" : name.afterPrefix(groupName + "_")
                self.init(kind: kind, name: identifier ?? name)
                return
            }
        }
        self.init(kind: .generic, name: service)
    }

    /// The keeper called `name`.
    init(kind: Kind, name: String) {
        self.kind = kind
        self.name = name
    }

    /// The keeper of a stored item.
    init(_ item: StoredItem) {
        switch item.itemClass {
        case .genericPassword:
            self.init(
                service: ListedItem.text(item.attributes[.service]), group: item.accessGroup)
        case .internetPassword:
            self.init(kind: .internet, name: ListedItem.text(item.attributes[.server]))
        }
    }

    private static let valets: [(Kind, ServiceName.Kind)] = [
        (.valet, .valet), (.cloudValet, .synchronizableValet),
        (.enclaveValet, .secureEnclaveValet), (.enclaveValet, .singlePromptSecureEnclaveValet),
    ]
}

extension String {
    /// What follows `prefix`; nil for text that does not start with it.
    fileprivate func afterPrefix(_ prefix: some StringProtocol) -> String? {
        hasPrefix(String(prefix)) ? String(dropFirst(prefix.count)) : nil
    }

    /// What stands in front of the "_Accessible…" of a service name.
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
