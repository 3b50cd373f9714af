// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// All entries of a circle's roster that this device has read, and which of them it accepts:
/// docs/SYNC.md §6.
///
/// Two children of one entry begin two branches. `RosterForks.swift` chooses between them, in the
/// same way on all devices. An entry is kept only if it follows a kept one by the rules.
package struct Roster: Sendable {
    /// The result for entries that were read together.
    package struct Reading: Hashable, Sendable {
        /// Entries that are newly kept.
        package var added: [SyncHash] = []
        /// Entries whose parent was not read yet.
        package var waiting: [SyncHash] = []
        /// Entries that break a rule, and which. They are not kept.
        package var refused: [SyncHash: SyncError] = [:]
    }

    /// The role of a device in the accepted branch.
    package enum Membership: Hashable, Sendable {
        case member(Member)
        /// It has left: its logs count up to the messages that it names.
        case left(RosterState.Leaver)
        /// Not a member now.
        case none
    }

    /// A kept entry.
    struct Node: Sendable {
        let entry: RosterEntry
        let state: RosterState
        var children: [SyncHash] = []
        var number: UInt32 { entry.head.number }
        var signer: DeviceID { entry.head.signer }
        var parent: SyncHash { entry.head.parent }
    }

    /// The part of a roster that a device keeps: everything on which the next choices depend.
    package struct Kept: Sendable {
        /// The kept entries, each after its parent, and siblings in the order of their reading.
        package let entries: [RosterEntry]
        /// The newest accepted entry.
        package let accepted: SyncHash
        /// Branches that this device cannot choose between.
        package let alarm: [SyncHash]
        /// Distrusted devices, each with the entry after which it forked.
        package let distrusted: [DeviceID: SyncHash]
        /// The entries that each device has named.
        package let named: [DeviceID: Set<SyncHash>]
    }

    /// How many lost siblings are kept for each entry.
    package static let maximalLostSiblings = 64

    package let circle: CircleID
    /// The hash of the first entry.
    let root: SyncHash
    /// The kept entries by their hashes.
    private(set) var nodes: [SyncHash: Node]
    /// The entries that made members, by the first half of the member's id.
    private var added: [UInt64: [SyncHash]] = [:]
    /// For each device, the entries that its messages name, and the parents of its own entries.
    private var named: [DeviceID: Set<SyncHash>] = [:]
    /// Devices that the user of this device distrusts, each with the entry after which it forked.
    private(set) var distrusted: [DeviceID: SyncHash] = [:]
    /// All members that kept entries have added, with the keys that check their signatures.
    private(set) var signers: [DeviceID: Member] = [:]
    /// The hash of the newest accepted entry.
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

    /// Goes on with the kept entries of a device.
    ///
    /// - Throws: ``SyncError``: `invalid`, `parent`, if an entry is missing; otherwise as
    ///   ``init(founding:of:)`` and ``RosterState/after(_:isUsed:)``.
    package init(_ kept: Kept, of circle: CircleID) throws(SyncError) {
        guard let first = kept.entries.first else { throw .entry(.invalid, .parent) }
        try self.init(founding: first, of: circle)
        for entry in kept.entries.dropFirst() {
            guard let parent = nodes[entry.head.parent] else { throw .entry(.invalid, .parent) }
            insert(Node(entry: entry, state: try state(after: parent, entry)))
        }
        guard contains(kept.accepted) else { throw .entry(.invalid, .parent) }
        (acceptedHash, alarm) = (kept.accepted, kept.alarm)
        (distrusted, named) = (kept.distrusted, kept.named)
    }

    /// The part that this device keeps.
    package var kept: Kept {
        var hashes = [root]
        var index = 0
        while index < hashes.count {
            hashes += node(hashes[index]).children
            index += 1
        }
        return Kept(
            entries: hashes.map { node($0).entry }, accepted: acceptedHash, alarm: alarm,
            distrusted: distrusted, named: named)
    }

    /// The members and keys after the newest accepted entry. A distrusted device does not count any
    /// more: see ``membership(of:)``.
    package var accepted: RosterState { node(acceptedHash).state }

    /// Whether an entry was read: messages may name it.
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
    /// All entries that the store shows must come together. Otherwise the store could choose by
    /// their order which of two branches this device accepts first, and stays with.
    ///
    /// The rules are those of ``RosterState/after(_:isUsed:)``; `backdated`; and `limit` for a
    /// sibling that lost when there are 64 of them.
    package mutating func add(_ entries: [RosterEntry]) -> Reading {
        var reading = Reading()
        // Among siblings with one author, only the smallest hash can win. So the rest of a flood
        // need not be compared.
        var siblingCounts: [Sibling: Int] = [:]
        for entry in entries.sorted(by: { ($0.head.number, $0.hash) < ($1.head.number, $1.hash) })
        where nodes[entry.hash] == nil {
            guard let parent = nodes[entry.head.parent] else {
                reading.waiting.append(entry.hash)
                continue
            }
            do throws(SyncError) {
                let state = try state(after: parent, entry)
                guard !isBackdated(entry) else { throw .entry(.invalid, .backdated) }
                let sibling = Sibling(parent: entry.head.parent, author: entry.head.signer)
                let count = siblingCounts[sibling, default: 0]
                guard count <= Self.maximalLostSiblings else { throw .entry(.invalid, .limit) }
                siblingCounts[sibling] = count + 1
                insert(Node(entry: entry, state: state))
                reading.added.append(entry.hash)
            } catch {
                reading.refused[entry.hash] = error
            }
        }
        if !reading.added.isEmpty { decide() }
        dropSurplus(of: &reading)
        return reading
    }

    /// The common part of siblings of one author.
    private struct Sibling: Hashable {
        let parent: SyncHash
        let author: DeviceID
    }

    private func state(
        after parent: Node, _ entry: RosterEntry
    ) throws(SyncError) -> RosterState {
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
        let decision = RosterForks(self, staying: acceptedHash).decision
        acceptedHash = decision.accepted
        alarm = decision.alarm
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

    /// Keeps at most 64 lost siblings for each entry, the ones that were read first. So a flood of
    /// entries pushes out no earlier entry.
    private mutating func dropSurplus(of reading: inout Reading) {
        let path = Set(acceptedPath.map(\.hash))
        for parent in Set(reading.added.compactMap { nodes[$0]?.parent }) {
            let lost = nodes[parent]?.children.filter { !path.contains($0) } ?? []
            for dropped in lost.dropFirst(Self.maximalLostSiblings) {
                remove(dropped)
                reading.refused[dropped] = SyncError(.invalid, .limit, in: .rosterEntry)
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
    /// The kept entry `hash`, which there must be.
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

    /// The entries from the first one to the accepted one.
    package var acceptedPath: [RosterEntry] {
        var path = [node(acceptedHash).entry]
        while let parent = path.last?.head.parent, let node = nodes[parent] {
            path.append(node.entry)
        }
        return path.reversed()
    }

    /// The commitments of the keys of each epoch in the accepted branch.
    package var commitments: [UInt32: KeyCommitments] {
        var commitments: [UInt32: KeyCommitments] = [:]
        for entry in acceptedPath {
            guard let wraps = entry.operation.wraps else { continue }
            commitments[wraps.epoch] = wraps.commitments
        }
        return commitments
    }
}

// The kept part as bytes of the device's own keychain. No other program reads them, so their layout
// may change with the keychain's: version 1 is docs/FORMAT.md §12.
extension Roster.Kept {
    /// The bytes, from which ``init(parsing:)`` makes the same.
    package var bytes: [UInt8] {
        [UInt8](fields: entries.map { SizedBytes($0.bytes) }, accepted, alarm, distrusted, named)
    }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`; as ``RosterEntry/init(parsing:)``.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .rosterEntry)
        var entries: [RosterEntry] = []
        for entry in try [SizedBytes](from: &reader) {
            entries.append(try RosterEntry(parsing: entry.bytes))
        }
        self.entries = entries
        (accepted, alarm, distrusted, named) = try reader.fields()
        try reader.finish()
    }
}
