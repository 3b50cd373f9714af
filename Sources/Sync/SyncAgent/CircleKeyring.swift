// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing
package import ValetSync

/// The keys of a circle that this device can open in one scope: those of its boxes in the roster,
/// and of the epochs before, which each change of keys seals under the new ones. docs/SYNC.md §3.4.
///
/// It has the keys of lost branches, too: messages under them are still read.
package struct CircleKeyring: Sendable {
    /// A key that several owners may hold.
    package final class Held: Sendable {
        package let key: CircleKey

        init(_ key: consuming CircleKey) { self.key = key }
    }

    /// The current key; nil if no member has given it to this device.
    package let newest: Held?
    /// The signers of entries whose keys do not fit what the entries commit to.
    package let liars: Set<DeviceID>
    private let keys: [KeyID: Held]

    /// The key that a message names; nil if this device does not have it.
    package subscript(id: KeyID) -> Held? { keys[id] }

    /// Opens the keys in `roster` that `identity`, of the member `device`, can open.
    package init(
        _ roster: Roster, for device: DeviceID, _ identity: borrowing ScopeIdentity
    ) {
        var opening = KeyOpening(roster.kept.entries, circle: roster.circle)
        opening.openBoxes(of: device, identity)
        opening.openFormer(identity.scope)
        newest = opening.epochEntry(from: roster.acceptedHash).flatMap { opening.keys[$0.hash] }
        liars = opening.liars
        var keys: [KeyID: Held] = [:]
        for held in opening.keys.values { keys[held.key.id] = held }
        self.keys = keys
    }
}

/// Opens keys entry by entry.
private struct KeyOpening {
    private let entries: [RosterEntry]
    private let byHash: [SyncHash: RosterEntry]
    private let circle: CircleID
    /// The key that an entry hands out.
    private(set) var keys: [SyncHash: CircleKeyring.Held] = [:]
    private(set) var liars: Set<DeviceID> = []

    init(_ entries: [RosterEntry], circle: CircleID) {
        self.entries = entries.sorted { $0.head.number > $1.head.number }
        byHash = Dictionary(uniqueKeysWithValues: entries.map { ($0.hash, $0) })
        self.circle = circle
    }

    mutating func openBoxes(of device: DeviceID, _ identity: borrowing ScopeIdentity) {
        for entry in entries {
            guard let wraps = entry.operation.wraps, wraps.devices.contains(device) else {
                continue
            }
            do {
                keys[entry.hash] = CircleKeyring.Held(
                    try wraps.key(for: device, identity, at: entry.head.place))
            } catch {
                liars.insert(entry.head.signer)
            }
        }
    }

    /// Goes from the latest entries to the first, so that each key opens the one before.
    mutating func openFormer(_ scope: KeyScope) {
        for entry in entries {
            guard let held = keys[entry.hash], let parent = byHash[entry.head.parent],
                let before = epochEntry(from: parent.hash), keys[before.hash] == nil
            else { continue }
            switch entry.operation {
            case .add: keys[before.hash] = held
            case .remove(_, let wraps, let former), .rotate(let wraps, let former):
                guard let commitments = before.operation.wraps?.commitments else { continue }
                do {
                    keys[before.hash] = CircleKeyring.Held(
                        try former.key(
                            of: scope, under: held.key, circle: circle, epoch: wraps.epoch,
                            commitments: commitments))
                } catch {
                    liars.insert(entry.head.signer)
                }
            case .create, .leave: continue
            }
        }
    }

    /// The entry that made the keys in use after the entry `hash`.
    func epochEntry(from hash: SyncHash) -> RosterEntry? {
        var next = byHash[hash]
        while let entry = next {
            switch entry.operation {
            case .create, .remove, .rotate: return entry
            case .add, .leave: next = byHash[entry.head.parent]
            }
        }
        return nil
    }
}
