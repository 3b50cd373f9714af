// SPDX-License-Identifier: Apache-2.0

// A device of the model: it reads the store, joins, builds and sends as the agent will, one
// transaction after the other, and it may die between any two of them.

import ValetKeychainModel

@testable import ValetSync

/// The device died here.
struct Died: Error {}

/// What the model broke.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

/// A running keychain. Copies of one machine have one id and different instances.
struct ModelDevice {
    var id: DeviceID
    var instance: Int
    var keychain: ModelKeychain
    var isLocked = false
    var isMember = true
    var isRemoved = false
    /// The records that lived here once and do not any more.
    var gone: Set<Dot> = []
    var unreachable: [KeyScope: LastingStates<LogID>] = [:]
}

extension Model {
    /// Everything that one run of the agent does: reads what there is, then says what is new.
    func sync(_ index: Int, _ view: StoreView) throws {
        for scope in KeyScope.allCases { devices[index].keychain.replica[scope].abandonBase() }
        if numbers.oneIn(3) { try restart(index) }
        try step()
        for scope in openScopes(index) {
            // Nothing is built while a join is unfinished.
            if devices[index].keychain.joining[scope] != nil { try write(index, scope, view) }
            try finishJoin(index, scope)
            try read(index, scope, view)
        }
        for scope in openScopes(index) { try write(index, scope, view) }
        showDeferred(index)
    }

    private func openScopes(_ index: Int) -> [KeyScope] {
        devices[index].isLocked ? [.afterFirstUnlock] : [.afterFirstUnlock, .whileUnlocked]
    }

    func circle(_ index: Int) -> CircleView {
        CircleView(readable: readable, isLocked: devices[index].isLocked)
    }

    private func showDeferred(_ index: Int) {
        devices[index].keychain.collect()
        var changes: [ReplicaChange] = []
        devices[index].keychain.replica.showDeferred(circle(index), &changes)
        apply(changes, to: index, from: nil)
    }

    private func apply(_ changes: [ReplicaChange], to index: Int, from message: ModelMessage?) {
        for change in changes {
            guard case .record(_, let record) = change else { continue }
            switch record {
            case .keep(let dot):
                if devices[index].gone.contains(dot), !hasCopies, !hasLies {
                    fail("a record that had left device \(index) lives there again")
                }
            case .drop(let dot, _): devices[index].gone.insert(dot)
            }
        }
        let before = devices[index].keychain.rows
        let removed = devices[index].keychain.apply(changes, from: message)
        replaced.formUnion(devices[index].keychain.replaced)
        for key in removed
        where !deletedKeys.contains(key) && !hasCopies && !hasRemovals && !hasLies {
            fail("a row vanished from device \(index) that nobody deleted")
        }
        guard devices[index].isLocked else { return }
        for (key, row) in before where row.scope == .whileUnlocked {
            if devices[index].keychain.rows[key]?.write != row.write {
                fail("a row of class 1 changed while device \(index) was locked")
            }
        }
    }

    // MARK: Reading

    private func read(_ index: Int, _ scope: KeyScope, _ view: StoreView) throws {
        try readOwnLog(index, scope, view)
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            let replica = devices[index].keychain.replica[scope]
            let logs = view.logs(scope).filter {
                $0 != replica.own.id && readable.contains($0.high)
            }
            for log in logs.filter({ replica.retired[$0] != nil }) {
                while try readNext(index, scope, log, view) { isProgressing = true }
            }
            for log in logs where replica.retired[log] == nil {
                while try readNext(index, scope, log, view) { isProgressing = true }
            }
        }
    }

    private func readOwnLog(_ index: Int, _ scope: KeyScope, _ view: StoreView) throws {
        let log = devices[index].keychain.replica[scope].own.id
        let messages = view.stored(scope, log)
        let found = devices[index].keychain.replica[scope].inspectOwnLog(messages)
        guard let found, flaw != .writesOnInSharedLog else {
            if devices[index].keychain.replica[scope].hasLost(from: messages) {
                devices[index].keychain.replica[scope].oweBase()
            }
            return
        }
        takeNewLog(index, scope, found, view)
        try step()
    }

    private func takeNewLog(
        _ index: Int, _ scope: KeyScope, _ found: Elsewhere, _ view: StoreView
    ) {
        devices[index].keychain.collect()
        let own = devices[index].keychain.replica[scope].own
        let unconfirmed = own.unconfirmed
        let isShown = unconfirmed.map { unsent in
            view.stored(scope, own.id).contains { $0.hash == unsent.hash }
        }
        if isShown == true {
            devices[index].keychain.replica.confirm(in: scope)
        }
        devices[index].keychain.outgoing[scope] = nil
        note("device \(index) leaves log \(own.id.low % 1000): \(found)")
        devices[index].keychain.replica[scope].leaveLog(
            for: newLog(of: devices[index].id), because: found, isShown: isShown ?? true)
    }

    /// Joins the next message of a log. Returns false if no message fits.
    private func readNext(
        _ index: Int, _ scope: KeyScope, _ log: LogID, _ view: StoreView
    ) throws -> Bool {
        let messages = view.stored(scope, log)
        if devices[index].keychain.replica[scope].retired[log] != nil {
            devices[index].keychain.collect()
            devices[index].keychain.replica[scope].inspectRetired(log, messages)
            for late in devices[index].keychain.replica[scope].late(in: log, messages) {
                for record in view.message(scope, late)?.records ?? [] {
                    devices[index].keychain.replaced.insert(record.write)
                    lateWrites.insert(record.write)
                }
                devices[index].keychain.replica[scope].keptLate(late)
            }
            replaced.formUnion(devices[index].keychain.replaced)
        }
        let choice = devices[index].keychain.replica[scope].choose(
            from: messages, of: log, upTo: lastOfLeft[log] ?? (left.contains(log.high) ? 0 : .max))
        guard case .join(let stored) = choice, let message = view.message(scope, stored) else {
            let replica = devices[index].keychain.replica[scope]
            if choice == .twoHistories, replica.owesNews(of: log) {
                devices[index].keychain.replica[scope].oweTable()
            }
            return false
        }
        let named = devices[index].keychain.replica[scope].inspect(message.table, of: log.high)
        if let named, flaw != .writesOnInSharedLog {
            takeNewLog(index, scope, named, view)
            try step()
            return true
        }
        try join(index, scope, message)
        return true
    }

    private func join(_ index: Int, _ scope: KeyScope, _ message: ModelMessage) throws {
        if flaw != .joinsBeforeCollecting { devices[index].keychain.collect() }
        note("device \(index) joins \(message.description)")
        try begin(message, index, scope)
        devices[index].keychain.joining[scope] = message
        try step()
        try finishJoin(index, scope)
    }

    private func begin(_ message: ModelMessage, _ index: Int, _ scope: KeyScope) throws {
        if let refusal = devices[index].keychain.replica[scope].begin(message.incoming) {
            throw Broken(description: "a message was refused: \(refusal)")
        }
    }

    private func finishJoin(_ index: Int, _ scope: KeyScope) throws {
        guard let message = devices[index].keychain.joining[scope] else { return }
        if devices[index].keychain.replica[scope].owesJoin { try begin(message, index, scope) }
        var isFinished = false
        while !isFinished {
            if flaw != .joinsBeforeCollecting { devices[index].keychain.collect() }
            var changes: [ReplicaChange] = []
            isFinished = devices[index].keychain.replica.continueJoin(
                in: scope, atMost: sliceCount, circle(index), &changes)
            apply(changes, to: index, from: message)
            if isFinished { devices[index].keychain.joining[scope] = nil }
            try step()
            if !isFinished, !isEnding, numbers.oneIn(4) { localCall(index) }
        }
    }

    // MARK: Writing

    private func write(_ index: Int, _ scope: KeyScope, _ view: StoreView) throws {
        try send(index, scope)
        for _ in 0..<4 {
            devices[index].keychain.collect()
            let replica = devices[index].keychain.replica[scope]
            guard replica.mayBuildBatch, replica.hasNews else { break }
            guard try build(index, scope) else { break }
        }
        try buildBase(index, scope, view)
    }

    private func send(_ index: Int, _ scope: KeyScope) throws {
        guard let message = devices[index].keychain.outgoing[scope] else { return }
        put(message)
        try step()
        devices[index].keychain.outgoing[scope] = nil
        devices[index].keychain.replica.confirm(in: scope)
        try step()
    }

    private func build(_ index: Int, _ scope: KeyScope) throws -> Bool {
        var records: [UInt64: ModelRecord] = [:]
        let keychain = devices[index].keychain
        let draft = devices[index].keychain.replica[scope].draftBatch(limits: limits) { source in
            guard let record = keychain.record(source) else { return nil }
            records[record.record.tag] = record
            return record.record
        }
        guard let draft else { return false }
        let batch = Batch(
            milliseconds: clock, reads: 1, table: draft.table, covers: draft.covers,
            records: draft.records)
        let hash = newHash()
        let message = ModelMessage(
            stored: StoredMessage(
                name: draft.name, hash: hash, previous: draft.previous, base: nil),
            scope: scope, instance: devices[index].instance, body: .batch(batch, records))
        var changes: [ReplicaChange] = []
        devices[index].keychain.replica.add(draft, hash: hash, in: scope, circle(index), &changes)
        devices[index].keychain.outgoing[scope] = message
        apply(changes, to: index, from: message)
        try step(isLikely: true)
        if flaw == .forgetsUnconfirmed { devices[index].keychain.outgoing[scope] = nil }
        try send(index, scope)
        return true
    }

    private func buildBase(_ index: Int, _ scope: KeyScope, _ view: StoreView) throws {
        let replica = devices[index].keychain.replica[scope]
        let members = (view.messages[scope] ?? [:]).filter {
            readable.contains($0.key.high) && !left.contains($0.key.high)
        }.mapValues { $0.map(\.stored) }
        let unreachable = devices[index].unreachable[scope, default: LastingStates()].update(
            replica.unreachable(in: members), at: clock)
        let isDue = replica.isBaseDue || !unreachable.isEmpty || (!isEnding && numbers.oneIn(8))
        guard isDue, replica.mayBeginBase else { return }
        let draft = devices[index].keychain.replica[scope].beginBase()
        let kept = devices[index].keychain.kept
        try step()
        let base = Base(
            milliseconds: clock, reads: 1, table: draft.table, own: draft.own,
            dotCount: UInt32(draft.live.count + draft.cloud.count), parts: [])
        let hash = newHash()
        let message = ModelMessage(
            stored: StoredMessage(
                name: draft.name, hash: hash, previous: draft.previous,
                base: .init(own: draft.own, table: draft.table, isComplete: true)),
            scope: scope, instance: devices[index].instance,
            body: .base(
                base, live: kept.filter { draft.live[$0.key] != nil }, cloud: Array(draft.cloud)))
        devices[index].keychain.replica[scope].sendBase(hash: hash)
        try step()
        put(message)
        try step()
        devices[index].keychain.replica[scope].confirmBase(draft)
        try step()
        if !numbers.oneIn(3) {
            let own = devices[index].keychain.replica[scope].own
            note("device \(index) deletes before \(draft.name.number)")
            store.delete(scope, draft.name.log) {
                $0.stored.name.number < draft.name.number && own.isOwn($0.stored)
            }
        }
    }
}
