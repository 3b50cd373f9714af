// SPDX-License-Identifier: Apache-2.0

/// What kind of secret an item is (`kSecClass`; spec/secitem.md §1.1).
///
/// The raw values are stored in rows: docs/FORMAT.md §5.
package enum ItemClass: UInt8, CaseIterable, Hashable, Sendable {
    case genericPassword = 1
    case internetPassword = 2

    /// The four ASCII characters that name the class in dictionaries and persistent references.
    package var code: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        }
    }

    /// The class with this code; nil for classes other than passwords.
    package init?(code: String) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// The attributes that, with access group and synchronizable flag, make an item unique.
    ///
    /// In the order of hashing: spec/secitem.md §2.3, docs/FORMAT.md §6.2.
    package var primaryKeyAttributes: [Attribute] {
        switch self {
        case .genericPassword: Self.genericPasswordKey
        case .internetPassword: Self.internetPasswordKey
        }
    }

    private static let genericPasswordKey: [Attribute] = [
        .service, .syncViewHint, .tokenID, .account,
    ]
    private static let internetPasswordKey: [Attribute] = [
        .securityDomain, .server, .protocol, .authenticationType, .port, .path, .syncViewHint,
        .tokenID, .account,
    ]
}

/// A name of an item that stays valid when the item's attributes change (spec/secitem.md §8).
package struct PersistentReference: Hashable, Sendable {
    /// 20 bytes: the four ASCII characters of the class and the 16 bytes of the item's id.
    package static let byteCount = 20

    package let itemClass: ItemClass
    /// 16 bytes, as stored in the row.
    package let itemID: [UInt8]

    /// The reference of the item `itemID`, which must be 16 bytes long.
    package init(itemClass: ItemClass, itemID: [UInt8]) {
        precondition(itemID.count == 16, "an item id has 16 bytes")
        self.itemClass = itemClass
        self.itemID = itemID
    }

    /// Parses a reference; nil unless it has 20 bytes and names a class of passwords.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount,
            let itemClass = ItemClass(code: String(decoding: bytes[..<4], as: UTF8.self))
        else { return nil }
        self.init(itemClass: itemClass, itemID: Array(bytes[4...]))
    }

    package var bytes: [UInt8] {
        Array(itemClass.code.utf8) + itemID
    }
}

/// A namespace of items that one or more applications share (`kSecAttrAccessGroup`).
package struct AccessGroup: Hashable, Sendable {
    /// The name, as entitlements spell it.
    package let rawValue: String

    /// The group with this name. Names compare exactly (spec/secitem.md §5.1).
    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Compares bytes: two texts that are equal in Swift may name different groups.
    package static func == (left: AccessGroup, right: AccessGroup) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// The group that tokens own; passwords can never be stored in it.
    package static let token = AccessGroup("com.apple.token")
}

/// A name in a set: an account, for example. The keychain compares names byte by byte, while Swift
/// takes "é" and "e\u{301}" for one text.
package struct ExactName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Compares bytes.
    package static func == (left: ExactName, right: ExactName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }
}

extension String {
    /// Whether both have the same UTF-8, as the keychain compares names; for public data.
    package func hasSameBytes(as other: String) -> Bool {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, *) else {
            return utf8.elementsEqual(other.utf8)
        }
        return utf8.span.isEqual(to: other.utf8.span)
    }
}

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, *)
extension Span<UInt8> {
    /// Whether both have the same bytes; for public data.
    fileprivate func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}
