// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// All entries of a circle's roster that this device has read, and which of them it accepts:
/// docs/SYNC.md §6.
///
/// Two children of one entry begin two branches. `RosterForks.swift` chooses between them, in the
/// same way on all devices. An entry is kept only if it follows a kept one by the rules.
package struct Roster: Sendable {
    /// The result of ``add(_:)``.
    package struct Reading: Hashable, Sendable {
        package var added: [SyncHash] = []
        /// Entries whose parent was not read yet.
        package var waiting: [SyncHash] = []
        /// Entries that are not kept, each with the rule that it breaks.
        package var refused: [SyncHash: SyncError] = [:]
        /// Lost siblings that are not kept because there are too many. They break no rule.
        package var surplus: [SyncHash] = []
    }

    /// The role of a device in the accepted branch.
    package enum Membership: Hashable, Sendable {
        case member(Member)
        /// It has left: its logs count up to the messages that it names.
        case left(RosterState.Leaver)
        /// Not a member now.
        case none
    }

    struct Node: Sendable {
        let entry: RosterEntry
        let state: RosterState
        var children: [SyncHash] = []
        var number: UInt32 { entry.head.number }
        var signer: DeviceID { entry.head.signer }
        var parent: SyncHash { entry.head.parent }
    }

    /// The number of lost children that are kept of each entry, beside the smallest one of each
    /// author.
    package static let maximalLostSiblings = 64

    package let circle: CircleID
    let root: SyncHash
    private(set) var nodes: [SyncHash: Node]
    /// The entries that made members, by the first half of the member's id.
    private var added: [UInt64: [SyncHash]] = [:]
    /// For each device, the entries that its messages name, and the parents of its own entries.
    private var named: [DeviceID: Set<SyncHash>] = [:]
    /// Devices that the user of this device distrusts, each with the entry after which it forked.
    private(set) var distrusted: [DeviceID: SyncHash] = [:]
    /// All members that kept entries have added, with the keys that check their signatures.
    package private(set) var signers: [DeviceID: Member] = [:]
    package private(set) var acceptedHash: SyncHash
    /// Branches that remove each other's authors, of which this device has accepted none: the first
    /// entry of each. The user must say which device to distrust.
    package private(set) var alarm: [SyncHash] = []

    /// Begins with the first entry of `circle`.
    ///
    /// - Throws: ``SyncError``: as ``RosterState/init(founding:)``; `tampered`, `circle`, if it is
    ///   the first entry of another circle.
    package init(founding entry: RosterEntry, of circle: CircleID) throws(SyncError) {
        let state = try RosterState(founding: entry)
        guard state.circle == circle else { throw .entry(.tampered, .circle) }
        self.circle = circle
        root = entry.hash
        nodes = [root: Node(entry: entry, state: state)]
        acceptedHash = root
        for (founder, seat) in state.members {
            added[founder.high] = [root]
            signers[founder] = seat.member
        }
    }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`; `invalid`, `parent`, if an entry is missing;
    ///   otherwise as ``RosterEntry/init(parsing:)``, ``init(founding:of:)`` and
    ///   ``RosterState/after(_:isUsed:)``.
    package init(parsing bytes: [UInt8], of circle: CircleID) throws(SyncError) {
        var reader = ByteReader(bytes, of: .rosterEntry)
        var rest = try [SizedBytes](from: &reader)[...]
        guard let first = rest.popFirst() else { throw .entry(.invalid, .parent) }
        try self.init(founding: RosterEntry(parsing: first.bytes), of: circle)
        for sized in rest {
            let entry = try RosterEntry(parsing: sized.bytes)
            guard let parent = nodes[entry.head.parent] else { throw .entry(.invalid, .parent) }
            insert(Node(entry: entry, state: try state(after: parent, entry)))
        }
        (acceptedHash, alarm, distrusted, named) = try reader.fields()
        try reader.finish()
        guard contains(acceptedHash) else { throw .entry(.invalid, .parent) }
    }

    /// What a device keeps of the roster: everything on which the next choices depend. No other
    /// program reads it.
    package var bytes: [UInt8] {
        [UInt8](
            fields: entries.map { SizedBytes($0.bytes) }, acceptedHash, alarm, distrusted, named)
    }

    /// The kept entries, each after its parent, and siblings in the order of their reading.
    package var entries: [RosterEntry] {
        var hashes = [root]
        var index = 0
        while index < hashes.count {
            hashes += node(hashes[index]).children
            index += 1
        }
        return hashes.map { node($0).entry }
    }

    /// The members and keys after the newest accepted entry. A distrusted device does not count any
    /// more: see ``membership(of:)``.
    package var accepted: RosterState { node(acceptedHash).state }

    package func contains(_ hash: SyncHash) -> Bool { nodes[hash] != nil }

    /// The role of `device` now. Only messages of members and leavers are read.
    package func membership(of device: DeviceID) -> Membership {
        guard distrusted[device] == nil else { return .none }
        if let seat = accepted.members[device] { return .member(seat.member) }
        if let leaver = accepted.leavers[device] { return .left(leaver) }
        return .none
    }

    /// Takes entries in, and then chooses the accepted branch anew.
    ///
    /// One call must add all entries that the store shows. Otherwise the store could choose, by
    /// their order, which of two branches this device accepts first and then stays with.
    ///
    /// An entry is refused if it breaks a rule of ``RosterState/after(_:isUsed:)``, if it is
    /// `backdated`, and with `limit` if its author has signed 65 siblings with smaller hashes.
    package mutating func add(_ entries: [RosterEntry]) -> Reading {
        var reading = Reading()
        // Among siblings with one author, only the smallest hash can win. So the rest of a flood
        // need not be compared.
        var siblingCounts: [SyncHash: [DeviceID: Int]] = [:]
        for entry in entries.sorted(by: { ($0.head.number, $0.hash) < ($1.head.number, $1.hash) })
        where nodes[entry.hash] == nil {
            guard let parent = nodes[entry.head.parent] else {
                reading.waiting.append(entry.hash)
                continue
            }
            do throws(SyncError) {
                let state = try state(after: parent, entry)
                guard !isBackdated(entry) else { throw .entry(.invalid, .backdated) }
                let (parent, author) = (entry.head.parent, entry.head.signer)
                let count = siblingCounts[parent]?[author] ?? 0
                guard count <= Self.maximalLostSiblings else { throw .entry(.invalid, .limit) }
                siblingCounts[parent, default: [:]][author] = count + 1
                insert(Node(entry: entry, state: state))
                reading.added.append(entry.hash)
            } catch {
                reading.refused[entry.hash] = error
            }
        }
        guard !reading.added.isEmpty else { return reading }
        decide()
        dropSurplus(of: &reading)
        // The alarm names no entry that was dropped.
        if !reading.surplus.isEmpty { decide() }
        return reading
    }

    private func state(after parent: Node, _ entry: RosterEntry) throws(SyncError) -> RosterState {
        try parent.state.after(entry) { device in
            added[device.high, default: []].contains { isAncestor($0, of: parent.entry.hash) }
        }
    }

    /// Notes that a message of `device` names the entry `hash`. So the device cannot later make
    /// entries that pretend not to know it.
    ///
    /// - Returns: Whether that was new.
    @discardableResult
    package mutating func note(_ hash: SyncHash, namedBy device: DeviceID) -> Bool {
        guard contains(hash) else { return false }
        return named[device, default: []].insert(hash).inserted
    }

    /// Distrusts a device since a fork that raised ``alarm``: its later signatures are void here,
    /// and it counts as removed.
    package mutating func distrust(_ device: DeviceID) {
        guard let fork = alarm.first.flatMap({ nodes[$0]?.parent }) else { return }
        distrusted[device] = fork
        decide()
    }

    /// Whether a distrusted device signed the entry after its fork.
    func isVoid(_ node: Node) -> Bool {
        guard let fork = distrusted[node.signer] else { return false }
        return isAncestor(fork, of: node.parent)
    }

    private mutating func decide() {
        (acceptedHash, alarm) = RosterForks(self, staying: acceptedHash).decision
    }

    private mutating func insert(_ node: Node) {
        let hash = node.entry.hash
        nodes[hash] = node
        nodes[node.parent]?.children.append(hash)
        named[node.signer, default: []].insert(node.parent)
        if case .add(let member, _) = node.entry.operation {
            added[member.id.high, default: []].append(hash)
            signers[member.id] = member
        }
    }

    /// Keeps of the lost children of each entry the smallest one of each author, which alone could
    /// win, and 64 others, those that were read first. So a flood of entries displaces neither an
    /// earlier entry nor one of another author.
    private mutating func dropSurplus(of reading: inout Reading) {
        let path = Set(acceptedPath.map(\.hash))
        for parent in Set(reading.added.compactMap { nodes[$0]?.parent }) {
            let lost = nodes[parent]?.children.filter { !path.contains($0) } ?? []
            let smallest = Dictionary(lost.map { (node($0).signer, $0) }, uniquingKeysWith: min)
            let others = lost.filter { smallest[node($0).signer] != $0 }
            for dropped in others.dropFirst(Self.maximalLostSiblings) {
                remove(dropped)
                reading.surplus.append(dropped)
            }
        }
        reading.added.removeAll { nodes[$0] == nil }
    }

    private mutating func remove(_ first: SyncHash) {
        nodes[node(first).parent]?.children.removeAll { $0 == first }
        var removed = [first]
        while let hash = removed.popLast() {
            guard let node = nodes.removeValue(forKey: hash) else { continue }
            if case .add(let member, _) = node.entry.operation {
                added[member.id.high]?.removeAll { $0 == hash }
            }
            removed += node.children
        }
    }

    /// Whether the signer is not a member of the accepted branch, and knew a sibling of `entry` or
    /// a descendant of one. Then it made the entry after its removal.
    private func isBackdated(_ entry: RosterEntry) -> Bool {
        let signer = entry.head.signer
        guard accepted.members[signer] == nil else { return false }
        return named[signer, default: []].contains { hash in
            hash != entry.head.parent && isAncestor(entry.head.parent, of: hash)
        }
    }
}

extension Roster {
    /// The kept entry with this hash, which must exist.
    func node(_ hash: SyncHash) -> Node {
        guard let node = nodes[hash] else { preconditionFailure("an entry is kept") }
        return node
    }

    /// Whether `ancestor` is `hash` or comes before it on its branch.
    package func isAncestor(_ ancestor: SyncHash, of hash: SyncHash) -> Bool {
        guard let first = nodes[ancestor], var node = nodes[hash] else { return false }
        while node.number > first.number { node = self.node(node.parent) }
        return node.entry.hash == ancestor
    }

    package var acceptedPath: [RosterEntry] {
        var path = [node(acceptedHash).entry]
        while let parent = path.last?.head.parent, let node = nodes[parent] {
            path.append(node.entry)
        }
        return path.reversed()
    }
}

/// Classifies the roster files of a store before ``Roster/add(_:)`` takes entries in.
///
/// Any program that can write in the store can put bytes there, and name any member as their
/// author. So the cheapest checks come first, and bytes that no member has signed are dropped
/// immediately. The work and the memory for each file are bounded by its size.
package struct RosterSieve: Sendable {
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

    package func knows(_ author: DeviceID) -> Bool { members[author] != nil }

    /// Classifies the bytes of a file. The caller must pass files in the order of their numbers: an
    /// entry that adds a member comes before those that the new member signs.
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
