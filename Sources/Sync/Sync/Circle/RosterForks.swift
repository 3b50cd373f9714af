// SPDX-License-Identifier: Apache-2.0

/// Chooses between the branches of a roster: docs/SYNC.md §6.
struct RosterForks {
    /// The choice between branches.
    struct Decision: Equatable {
        /// The newest entry of the accepted branch.
        let accepted: SyncHash
        /// The first entries of branches that this device cannot choose between.
        let alarm: [SyncHash]
    }

    /// How a branch goes on after an entry.
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
    /// The entry at which rule 3 leaves this device.
    private let accepted: SyncHash
    /// How a branch goes on after each entry.
    private(set) var continuations: [SyncHash: Continuation] = [:]

    /// Decides every fork, the latest ones first, because the continuation of a branch counts.
    init(_ roster: Roster, staying accepted: SyncHash) {
        self.roster = roster
        self.accepted = accepted
        let nodes = roster.nodes.values.sorted { $0.number > $1.number }
        for node in nodes {
            continuations[node.entry.hash] = continuation(after: node)
        }
    }

    /// The choice between branches.
    var decision: Decision {
        let branch = branch(from: roster.root)
        guard let last = branch.last else { preconditionFailure("a branch has an entry") }
        if case .undecided(let entries) = continuations[last] {
            return Decision(accepted: last, alarm: entries)
        }
        return Decision(accepted: last, alarm: [])
    }

    private func continuation(after node: Roster.Node) -> Continuation {
        let children = node.children.filter { !roster.isVoid(roster.node($0)) }
        guard let first = children.first else { return .end }
        guard children.count > 1 else { return .entry(first) }
        if let winner = children.first(where: { wins($0, against: children, node.state) }) {
            return .entry(winner)
        }
        // Rule 3: a device stays with the branch that it had accepted.
        if let kept = children.first(where: {
            roster.isAncestor($0, of: accepted)
        }) {
            return .entry(kept)
        }
        return .undecided(children.sorted())
    }

    private func wins(
        _ candidate: SyncHash, against siblings: [SyncHash], _ fork: RosterState
    ) -> Bool {
        siblings.allSatisfy { $0 == candidate || outcome(candidate, $0, fork) == .first }
    }

    private func outcome(_ first: SyncHash, _ second: SyncHash, _ fork: RosterState) -> Outcome {
        let (author, other) = (roster.node(first).signer, roster.node(second).signer)
        guard author != other else { return first < second ? .first : .second }
        switch (removes(first, other), removes(second, author)) {
        case (true, false): return .first
        case (false, true): return .second
        case (true, true): return .neither
        case (false, false):
            // Both are members at the fork, and no entry adds two.
            let (age, otherAge) = (fork.members[author]?.number, fork.members[other]?.number)
            return (age ?? 0) < (otherAge ?? 0) ? .first : .second
        }
    }

    /// Whether the branch that `first` begins removes `device`.
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
        /// Members that lost branches removed, or that left there: the first unlocked member
        /// removes them before its next message.
        package var removals: Set<DeviceID> = []
        /// Whether the first unlocked member makes new keys, if it has no member to remove.
        package var needsRotation = false
        /// Members that a device added: it adds them anew, if they are still wanted.
        package var additions: [DeviceID: Set<DeviceID>] = [:]
    }

    /// The changes of lost branches that the accepted branch lacks.
    package var outstanding: Outstanding {
        let accepted = accepted
        var outstanding = Outstanding(needsRotation: accepted.needsRotation)
        let path = Set(acceptedPath.map(\.hash))
        let removals = nodes.values.filter {
            if case .remove = $0.entry.operation { !isVoid($0) } else { false }
        }
        var gone: Set<DeviceID> = []
        for node in nodes.values where !path.contains(node.entry.hash) && !isVoid(node) {
            // Not if another branch removes the signer.
            let isOverruled = removals.contains { removal in
                guard case .remove(let devices, _, _) = removal.entry.operation else {
                    return false
                }
                return devices.contains(node.signer)
                    && !isAncestor(node.entry.hash, of: removal.entry.hash)
            }
            if isOverruled { continue }
            switch node.entry.operation {
            case .create: break
            case .add(let member, _):
                let isMember = accepted.members[member.id] != nil
                if !isMember { outstanding.additions[node.signer, default: []].insert(member.id) }
            case .remove(let devices, _, _): gone.formUnion(devices)
            case .leave: gone.insert(node.signer)
            case .rotate:
                if accepted.epoch == fork(of: node, path).epoch { outstanding.needsRotation = true }
            }
        }
        outstanding.removals = gone.filter { accepted.members[$0] != nil }
        outstanding.additions = outstanding.additions
            .mapValues { $0.subtracting(gone) }.filter { !$0.value.isEmpty }
        return outstanding
    }

    private func fork(of node: Node, _ path: Set<SyncHash>) -> RosterState {
        var node = node
        while !path.contains(node.entry.hash) { node = self.node(node.parent) }
        return node.state
    }
}
