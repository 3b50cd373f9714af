// SPDX-License-Identifier: Apache-2.0

// One schedule of the seeded model: devices, and what happens to them. `ModelEnd.swift` has the
// invariants that must hold whatever happens.

import ValetKeychainModel

@testable import ValetSync

/// What a schedule may have happen.
struct ModelProfile: OptionSet, Sendable {
    let rawValue: Int

    /// Devices die between two transactions.
    static let deaths = ModelProfile(rawValue: 1)
    /// Messages arrive late and out of order.
    static let delays = ModelProfile(rawValue: 2)
    /// Keychains are locked at times.
    static let locks = ModelProfile(rawValue: 4)
    /// Items change their class.
    static let classChanges = ModelProfile(rawValue: 8)
    /// Machines are copied, and both copies run on.
    static let copies = ModelProfile(rawValue: 16)
    /// Keychains are restored from an older copy.
    static let restores = ModelProfile(rawValue: 32)
    /// The store loses messages and gets deleted ones back.
    static let losses = ModelProfile(rawValue: 64)
    /// Devices join and leave.
    static let members = ModelProfile(rawValue: 128)
    /// Devices remove other ones.
    static let removals = ModelProfile(rawValue: 512)
    /// A member lies about what it has read and what was deleted.
    static let lies = ModelProfile(rawValue: 1024)
    /// Items stop to travel.
    static let stays = ModelProfile(rawValue: 256)
}

/// A schedule.
final class Model {
    var numbers: SeededNumbers
    let profile: ModelProfile
    let rule: Rule?
    let flaw: ModelFlaw?
    var devices: [ModelDevice] = []
    var store = ModelStore()
    var clock: UInt64 = 1_000
    var limits = SyncLimits()
    var sliceCount = 100
    /// The first halves of the ids of members and of those that left.
    var readable: Set<UInt64> = []
    var left: Set<UInt64> = []
    var lastOfLeft: [LogID: UInt64] = [:]
    var isEnding = false
    var failures: [String] = []
    /// What is done, for a failure's report.
    var history: [String] = []

    var writes: [UInt64: SyncItemID] = [:]
    var covered: Set<UInt64> = []
    var replaced: Set<UInt64> = []
    var lateWrites: Set<UInt64> = []
    var sent: Set<UInt64> = []
    var lost: Set<UInt64> = []
    var deletedKeys: Set<SyncItemID> = []
    var hasCopies = false
    var hasRemovals = false
    var hasLies = false
    private var snapshots: [Int: (keychain: ModelKeychain, write: UInt64)] = [:]
    private var sentNames: Set<String> = []
    private var stepsToDeath: Int?
    private var instances = 0

    init(seed: UInt64, without rule: Rule? = nil, flaw: ModelFlaw? = nil, only: ModelProfile? = nil)
    {
        var numbers = SeededNumbers(seed: seed)
        self.rule = rule
        self.flaw = flaw
        var profile = only ?? ModelProfile(rawValue: Int(numbers.next() % 2048))
        if profile.contains(.losses) { profile.subtract([.copies, .restores]) }
        self.profile = profile
        self.numbers = numbers
        sliceCount = [1, 2, 100][self.numbers.below(3)]
        if self.numbers.oneIn(3) {
            limits.records = 2
            limits.covers = 2
        }
        for _ in 0..<(2 + self.numbers.below(2)) { addDevice() }
    }

    // MARK: Names

    func newHash() -> SyncHash {
        SyncHash(numbers.next(), numbers.next(), numbers.next(), numbers.next())
    }

    func newLog(of device: DeviceID) -> LogID { LogID(high: device.high, low: numbers.next()) }

    static let keys: [SyncItemID] = (1...3).map {
        SyncItemID(Int64($0))
    }

    private func addDevice() {
        let id = DeviceID(high: numbers.next(), low: 0)
        var replica = Replica(log: newLog(of: id), newLog(of: id))
        replica.firstUnlock.omitted = rule
        replica.unlocked.omitted = rule
        instances += 1
        devices.append(
            ModelDevice(id: id, instance: instances, keychain: ModelKeychain(replica)))
        readable.insert(id.high)
    }

    // MARK: What may go wrong

    var isTraced = false

    func note(_ text: @autoclosure () -> String) { if isTraced { history.append(text()) } }

    func fail(_ text: String) { if failures.count < 3 { failures.append(text) } }

    /// Between two transactions.
    func step(isLikely: Bool = false) throws {
        guard let steps = stepsToDeath else { return }
        if isLikely, numbers.oneIn(3) { throw Died() }
        stepsToDeath = steps - 1
        if steps == 0 { throw Died() }
    }

    func put(_ message: ModelMessage) {
        for record in message.records { sent.insert(record.write) }
        let name = "\(message.instance) \(message.stored.name)"
        let isNew = !store.contains(message.scope, message.stored.name.log, message.stored.hash)
        store.put(message)
        note("the store gets \(message.description)")
        guard isNew else { return }
        let cameBack = store.deleted.contains { $0.stored.hash == message.stored.hash }
        if sentNames.contains(name), !cameBack {
            fail("two messages of one number")
        }
        sentNames.insert(name)
    }

    private func view(isComplete: Bool) -> StoreView {
        guard profile.contains(.delays), !isComplete else {
            return StoreView(messages: store.messages)
        }
        let hidden = numbers.next() | numbers.next()
        return StoreView(
            messages: store.messages.mapValues { logs in
                logs.mapValues { $0.filter { hidden >> ($0.stored.hash.first % 64) & 1 == 1 } }
            })
    }

    // MARK: The schedule

    /// Runs a schedule and returns what broke.
    func run(operations count: Int) -> [String] {
        for _ in 0..<count where failures.isEmpty { operate() }
        if failures.isEmpty { end() }
        return failures
    }

    private func operate() {
        clock += numbers.oneIn(6) ? 4_000_000 : numbers.next() % 1_000
        let index = numbers.below(devices.count)
        guard !devices[index].isRemoved else { return }
        switch numbers.below(18) {
        case 0..<6: localCall(index)
        case 6..<12: runAgent(index, isComplete: false)
        case 12: toggleLock(index)
        case 13: copyOrRestore(index)
        case 14: loseOrBringBack()
        case 16: lie(about: index)
        case 15: remove(numbers.below(devices.count), by: index)
        default: joinOrLeave(index)
        }
    }

    func runAgent(_ index: Int, isComplete: Bool) {
        guard devices[index].isMember else { return }
        if profile.contains(.restores), snapshots[index] == nil || numbers.oneIn(8) {
            snapshots[index] = (devices[index].keychain, writes.keys.max() ?? 0)
        }
        stepsToDeath =
            profile.contains(.deaths) && !isComplete && numbers.oneIn(2)
            ? numbers.below(12) : nil
        let before = devices[index].keychain.replica
        do {
            try sync(index, view(isComplete: isComplete))
        } catch let broken as Broken {
            fail(broken.description)
        } catch {
            note("device \(index) died")
        }
        stepsToDeath = nil
        note("device \(index) ran: " + describe(index))
        for scope in KeyScope.allCases {
            let replica = devices[index].keychain.replica[scope]
            for (log, position) in before[scope].positions
            where replica.retired[log] == nil && replica.position(of: log).number < position.number
            {
                fail("a position fell")
            }
        }
    }

    func describe(_ index: Int) -> String {
        let keychain = devices[index].keychain
        let rows = keychain.rows.sorted { $0.key < $1.key }.map { key, row in
            "\(key.number)=\(row.write)\(row.scope.map { "\($0)".prefix(1) } ?? "-")"
        }
        let scopes = KeyScope.allCases.map { scope in
            let live = keychain.replica[scope].live.keys.sorted().map { dot in
                "\(dot.log.low % 1000).\(dot.number):\(keychain.kept[dot]?.write ?? 0)"
            }
            let positions = keychain.replica[scope].positions.sorted { $0.key < $1.key }.map {
                "\($0.key.low % 1000).\($0.value.number)"
            }
            return "\(scope): \(live) after \(positions)"
        }
        let lock = devices[index].isLocked ? "locked" : ""
        return "\(rows) \(scopes) \(lock)"
    }

    private func toggleLock(_ index: Int) {
        guard profile.contains(.locks) else { return }
        devices[index].isLocked.toggle()
    }

    /// A call of a local program.
    func localCall(_ index: Int) {
        let key = Self.keys[numbers.below(Self.keys.count)]
        let row = devices[index].keychain.rows[key]
        if devices[index].isLocked, row?.scope == .whileUnlocked {
            if numbers.oneIn(4) { delete(index, key) }
            return
        }
        switch numbers.below(8) {
        case 0, 1: delete(index, key)
        case 2: rename(index, key, to: Self.keys[numbers.below(Self.keys.count)])
        case 3 where profile.contains(.stays): keepHere(index, key)
        default:
            var scope = row?.scope ?? (key == Self.keys[0] ? .afterFirstUnlock : .whileUnlocked)
            if profile.contains(.classChanges), numbers.oneIn(3) {
                scope = scope == .whileUnlocked ? .afterFirstUnlock : .whileUnlocked
            }
            write(index, key, devices[index].isLocked ? .afterFirstUnlock : scope)
        }
    }

    func write(_ index: Int, _ key: SyncItemID, _ scope: KeyScope) {
        call(index, key) { $0.write(key, scope, write: newWrite(key), at: clock, flaw: flaw) }
    }

    func delete(_ index: Int, _ key: SyncItemID) {
        deletedKeys.insert(key)
        call(index, key) { $0.delete(key, flaw: flaw) }
    }

    private func rename(_ index: Int, _ key: SyncItemID, to other: SyncItemID) {
        let keychain = devices[index].keychain
        guard keychain.rows[key] != nil, keychain.rows[other] == nil else { return }
        deletedKeys.insert(key)
        let write = newWrite(other)
        call(index, key) { $0.rename(key, to: other, write: write, at: clock, flaw: flaw) }
    }

    /// The row stops to travel.
    private func keepHere(_ index: Int, _ key: SyncItemID) {
        guard devices[index].keychain.rows[key] != nil else { return }
        deletedKeys.insert(key)
        call(index, key) { $0.write(key, nil, write: 0, at: clock, flaw: flaw) }
    }

    /// Changes a keychain. The values that it has of the item are covered from then on.
    private func call(_ index: Int, _ key: SyncItemID, _ body: (inout ModelKeychain) -> Void) {
        let held = devices[index].keychain.writes(of: key)
        let change = devices[index].keychain.rows[key]?.change
        body(&devices[index].keychain)
        note("device \(index) changes \(key.number): \(describe(index))")
        if devices[index].keychain.rows[key]?.change != change { covered.formUnion(held) }
    }

    private func newWrite(_ key: SyncItemID) -> UInt64 {
        let write = UInt64(writes.count + lost.count + 1) << 8 | numbers.next() % 256
        writes[write] = key
        return write
    }
}

// MARK: - Machines and stores

extension Model {
    /// Another machine gets the same keychain.
    func copy(_ index: Int) {
        instances += 1
        var copy = devices[index]
        copy.instance = instances
        devices.append(copy)
        hasCopies = true
        note("device \(index) is copied")
    }

    private func copyOrRestore(_ index: Int) {
        guard devices[index].isMember else { return }
        if profile.contains(.copies), devices.count < 4, numbers.oneIn(2) {
            copy(index)
        } else if profile.contains(.restores) {
            guard let snapshot = snapshots[index] else { return }
            snapshots[index] = nil
            for write in devices[index].keychain.allWrites where !sent.contains(write) {
                if write > snapshot.write { lost.insert(write) }
            }
            instances += 1
            devices[index].instance = instances
            devices[index].keychain = snapshot.keychain
            hasCopies = true
            note("device \(index) is restored")
        }
    }

    private func loseOrBringBack() {
        guard profile.contains(.losses) else { return }
        if numbers.oneIn(2), !store.deleted.isEmpty {
            store.bringBack(numbers.below(store.deleted.count))
            return
        }
        let bits = numbers.next()
        for (scope, logs) in store.messages {
            for log in logs.keys {
                store.delete(scope, log) { bits >> ($0.stored.hash.first % 64) & 3 == 0 }
            }
        }
    }

    private func joinOrLeave(_ index: Int) {
        guard profile.contains(.members) else { return }
        if !devices[index].isMember {
            rejoin(index)
        } else if devices.count < 4, numbers.oneIn(2) {
            addDevice()
        } else if !hasCopies, devices.count(where: \.isMember) > 1 {
            leave(index)
        }
    }

    private func leave(_ index: Int) {
        let isLocked = devices[index].isLocked
        devices[index].isLocked = false
        runAgent(index, isComplete: true)
        devices[index].isLocked = isLocked
        let replica = devices[index].keychain.replica
        guard
            KeyScope.allCases.allSatisfy({ scope in
                replica[scope].pending.isEmpty && replica[scope].own.unconfirmed == nil
            })
        else { return }
        for scope in KeyScope.allCases {
            for (log, _) in store.messages[scope] ?? [:] where log.high == devices[index].id.high {
                lastOfLeft[log] = replica[scope].position(of: log).number
            }
        }
        snapshots[index] = nil
        left.insert(devices[index].id.high)
        devices[index].isMember = false
        note("device \(index) leaves")
    }

    /// The remover reads everything and puts a base into the store. What only the removed device
    /// has is lost.
    private func remove(_ index: Int, by remover: Int) {
        guard profile.contains(.removals), !hasCopies, index != remover, !devices[index].isRemoved,
            devices[index].isMember, devices[remover].isMember, !devices[remover].isLocked
        else { return }
        for scope in KeyScope.allCases {
            devices[remover].keychain.replica[scope].own.owesBase = true
        }
        runAgent(remover, isComplete: true)
        let replica = devices[remover].keychain.replica
        guard KeyScope.allCases.allSatisfy({ !replica[$0].own.owesBase }) else { return }
        hasRemovals = true
        devices[index].isMember = false
        devices[index].isRemoved = true
        readable.remove(devices[index].id.high)
        let others = devices.filter { !$0.isRemoved }.map(\.keychain.allWrites)
        lost.formUnion(devices[index].keychain.allWrites.subtracting(others.joined()))
        for scope in KeyScope.allCases {
            for log in (store.messages[scope] ?? [:]).keys
            where log.high == devices[index].id.high {
                store.delete(scope, log) { _ in true }
            }
        }
        note("device \(remover) removes device \(index)")
    }

    /// A member of its own writes one base: of what a device knows, it leaves out half of the
    /// records, and claims to have read more of some logs than there is.
    private func lie(about index: Int) {
        guard profile.contains(.lies), !hasLies else { return }
        hasLies = true
        let id = DeviceID(high: numbers.next(), low: 0)
        readable.insert(id.high)
        let scope = KeyScope.allCases[numbers.below(2)]
        let keychain = devices[index].keychain
        let log = newLog(of: id)
        var table = keychain.replica[scope].positions
        for log in table.keys.sorted() where numbers.oneIn(3) {
            table[log] = LogPosition(number: 1 + numbers.next() % 9, hash: newHash())
        }
        table[log] = .start
        var live = keychain.kept.filter { dot, record in
            keychain.replica[scope].live[dot] != nil
                && dot.number <= table[dot.log]?.number ?? 0
        }
        for dot in live.keys.sorted() where numbers.oneIn(2) { live[dot] = nil }
        let cloud = (0..<3).map { _ in
            Dot(log: keychain.replica[scope].own.id, number: 20, tag: numbers.next())
        }
        let base = Base(
            milliseconds: clock, reads: 1, table: table, own: [],
            dotCount: UInt32(live.count + cloud.count), parts: [])
        put(
            ModelMessage(
                stored: StoredMessage(
                    name: MessageName(log: log, number: 1), hash: newHash(), previous: .zero,
                    base: .init(own: [], table: table, isComplete: true)),
                scope: scope, instance: -1, body: .base(base, live: live, cloud: cloud)))
        note("a member lies in log \(log.low % 1000)")
    }

    func rejoin(_ index: Int) {
        devices[index].id = DeviceID(high: numbers.next(), low: 0)
        readable.insert(devices[index].id.high)
        devices[index].isMember = true
        for scope in KeyScope.allCases {
            devices[index].keychain.replica[scope].startLog(newLog(of: devices[index].id))
        }
        note("device \(index) joins again")
    }
}
