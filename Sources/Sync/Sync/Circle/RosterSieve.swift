// SPDX-License-Identifier: Apache-2.0

/// Sorts the roster files of a store before ``Roster/add(_:)`` takes entries in.
///
/// Any program that can write in the store can put bytes there, and name any member as their
/// author. So the cheapest checks come first, and bytes that no member has signed are dropped
/// immediately. The work and the memory for each file are bounded by its size.
package struct RosterSieve: Sendable {
    /// The kind of a file's bytes.
    package enum Finding: Sendable {
        /// An entry that its author has signed. Its rules are not checked yet.
        case signed(RosterEntry)
        /// Bytes that name an unknown author: no entry read so far has added it.
        case unknownAuthor(DeviceID)
        /// Not an entry of this roster. No member is blamed for it.
        case foreign
    }

    private let circle: CircleID
    private let root: SyncHash
    private var members: [DeviceID: Member]

    /// A sieve that knows the members of `roster`, and all that its kept entries have added.
    package init(_ roster: Roster) {
        circle = roster.circle
        root = roster.root
        members = roster.signers
    }

    /// Whether an author is known, so that its signatures can be checked.
    package func knows(_ author: DeviceID) -> Bool { members[author] != nil }

    /// Looks at the bytes of a file. Files must come by rising numbers: an entry that adds a member
    /// comes before those that the new member signs.
    package mutating func sift(_ bytes: [UInt8]) -> Finding {
        guard let shown = try? ShownEntry(parsing: bytes) else { return .foreign }
        // The first entry has no circle, because its hash names the circle.
        guard shown.head.circle == circle || shown.hash == root else { return .foreign }
        guard let author = members[shown.head.signer] else {
            return .unknownAuthor(shown.head.signer)
        }
        guard shown.isSigned(by: author), let entry = try? shown.opened() else { return .foreign }
        if case .add(let member, _) = entry.operation { members[member.id] = member }
        return .signed(entry)
    }
}

extension Roster {
    /// Begins with the first entry of `circle`, if `bytes` are that entry.
    package init?(founding bytes: [UInt8], of circle: CircleID) {
        guard let shown = try? ShownEntry(parsing: bytes), shown.hash.half() == circle,
            let entry = try? shown.opened(), let roster = try? Roster(founding: entry, of: circle)
        else { return nil }
        self = roster
    }
}
