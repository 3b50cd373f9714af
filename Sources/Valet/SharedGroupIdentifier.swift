// SPDX-License-Identifier: Apache-2.0

/// The name of an access group that several applications share.
public struct SharedGroupIdentifier: CustomStringConvertible, Hashable, Sendable {
    let prefix: String
    /// The group without its prefix, which is what stored service names carry.
    let group: Identifier
    /// The group with its prefix.
    let asIdentifier: Identifier

    /// A keychain access group: the prefix of the application identifiers, and the group's name.
    ///
    /// - Returns: nil when either is empty.
    public init?(appIDPrefix: String, nonEmptyGroup: String?) {
        guard !appIDPrefix.isEmpty, let group = Identifier(nonEmpty: nonEmptyGroup),
            let asIdentifier = Identifier(nonEmpty: "\(appIDPrefix).\(group)")
        else { return nil }
        prefix = appIDPrefix
        self.group = group
        self.asIdentifier = asIdentifier
    }

    /// An app group, whose prefix is `group`; on macOS any prefix that is not empty.
    ///
    /// - Returns: nil when either is empty, or the prefix is not one that the system has.
    public init?(groupPrefix: String, nonEmptyGroup: String?) {
        guard Platform.takesAnyGroupPrefix || groupPrefix == "group" else { return nil }
        self.init(appIDPrefix: groupPrefix, nonEmptyGroup: nonEmptyGroup)
    }

    /// Prefix and group with a full stop between them: the access group's full name.
    public var description: String {
        asIdentifier.description
    }
}
