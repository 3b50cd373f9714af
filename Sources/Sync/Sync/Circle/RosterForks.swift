// SPDX-License-Identifier: Apache-2.0

/// Chooses between the branches of a roster: docs/SYNC.md §6.
struct RosterForks {
    enum Continuation {
        case end
        case entry(SyncHash)
        /// Branches that remove each other's authors.
        case undecided([SyncHash])
    }

    private enum Outcome {
        case first, second, neither
    }

    private let roster: Roster
    /// The entry that this device had accepted. Rule 3 keeps the branch that has it.
    private let accepted: SyncHash
    private(set) var continuations: [SyncHash: Continuation] = [:]

    /// Decides every fork, the latest first, because each decision depends on how the branches go
    /// on.
    init(_ roster: Roster, staying accepted: SyncHash) {
        (self.roster, self.accepted) = (roster, accepted)
        let nodes = roster.nodes.values.sorted { $0.number > $1.number }
        for node in nodes { continuations[node.entry.hash] = continuation(after: node) }
    }

    /// The newest entry of the accepted branch, and the first entries of branches that this device
    /// cannot choose between.
    var decision: (accepted: SyncHash, alarm: [SyncHash]) {
        let branch = branch(from: roster.root)
        guard let last = branch.last else { preconditionFailure("a branch has an entry") }
        if case .undecided(let entries) = continuations[last] {
            return (last, entries)
        }
        return (last, [])
    }

    private func continuation(after node: Roster.Node) -> Continuation {
        let children = node.children.filter { !roster.isVoid(roster.node($0)) }
        guard let first = children.first else { return .end }
        guard children.count > 1 else { return .entry(first) }
        let winner = children.first { candidate in
            children.allSatisfy {
                $0 == candidate || outcome(candidate, $0, node.state) == .first
            }
        }
        if let winner { return .entry(winner) }
        // Rule 3: a device stays with the branch that it had accepted.
        if let kept = children.first(where: {
            roster.isAncestor($0, of: accepted)
        }) {
            return .entry(kept)
        }
        return .undecided(children.sorted())
    }

    private func outcome(_ first: SyncHash, _ second: SyncHash, _ fork: RosterState) -> Outcome {
        let (author, other) = (roster.node(first).signer, roster.node(second).signer)
        guard author != other else { return first < second ? .first : .second }
        switch (removes(first, other), removes(second, author)) {
        case (true, false): return .first
        case (false, true): return .second
        case (true, true): return .neither
        case (false, false):
            // Both are members at the fork, and no entry adds two members, so the ages differ.
            let (age, otherAge) = (fork.members[author]?.number, fork.members[other]?.number)
            return (age ?? 0) < (otherAge ?? 0) ? .first : .second
        }
    }

    private func removes(_ first: SyncHash, _ device: DeviceID) -> Bool {
        branch(from: first).contains { hash in
            guard case .remove(let devices, _, _) = roster.node(hash).entry.operation else {
                return false
            }
            return devices.contains(device)
        }
    }

    private func branch(from first: SyncHash) -> [SyncHash] {
        var branch = [first]
        while let last = branch.last, case .entry(let next) = continuations[last] {
            branch.append(next)
        }
        return branch
    }
}

extension Roster {
    /// The changes of lost branches that the accepted branch lacks: docs/SYNC.md §6.
    package struct Outstanding: Hashable, Sendable {
        /// The members that a lost branch removes, or that left in one. The first unlocked member
        /// removes them before its next message.
        package var removals: Set<DeviceID> = []
        /// Whether the first unlocked member makes new keys, if it has no member to remove.
        package var needsRotation = false
    }

    package var outstanding: Outstanding {
        let accepted = accepted
        var outstanding = Outstanding(needsRotation: accepted.needsRotation)
        let path = Set(acceptedPath.map(\.hash))
        let removals = nodes.values.filter {
            if case .remove = $0.entry.operation { !isVoid($0) } else { false }
        }
        var gone: Set<DeviceID> = []
        for node in nodes.values where !path.contains(node.entry.hash) && !isVoid(node) {
            // The entry does not count if another branch removes its signer.
            let isOverruled = removals.contains { removal in
                guard case .remove(let devices, _, _) = removal.entry.operation else {
                    return false
                }
                return devices.contains(node.signer)
                    && !isAncestor(node.entry.hash, of: removal.entry.hash)
            }
            if isOverruled { continue }
            switch node.entry.operation {
            // A device that a lost branch added is invited again, if it is still wanted.
            case .create, .add: break
            case .remove(let devices, _, _): gone.formUnion(devices)
            case .leave: gone.insert(node.signer)
            case .rotate:
                if accepted.epoch == fork(of: node, path).epoch { outstanding.needsRotation = true }
            }
        }
        outstanding.removals = gone.filter { accepted.members[$0] != nil }
        return outstanding
    }

    private func fork(of node: Node, _ path: Set<SyncHash>) -> RosterState {
        var node = node
        while !path.contains(node.entry.hash) { node = self.node(node.parent) }
        return node.state
    }
}

/// The members and keys of a circle after one entry of its roster: docs/SYNC.md §3, §6.
package struct RosterState: Sendable {
    /// A member, and the number of the entry that added it.
    package struct Seat: Hashable, Sendable {
        package let member: Member
        /// The entry's number: the member with the lower one is the elder.
        package let number: UInt32
    }

    /// A member that has left, and how far its logs count.
    package struct Leaver: Hashable, Sendable {
        package let member: Member
        package let last: [RosterEntry.LastMessage]
    }

    package let circle: CircleID
    package private(set) var number: UInt32
    package private(set) var hash: SyncHash
    package private(set) var members: [DeviceID: Seat]
    package private(set) var leavers: [DeviceID: Leaver] = [:]
    package private(set) var epoch: UInt32
    package private(set) var commitments: KeyCommitments
    /// Whether a member has left since the newest keys were made: the next unlocked member makes
    /// new ones before it sends anything.
    package private(set) var needsRotation = false

    /// The state after the first entry of a circle.
    ///
    /// - Throws: ``SyncError``: `malformed`, `operation`, for another entry; `tampered`: `signer`,
    ///   `signature`; `invalid`: `epoch`, `members`.
    package init(founding entry: RosterEntry) throws(SyncError) {
        guard case .create(_, let member, let wraps) = entry.operation else {
            throw .entry(.malformed, .operation)
        }
        guard entry.head.signer == member.id else { throw .entry(.tampered, .signer) }
        guard entry.isSigned(by: member) else { throw .entry(.tampered, .signature) }
        guard wraps.epoch == 1 else { throw .entry(.invalid, .epoch) }
        guard wraps.devices == [member.id] else { throw .entry(.invalid, .members) }
        circle = entry.hash.half()
        number = 1
        hash = entry.hash
        members = [member.id: Seat(member: member, number: 1)]
        epoch = 1
        commitments = wraps.commitments
    }

    /// The state after an entry that follows this one.
    ///
    /// - Parameter isUsed: Whether an id with these first 8 bytes was a member's before.
    /// - Throws: ``SyncError``: `malformed`: `parent`, `circle`; `tampered`: `signer`,
    ///   `signature`; `invalid`, with the rule that the signer broke.
    package func after(
        _ entry: RosterEntry, isUsed: (DeviceID) -> Bool
    ) throws(SyncError) -> RosterState {
        guard entry.head.circle == circle else { throw .entry(.malformed, .circle) }
        guard entry.head.parent == hash, entry.head.number == number + 1 else {
            throw .entry(.malformed, .parent)
        }
        guard let signer = members[entry.head.signer]?.member else {
            throw .entry(.tampered, .signer)
        }
        guard entry.isSigned(by: signer) else { throw .entry(.tampered, .signature) }
        var next = self
        (next.number, next.hash) = (entry.head.number, entry.hash)
        switch entry.operation {
        case .create: throw .entry(.malformed, .operation)
        case .add(let member, let wraps): try next.add(member, wraps, isUsed)
        case .remove(let devices, let wraps, _):
            try next.remove(devices, by: signer.id)
            try next.take(wraps)
        case .leave(let last):
            next.members[signer.id] = nil
            next.leavers[signer.id] = Leaver(member: signer, last: last)
            next.needsRotation = true
        case .rotate(let wraps, _): try next.take(wraps)
        }
        return next
    }

    private mutating func add(
        _ member: Member, _ wraps: Wraps, _ isUsed: (DeviceID) -> Bool
    ) throws(SyncError) {
        guard !isUsed(member.id) else { throw .entry(.invalid, .returning) }
        guard wraps.epoch == epoch else { throw .entry(.invalid, .epoch) }
        guard wraps.commitments == commitments else { throw .entry(.invalid, .commitment) }
        guard wraps.devices == [member.id] else { throw .entry(.invalid, .members) }
        members[member.id] = Seat(member: member, number: number)
        guard members.count <= Wraps.maximalMemberCount else { throw .entry(.invalid, .limit) }
    }

    private mutating func remove(_ devices: [DeviceID], by signer: DeviceID) throws(SyncError) {
        for device in devices {
            guard device != signer, members.removeValue(forKey: device) != nil else {
                throw .entry(.invalid, .members)
            }
        }
    }

    /// Takes new keys, which must be of the next epoch and for all members.
    private mutating func take(_ wraps: Wraps) throws(SyncError) {
        guard wraps.epoch == epoch + 1 else { throw .entry(.invalid, .epoch) }
        guard wraps.devices == members.keys.sorted() else { throw .entry(.invalid, .members) }
        epoch = wraps.epoch
        commitments = wraps.commitments
        needsRotation = false
    }

    package func next(milliseconds: UInt64, signer: DeviceID) -> RosterEntry.Head {
        RosterEntry.Head(
            circle: circle, number: number + 1, parent: hash, milliseconds: milliseconds,
            signer: signer)
    }

    package func members(without removed: [DeviceID]) -> [Member] {
        members.values.map(\.member).filter { !removed.contains($0.id) }
    }
}
