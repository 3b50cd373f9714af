// SPDX-License-Identifier: Apache-2.0

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
    /// The number of the entry.
    package let number: UInt32
    /// The hash of the entry.
    package let hash: SyncHash
    package private(set) var members: [DeviceID: Seat]
    /// The members that have left.
    package private(set) var leavers: [DeviceID: Leaver] = [:]
    /// The epoch of the newest keys.
    package private(set) var epoch: UInt32
    /// The commitments of the newest keys.
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
        var next = RosterState(after: self, entry)
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

    private init(after state: RosterState, _ entry: RosterEntry) {
        circle = state.circle
        (number, hash) = (entry.head.number, entry.hash)
        (members, leavers) = (state.members, state.leavers)
        (epoch, commitments) = (state.epoch, state.commitments)
        needsRotation = state.needsRotation
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

    private mutating func remove(
        _ devices: [DeviceID], by signer: DeviceID
    ) throws(SyncError) {
        for device in devices {
            guard device != signer, members.removeValue(forKey: device) != nil else {
                throw .entry(.invalid, .members)
            }
        }
    }

    /// New keys, of the next epoch and for all members.
    private mutating func take(_ wraps: Wraps) throws(SyncError) {
        guard wraps.epoch == epoch + 1 else { throw .entry(.invalid, .epoch) }
        guard wraps.devices == members.keys.sorted() else { throw .entry(.invalid, .members) }
        epoch = wraps.epoch
        commitments = wraps.commitments
        needsRotation = false
    }

    /// The head of the next entry, which `signer` makes.
    package func next(milliseconds: UInt64, signer: DeviceID) -> RosterEntry.Head {
        RosterEntry.Head(
            circle: circle, number: number + 1, parent: hash, milliseconds: milliseconds,
            signer: signer)
    }

    /// The members without `removed`, to make keys for them.
    package func members(without removed: [DeviceID]) -> [Member] {
        members.values.map(\.member).filter { !removed.contains($0.id) }
    }
}
