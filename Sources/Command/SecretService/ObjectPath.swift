// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// An object of the service on the bus (Secret Service API 0.2, "Object Paths").
enum ObjectPath: Hashable, Sendable {
    case service
    case collection(String)
    /// A collection by another name: clients also use these paths.
    case alias(String)
    case item(ItemPath)
    case session(UInt64)
    case prompt(UInt64)

    static let root = "/org/freedesktop/secrets"
    /// The path that stands for no object.
    static let none = "/"

    var text: String {
        switch self {
        case .service: Self.root
        case .collection(let name): "\(Self.root)/collection/\(name)"
        case .alias(let name): "\(Self.root)/aliases/\(name)"
        case .item(let item): item.text
        case .session(let number): "\(Self.root)/session/\(number)"
        case .prompt(let number): "\(Self.root)/prompt/\(number)"
        }
    }

    /// nil for a path that no object of the service can have.
    init?(_ text: String) {
        guard text != Self.root else {
            self = .service
            return
        }
        guard text.hasPrefix(Self.root + "/") else { return nil }
        let parts = text.dropFirst(Self.root.count + 1).split(
            separator: "/", omittingEmptySubsequences: false
        ).map(String.init)
        switch (parts.first, parts.count) {
        case ("collection", 2): self = .collection(parts[1])
        case ("collection", 3): self = .item(ItemPath(collection: parts[1], id: parts[2]))
        case ("aliases", 2): self = .alias(parts[1])
        case ("session", 2):
            guard let number = UInt64(parts[1]) else { return nil }
            self = .session(number)
        case ("prompt", 2):
            guard let number = UInt64(parts[1]) else { return nil }
            self = .prompt(number)
        default: return nil
        }
    }
}

struct ItemPath: Hashable, Sendable {
    /// The name of its collection.
    let collection: String
    /// Its name there: for items of the keychain 32 hexadecimal digits, the id of its row.
    let id: String

    var text: String { "\(ObjectPath.root)/collection/\(collection)/\(id)" }
}
