// SPDX-License-Identifier: Apache-2.0

// The process of a device of the model begins anew: its replica is made again from its entries, and
// has to be the same.

import ValetKeychainModel

@testable import ValetSync

/// The entries of a replica, as a keychain keeps them.
struct ModelEntries {
    private struct Name: Hashable {
        let kind: ReplicaEntry.Kind
        let id: [UInt8]
    }

    private var facts: [Name: (key: SyncItemID, bytes: [UInt8])] = [:]

    mutating func keep(_ summary: RecordSummary, _ dot: Dot, _ scope: KeyScope) {
        let name = Name(kind: .record, id: ReplicaEntry.id(of: dot, in: scope))
        facts[name] = (summary.key, summary.encoded)
    }

    mutating func drop(_ dot: Dot, _ scope: KeyScope) {
        facts[Name(kind: .record, id: ReplicaEntry.id(of: dot, in: scope))] = nil
    }

    /// Takes what has changed in `replica`.
    mutating func save(_ replica: inout Replica) {
        replica.takeChanges { entry in
            let name = Name(kind: entry.kind, id: entry.id)
            facts[name] = entry.facts.map { (SyncItemID(0), $0) }
        }
    }

    func restored(joining scopes: Set<KeyScope>) throws -> Replica? {
        var restoration = ReplicaRestoration()
        for (name, entry) in facts {
            try restoration.add(name.kind, id: name.id, of: entry.key, facts: entry.bytes)
        }
        return try restoration.finish(owesJoin: scopes)
    }
}

extension Model {
    /// Ends the process of a device, and begins another one.
    func restart(_ index: Int) throws {
        var keychain = devices[index].keychain
        keychain.entries.save(&keychain.replica)
        let former = keychain.replica
        let joining = Set(keychain.joining.keys)
        guard var replica = try keychain.entries.restored(joining: joining) else {
            throw Broken(description: "a replica was not kept")
        }
        for scope in KeyScope.allCases {
            replica[scope].omitted = former[scope].omitted
            if let difference = replica[scope].difference(from: former[scope]) {
                throw Broken(description: "\(difference) of \(scope) was not kept")
            }
        }
        let isSame =
            replica.shown.values == former.shown.values
            && replica.staying.values == former.staying.values
            && replica.deferred.values == former.deferred.values
        if !isSame { throw Broken(description: "what rows show is not what was kept") }
        keychain.replica = replica
        devices[index].keychain = keychain
        note("device \(index) begins anew")
    }
}

extension ScopeReplica {
    fileprivate func difference(from other: ScopeReplica) -> String? {
        if positions != other.positions { return "positions" }
        if live != other.live { return "live" }
        if cloud.dots != other.cloud.dots { return "cloud" }
        if pending.values != other.pending.values { return "pending" }
        if renewals.values != other.renewals.values { return "renewals" }
        if !own.isSame(as: other.own) { return "own log" }
        if own.unconfirmed?.hash != other.own.unconfirmed?.hash { return "unconfirmed message" }
        if retired.values.keys != other.retired.values.keys { return "former logs" }
        for (log, old) in retired.values {
            guard let known = other.retired[log] else { return "a former log" }
            if !old.own.isSame(as: known.own) { return "messages of a former log" }
            if old.read != known.read { return "what was read of a former log" }
            if old.firstNotCommon != known.firstNotCommon || old.renews != known.renews {
                return "histories of a former log"
            }
        }
        return nil
    }
}

extension OwnLog {
    fileprivate func isSame(as other: OwnLog) -> Bool {
        id == other.id && next == other.next && built == other.built
            && attempts == other.attempts && openBase == other.openBase
            && announced == other.announced
            && unconfirmed?.entries.count == other.unconfirmed?.entries.count
            && awaited == other.awaited && covers == other.covers && named == other.named
            && owesBatch == other.owesBatch && owesBase == other.owesBase
            && batchesSinceBase == other.batchesSinceBase
    }
}
