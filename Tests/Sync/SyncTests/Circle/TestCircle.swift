// SPDX-License-Identifier: Apache-2.0

// A circle whose devices and keys follow from small numbers, so that tests make any roster.

import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// A device whose secrets follow from its letter.
struct TestDevice: Hashable, Sendable {
    let letter: Character
    let circle: CircleID
    let kind: Member.Kind
    let member: Member
    var id: DeviceID { member.id }

    init(_ letter: Character, in circle: CircleID, _ kind: Member.Kind = .device) throws {
        self.letter = letter
        self.circle = circle
        self.kind = kind
        let f = try Self.identity(letter, .afterFirstUnlock, circle)
        let u = try Self.identity(letter, .whileUnlocked, circle)
        member = Member(kind, f, u)
    }

    func identity(_ scope: KeyScope) throws -> ScopeIdentity {
        try Self.identity(letter, scope, circle)
    }

    private static func identity(
        _ letter: Character, _ scope: KeyScope, _ circle: CircleID
    ) throws -> ScopeIdentity {
        var bytes = [UInt8](repeating: scope.rawValue, count: 32)
        bytes[0] = letter.asciiValue ?? 0
        let secret = try SyncSecret(copying: bytes.span)
        return ScopeIdentity(secret, scope, circle: circle)
    }
}

/// Makes entries of one circle, whose founder is `a`.
struct TestCircle: Sendable {
    let id: CircleID
    let genesis: RosterEntry
    private let founder: TestDevice
    private(set) var states: [SyncHash: RosterState]

    init() throws {
        founder = try TestDevice("a", in: .zero)
        let head = RosterEntry.Head.founding(milliseconds: 1, signer: founder.id)
        let wraps = try Self.wraps(epoch: 1, [founder.member], head)
        let identity = try founder.identity(.whileUnlocked)
        genesis = RosterEntry(
            head, .create(salt: Digest(of: Span()), founder.member, wraps),
            signedBy: identity.signing)
        let state = try RosterState(founding: genesis)
        id = state.circle
        states = [genesis.hash: state]
    }

    func device(_ letter: Character) throws -> TestDevice {
        letter == "a" ? founder : try TestDevice(letter, in: id)
    }

    /// The keys of an epoch, which are the same on all branches.
    static func keys(_ epoch: UInt32) throws -> CircleKeys {
        let f = [UInt8](repeating: UInt8(epoch), count: 32)
        let u = [UInt8](repeating: UInt8(epoch) ^ 0xff, count: 32)
        return CircleKeys(
            epoch: epoch, f: try CircleKey(copying: f.span), u: try CircleKey(copying: u.span))
    }

    static func wraps(
        epoch: UInt32, _ members: [Member], _ entry: RosterEntry.Head
    ) throws -> Wraps {
        let keys = try keys(epoch)
        let ephemeral = KeyAgreementPair.random()
        return try Wraps(keys, for: members, in: entry, ephemeral: ephemeral) { .random() }
    }

    static func former(epoch: UInt32, _ circle: CircleID) throws -> FormerKeys {
        let (old, new) = (epoch - 1, epoch)
        let keys = try keys(new)
        let former = try self.keys(old)
        return FormerKeys(former, under: keys, circle: circle) { .random() }
    }

    /// What an entry of a test does.
    enum Change: Sendable {
        case add(Character)
        case remove([Character])
        case leave
        case rotate
    }

    /// The entry that `author` makes after `parent`.
    mutating func entry(
        after parent: RosterEntry, by author: Character, _ change: Change, milliseconds: UInt64 = 2
    ) throws -> RosterEntry {
        guard let state = states[parent.hash] else {
            preconditionFailure("the parent was made by this circle")
        }
        let author = try device(author)
        let entry = try unchecked(state, by: author, change, milliseconds: milliseconds)
        states[entry.hash] = try state.after(entry) { _ in false }
        return entry
    }

    /// The same, whether or not it keeps the rules.
    func unchecked(
        _ state: RosterState, by author: TestDevice, _ change: Change, milliseconds: UInt64 = 2
    ) throws -> RosterEntry {
        let head = state.next(milliseconds: milliseconds, signer: author.id)
        let operation = try operation(change, state, head)
        let identity = try author.identity(.whileUnlocked)
        return RosterEntry(head, operation, signedBy: identity.signing)
    }

    private func operation(
        _ change: Change, _ state: RosterState, _ head: RosterEntry.Head
    ) throws -> RosterEntry.Operation {
        let next = state.epoch + 1
        switch change {
        case .add(let letter):
            let member = try device(letter).member
            return .add(member, try Self.wraps(epoch: state.epoch, [member], head))
        case .remove(let letters):
            let devices = try letters.map { try device($0).id }
            let left = state.members(without: devices)
            return .remove(
                devices, try Self.wraps(epoch: next, left, head),
                try Self.former(epoch: next, head.circle))
        case .leave: return .leave([])
        case .rotate:
            return .rotate(
                try Self.wraps(epoch: next, state.members(without: []), head),
                try Self.former(epoch: next, head.circle))
        }
    }
}

/// A roster as a test describes it: named entries, each with its parent, author and change.
struct TestRoster: Sendable {
    struct Step: Sendable {
        let name: String
        let parent: String
        let author: Character
        let change: TestCircle.Change

        init(
            _ name: String, after parent: String, by author: Character, _ change: TestCircle.Change
        ) {
            self.name = name
            self.parent = parent
            self.author = author
            self.change = change
        }
    }

    private(set) var circle: TestCircle
    private(set) var entries: [String: RosterEntry]

    /// Makes the circle of `a`, `b`, `c` and `d`, the elder first; its last entry is `fork`.
    init(_ steps: [Step]) throws {
        circle = try TestCircle()
        entries = ["create": circle.genesis]
        try append([
            Step("b", after: "create", by: "a", .add("b")),
            Step("c", after: "b", by: "a", .add("c")),
            Step("fork", after: "c", by: "b", .add("d")),
        ])
        try append(steps)
    }

    mutating func append(_ steps: [Step]) throws {
        for (index, step) in steps.enumerated() {
            let parent = entry(step.parent)
            entries[step.name] = try circle.entry(
                after: parent, by: step.author, step.change, milliseconds: UInt64(index))
        }
    }

    func entry(_ name: String) -> RosterEntry {
        guard let entry = entries[name] else { preconditionFailure("there is no entry \(name)") }
        return entry
    }

    func name(_ hash: SyncHash) -> String? { entries.first { $0.value.hash == hash }?.key }

    func device(_ letter: Character) throws -> DeviceID { try circle.device(letter).id }

    /// A device that has read everything up to the fork.
    func reader() throws -> Roster {
        var roster = try Roster(founding: circle.genesis, of: circle.id)
        let reading = roster.add(["b", "c", "fork"].map(entry))
        guard reading.added.count == 3 else { preconditionFailure("a fork is read") }
        return roster
    }
}

extension Roster {
    /// The commitments of the keys of each epoch in the accepted branch.
    var commitments: [UInt32: KeyCommitments] {
        acceptedPath.reduce(into: [:]) { commitments, entry in
            guard let wraps = entry.operation.wraps else { return }
            commitments[wraps.epoch] = wraps.commitments
        }
    }
}

extension StoreNames {
    /// The path of a file below the folder of its circle.
    static func path(of name: StoredName, in place: StorePlace) -> String {
        (folders(of: place).dropFirst() + [text(name)]).joined(separator: "/")
    }
}
