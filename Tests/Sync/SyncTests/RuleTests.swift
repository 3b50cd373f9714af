// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetSync

/// Rules that the model's schedules seldom or never need. Each test also leaves its rule out, and
/// expects to see that.
@Suite struct `Rules of the replica` {
    private let key = Model.keys[0]

    /// A model of devices whose keychains are empty.
    private func model(without rule: Rule?) -> Model { Model(seed: 1, without: rule, only: []) }

    private func run(_ model: Model, _ indexes: Int...) {
        for index in indexes { model.runAgent(index, isComplete: true) }
    }

    @Test(arguments: [nil, Rule.movedStays])
    func `A second write of an item that moved keeps its row on a locked device`(
        _ omitted: Rule?
    ) {
        let model = model(without: omitted)
        model.write(0, key, .afterFirstUnlock)
        run(model, 0, 1)
        model.devices[1].isLocked = true
        for _ in 0..<2 {
            model.write(0, key, .whileUnlocked)
            run(model, 0, 0, 1)
        }
        #expect((model.devices[1].keychain.rows[key] != nil) == (omitted == nil))
    }

    @Test(arguments: [nil, Rule.lockedRowsStay])
    func `A row of class 1 stays as it is while the keychain is locked`(_ omitted: Rule?) throws {
        let model = model(without: omitted)
        model.write(0, key, .whileUnlocked)
        run(model, 0, 1)
        model.write(0, key, .afterFirstUnlock)
        run(model, 0, 0)
        // Device 1 reads that the item has moved, and then where to.
        let all = model.store.messages
        try model.sync(1, StoreView(messages: all.filter { $0.key == .whileUnlocked }))
        model.devices[1].isLocked = true
        try model.sync(1, StoreView(messages: all))
        let row = try #require(model.devices[1].keychain.rows[key])
        #expect((row.scope == .whileUnlocked) == (omitted == nil))
        model.devices[1].isLocked = false
        try model.sync(1, StoreView(messages: all))
        #expect(model.devices[1].keychain.rows[key]?.scope == .afterFirstUnlock)
    }

    @Test func `Concurrent writes are conflicts on all devices until one is dropped`() throws {
        let model = model(without: nil)
        for index in 0...1 { model.write(index, key, .afterFirstUnlock) }
        for _ in 0..<2 { run(model, 0, 1) }
        let conflicts = model.devices.prefix(2).map { $0.keychain.replica.conflicts(of: key) }
        #expect(conflicts[0].map(\.source) == conflicts[1].map(\.source))
        #expect(conflicts[0].count == 1)
        let conflict = try #require(conflicts[0].first)
        _ = model.devices[0].keychain.replica.drop(conflict.source, of: key, in: conflict.scope)
        run(model, 0, 1)
        for device in model.devices.prefix(2) {
            #expect(device.keychain.replica.conflicts(of: key).isEmpty)
            #expect(device.keychain.rows[key] != nil)
        }
    }

    @Test func `A message that a member has read and this device has not is missing`() {
        let replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        let read = LogPosition(number: 3, hash: SyncHash(3, 0, 0, 0))
        let missing = replica.missing(in: [[other: read, replica.own.id: read]])
        #expect(missing == [MessageName(log: other, number: 3)])
        var lasting = LastingStates<MessageName>()
        #expect(lasting.update(missing, at: 1_000).isEmpty)
        #expect(lasting.update(missing, at: 3_600_999).isEmpty)
        #expect(lasting.update(missing, at: 3_601_000) == missing)
        #expect(lasting.update([], at: 3_602_000).isEmpty)
    }

    @Test func `A record that says that an item moved waits until the item is in the store`() {
        let model = model(without: nil)
        model.write(0, key, .afterFirstUnlock)
        run(model, 0)
        model.write(0, key, .whileUnlocked)
        model.devices[0].keychain.collect()
        let keychain = model.devices[0].keychain
        var replica = keychain.replica
        #expect(!replica.firstUnlock.hasNews)
        let draft = replica.unlocked.draftBatch { keychain.record($0)?.record }
        var changes: [ReplicaChange] = []
        if let draft {
            replica.add(draft, hash: model.newHash(), in: .whileUnlocked, model.circle(0), &changes)
        }
        #expect(!replica.firstUnlock.hasNews)
        replica.confirm(in: .whileUnlocked)
        #expect(replica.firstUnlock.hasNews)
    }

    @Test func `A record that says that an item moved says so when it is brought anew`() throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        let message = MessageName(log: other, number: 1)
        let summary = RecordSummary(key: key, time: 1, moved: message)
        let record = ModelRecord(0, summary, salt: .zero)
        let dot = Dot(log: other, number: 2, tag: record.record.tag)
        replica.renewals[key] = [Renewal(source: dot, summary: summary, covers: [dot])]
        let draft = try #require(replica.draftBatch { _ in record.record })
        #expect(draft.entries.map(\.summary) == [summary])
        #expect(draft.covers == [dot])
    }

    @Test(arguments: [nil, Rule.noMessageDuringJoin])
    func `No message is built while a join is unfinished`(_ omitted: Rule?) throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        replica.omitted = omitted
        #expect(replica.begin(base(live: [1, 2], upTo: 2)) == nil)
        var changes: [RecordChange] = []
        #expect(!replica.continueJoin(atMost: 1, &changes).isFinished)
        #expect(replica.mayBuildBatch == (omitted != nil))
        while !replica.continueJoin(atMost: 1, &changes).isFinished {}
        #expect(replica.mayBuildBatch)
    }

    @Test func `A position moves with the last slice of a join`() throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        #expect(replica.begin(base(live: [1, 2], upTo: 2)) == nil)
        var changes: [RecordChange] = []
        _ = replica.continueJoin(atMost: 1, &changes)
        #expect(replica.position(of: other) == .start)
        while !replica.continueJoin(atMost: 1, &changes).isFinished {}
        #expect(replica.position(of: other).number == 3)
        #expect(changes.count == 2)
    }

    @Test(arguments: [nil, Rule.recordsAtOrBelowTable])
    func `A base with a record that its author had not read is refused`(_ omitted: Rule?) {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        replica.omitted = omitted
        let dot = Dot(log: other, number: 9, tag: 9)
        let refusal = replica.begin(base(live: [9], upTo: 2))
        #expect(refusal == (omitted == nil ? .recordAboveTable(dot) : nil))
    }

    @Test func `A join that would fill the cloud is refused`() {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        var limits = SyncLimits()
        limits.cloud = 2
        let covers = (5...7).map { Dot(log: other, number: $0, tag: 1) }
        #expect(
            replica.begin(base(live: [], upTo: 2, cloud: covers), limits: limits) == .cloudIsFull)
    }

    @Test func `A join that would name too many logs is refused`() throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        var limits = SyncLimits()
        limits.logs = 1
        #expect(replica.begin(base(live: [], upTo: 2), limits: limits) == .tooManyLogs)
        // So do deleted records of logs that nobody has written.
        limits.logs = 3
        let covers = (11...15).map { Dot(log: LogID(high: 2, low: $0), number: 1, tag: 1) }
        let message = base(live: [], upTo: 2, cloud: covers)
        #expect(replica.begin(message, limits: limits) == .tooManyLogs)
        limits.logs = 2
        #expect(replica.begin(base(live: [], upTo: 2), limits: limits) == nil)
    }

    @Test func `A base of unknown outcome is named by the next one, after a batch`() throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        _ = replica.beginBase()
        replica.sendBase(hash: SyncHash(1, 0, 0, 0))
        replica.abandonBase()
        #expect(replica.isBaseDue && !replica.mayBeginBase)
        let batch = try #require(replica.draftBatch { _ in nil })
        #expect(batch.name.number == 2 && batch.previous == .zero)
        #expect(replica.add(batch, hash: SyncHash(2, 0, 0, 0)).isEmpty)
        #expect(replica.confirmBatch() == batch.name)
        let base = replica.beginBase()
        #expect(base.own.map(\.number) == [1, 2] && base.previous == SyncHash(2, 0, 0, 0))
    }

    @Test func `A join that takes away more values than fit is refused`() throws {
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        #expect(replica.begin(base(live: [1, 2], upTo: 2)) == nil)
        var changes: [RecordChange] = []
        while !replica.continueJoin(atMost: 9, &changes).isFinished {}
        #expect(replica.begin(base(live: [], upTo: 3), room: 1) == .replacedValuesAreFull)
        #expect(replica.begin(base(live: [], upTo: 3), room: 2) == nil)
    }

    private let other = LogID(high: 2, low: 2)

    /// A base, number `last` + 1 of another log, of which `live` is alive.
    private func base(live: [UInt64], upTo last: UInt64, cloud: [Dot] = []) -> IncomingMessage {
        let hash = SyncHash(last, 0, 0, 0)
        let base = Base(
            milliseconds: 0, reads: 1, table: [other: LogPosition(number: last, hash: hash)],
            own: [], dotCount: UInt32(live.count), parts: [])
        let records = live.map { number in
            (Dot(log: other, number: number, tag: number), RecordSummary(key: key, time: number))
        }
        return IncomingMessage(
            base, named: MessageName(log: other, number: last + 1),
            hash: SyncHash(last + 1, 0, 0, 0), live: Dictionary(uniqueKeysWithValues: records),
            cloud: cloud)
    }
}

@Suite struct `Rules of a log with two histories` {
    private let key = Model.keys[0]

    /// Device 0 has written a record, and a second one that replaces it. A copy of device 0 from
    /// before has written a message into the same log.
    private func model(without rule: Rule?) throws -> (Model, log: LogID, first: Dot) {
        let model = Model(seed: 1, without: rule, only: [])
        model.copy(0)
        let copy = model.devices.count - 1
        let log = model.devices[0].keychain.replica.firstUnlock.own.id
        model.write(0, key, .afterFirstUnlock)
        try model.sync(0, StoreView(messages: model.store.messages))
        let first = try #require(model.devices[0].keychain.replica.firstUnlock.live.keys.first)
        model.write(0, key, .afterFirstUnlock)
        try model.sync(0, StoreView(messages: model.store.messages))
        model.write(copy, Model.keys[1], .afterFirstUnlock)
        try model.sync(copy, StoreView(messages: [:]))
        return (model, log, first)
    }

    private func leave(_ model: Model, _ log: LogID) throws -> ScopeReplica {
        var replica = model.devices[0].keychain.replica.firstUnlock
        let messages = model.store.messages[.afterFirstUnlock]?[log]?.map(\.stored) ?? []
        let inspected = replica.inspectOwnLog(messages)
        let found = try #require(inspected)
        replica.leaveLog(for: LogID(high: log.high, low: 7), because: found, isShown: true)
        return replica
    }

    @Test func `A device with another writer in its log begins a new one`() throws {
        let (model, log, _) = try model(without: nil)
        let replica = try leave(model, log)
        #expect(replica.own.id != log)
        #expect(replica.own.owesBatch && replica.own.owesBase)
        #expect(replica.position(of: log) == .start)
        #expect(replica.renewals[key]?.count == 1)
        #expect(replica.live.isEmpty)
    }

    @Test(arguments: [nil, Rule.coversOfTheOldLog])
    func `What was covered before a position goes back stays deleted`(_ omitted: Rule?) throws {
        let (model, log, first) = try model(without: omitted)
        #expect(try leave(model, log).hasSeen(first) == (omitted == nil))
    }

    @Test(arguments: [nil, Rule.ownIsNotReadAgain])
    func `A device does not read its own messages again`(_ omitted: Rule?) throws {
        let (model, log, _) = try model(without: omitted)
        let replica = try leave(model, log)
        let own = (model.store.messages[.afterFirstUnlock]?[log] ?? []).filter {
            $0.instance == model.devices[0].instance
        }
        let choice = replica.choose(from: own.map(\.stored), of: log)
        #expect((choice == .done) == (omitted == nil))
    }

    /// Two copies of one machine write in its log, the second one twice. Which of the first
    /// messages counts depends on their hashes.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `Every value of three histories is shown or kept`(_ seed: UInt64) throws {
        let model = Model(seed: seed, only: [])
        for _ in 0..<2 { model.copy(0) }
        let copies = [model.devices.count - 2, model.devices.count - 1]
        for (copy, keys) in [(copies[0], [0]), (copies[1], [1, 2])] {
            for key in keys {
                model.write(copy, Model.keys[key], .afterFirstUnlock)
                let instance = model.devices[copy].instance
                let own = model.store.messages.mapValues { logs in
                    logs.mapValues { $0.filter { $0.instance == instance } }
                }
                try model.sync(copy, StoreView(messages: own))
            }
        }
        run(model, 0, 0)
        let keychain = model.devices[0].keychain
        #expect(keychain.allWrites.union(keychain.replaced).isSuperset(of: model.writes.keys))
    }

    private func run(_ model: Model, _ indexes: Int...) {
        for index in indexes { model.runAgent(index, isComplete: true) }
    }

    @Test(arguments: [nil, Rule.basesContradict])
    func `A base is not joined that lacks what was read of its log`(_ omitted: Rule?) {
        let log = LogID(high: 2, low: 2)
        var replica = ScopeReplica(.afterFirstUnlock, log: LogID(high: 1, low: 1))
        replica.omitted = omitted
        replica.positions[log] = LogPosition(number: 4, hash: SyncHash(4, 0, 0, 0))
        func base(_ own: [UInt64: UInt64]) -> StoredMessage {
            StoredMessage(
                name: MessageName(log: log, number: 9), hash: SyncHash(9, 0, 0, 0),
                previous: .zero,
                base: .init(
                    own: own.sorted { $0.key < $1.key }.map {
                        .init(number: $0.key, hashStart: $0.value)
                    }, table: [:], isComplete: true))
        }
        let fitting = base([3: 3, 4: 4])
        #expect(replica.choose(from: [fitting], of: log) == .join(fitting))
        for contradicting in [base([3: 3, 4: 5]), base([3: 3])] {
            let choice = replica.choose(from: [contradicting], of: log)
            #expect(choice == (omitted == nil ? .twoHistories : .join(contradicting)))
        }
    }
}
