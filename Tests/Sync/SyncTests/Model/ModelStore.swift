// SPDX-License-Identifier: Apache-2.0

// The store of the seeded model, and its random numbers. The model's devices write messages here
// that are decoded already.

import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// SplitMix64: the same numbers for the same seed.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = state
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
    }

    /// True once in `count` times.
    mutating func oneIn(_ count: UInt64) -> Bool { next() % count == 0 }

    mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
}

/// A record with what only the model knows of it: which local write made its value.
struct ModelRecord {
    let record: SyncRecord
    let summary: RecordSummary
    /// Names the local write; 0 for a record that says that an item moved.
    let write: UInt64

    init(_ write: UInt64, _ summary: RecordSummary, salt: RecordSalt) {
        self.write = write
        self.summary = summary
        var content: [UInt8] = []
        content.append(bigEndian: write)
        content.append(bigEndian: summary.key.number)
        content.append(bigEndian: summary.moved?.number ?? 0)
        record = SyncRecord(
            time: summary.time, salt: salt, content: SecretValue(copying: content.span))
    }
}

/// A message in the model's store.
struct ModelMessage {
    enum Body {
        case batch(Batch, [UInt64: ModelRecord])
        case base(Base, live: [Dot: ModelRecord], cloud: [Dot])
    }

    let stored: StoredMessage
    let scope: KeyScope
    /// The keychain that wrote it; copies of one keychain differ in this.
    let instance: Int
    let body: Body

    var description: String {
        let kind = stored.base == nil ? "batch" : "base"
        let (hash, previous) = (stored.hash.first % 1000, stored.previous.first % 1000)
        let name = "\(stored.name.log.low % 1000).\(stored.name.number)"
        return "\(kind) \(name) #\(hash) after #\(previous)"
    }

    var table: LogTable {
        switch body {
        case .batch(let batch, _): batch.table
        case .base(let base, _, _): base.table
        }
    }

    var incoming: IncomingMessage {
        switch body {
        case .batch(let batch, let records):
            IncomingMessage(
                batch, named: stored.name, hash: stored.hash,
                summaries: batch.records.compactMap { records[$0.tag]?.summary })
        case .base(let base, let live, let cloud):
            IncomingMessage(
                base, named: stored.name, hash: stored.hash, live: live.mapValues(\.summary),
                cloud: cloud)
        }
    }

    /// The record that a dot names in this message.
    func record(_ dot: Dot) -> ModelRecord? {
        switch body {
        case .batch(_, let records): records[dot.tag]
        case .base(_, let live, _): live[dot]
        }
    }

    var records: [ModelRecord] {
        switch body {
        case .batch(_, let records): Array(records.values)
        case .base(_, let live, _): Array(live.values)
        }
    }
}

/// What is between the model's devices: messages by log. It loses, hides and brings back.
struct ModelStore {
    private(set) var messages: [KeyScope: [LogID: [ModelMessage]]] = [:]
    private(set) var deleted: [ModelMessage] = []
    /// How many messages were ever put here.
    private(set) var count = 0

    mutating func put(_ message: ModelMessage) {
        let log = message.stored.name.log
        let isThere =
            messages[message.scope]?[log]?.contains { $0.stored.hash == message.stored.hash }
        guard isThere != true else { return }
        count += 1
        messages[message.scope, default: [:]][log, default: []].append(message)
    }

    func contains(_ scope: KeyScope, _ log: LogID, _ hash: SyncHash) -> Bool {
        messages[scope]?[log]?.contains { $0.stored.hash == hash } == true
    }

    mutating func delete(_ scope: KeyScope, _ log: LogID, where isGone: (ModelMessage) -> Bool) {
        guard let all = messages[scope]?[log] else { return }
        deleted += all.filter(isGone)
        messages[scope]?[log] = all.filter { !isGone($0) }
    }

    mutating func bringBack(_ index: Int) {
        put(deleted.remove(at: index))
    }
}

/// The part of a store that a device sees now.
struct StoreView {
    let messages: [KeyScope: [LogID: [ModelMessage]]]

    func stored(_ scope: KeyScope, _ log: LogID) -> [StoredMessage] {
        messages[scope]?[log]?.map(\.stored) ?? []
    }

    func logs(_ scope: KeyScope) -> [LogID] { (messages[scope] ?? [:]).keys.sorted() }

    func message(_ scope: KeyScope, _ stored: StoredMessage) -> ModelMessage? {
        messages[scope]?[stored.name.log]?.first { $0.stored.hash == stored.hash }
    }
}
