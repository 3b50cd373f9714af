// SPDX-License-Identifier: Apache-2.0

// The names of valets: an application's own, and those of access groups.

/// The name of a valet's sandbox within one application: any text that is not empty.
public struct Identifier: CustomStringConvertible, Hashable, Sendable {
    /// The text.
    public let description: String

    /// An identifier; nil if `string` is nil or empty.
    ///
    /// The text is stored unchanged. The keychain compares it byte by byte.
    public init?(nonEmpty string: String?) {
        guard let string, !string.isEmpty else { return nil }
        description = string
    }

    /// Compares bytes: two texts that are equal in Swift name different items.
    public static func == (left: Identifier, right: Identifier) -> Bool {
        left.description.utf8.elementsEqual(right.description.utf8)
    }
}

/// The name of an access group that several applications share.
public struct SharedGroupIdentifier: CustomStringConvertible, Hashable, Sendable {
    let prefix: String
    /// The group without its prefix, as in stored service names.
    let group: Identifier
    let asIdentifier: Identifier

    /// A keychain access group: the prefix of application identifiers, and the group's name.
    ///
    /// - Returns: nil if either is empty.
    public init?(appIDPrefix: String, nonEmptyGroup: String?) {
        guard !appIDPrefix.isEmpty, let group = Identifier(nonEmpty: nonEmptyGroup),
            let asIdentifier = Identifier(nonEmpty: "\(appIDPrefix).\(group)")
        else { return nil }
        prefix = appIDPrefix
        self.group = group
        self.asIdentifier = asIdentifier
    }

    /// An app group. The prefix must be `group`; on macOS it may be any text that is not empty.
    ///
    /// - Returns: nil if either is empty, or if the system has no such prefix.
    public init?(groupPrefix: String, nonEmptyGroup: String?) {
        guard Platform.takesAnyGroupPrefix || groupPrefix == "group" else { return nil }
        self.init(appIDPrefix: groupPrefix, nonEmptyGroup: nonEmptyGroup)
    }

    /// The access group's full name: prefix, full stop, group.
    public var description: String {
        asIdentifier.description
    }
}
