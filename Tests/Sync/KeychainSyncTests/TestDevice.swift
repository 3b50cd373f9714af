// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSync
import ValetTestSupport

@testable import ValetSyncAgent

/// A message that a test passes by hand, unsealed.
struct TestMessage {
    enum Body {
        case batch(Batch)
        case base(Base, live: [Dot: SyncRecord], cloud: [Dot])
    }

    let scope: KeyScope
    let name: MessageName
    let hash: SyncHash
    let body: Body

    var records: [Dot: SyncRecord] {
        switch body {
        case .batch(let batch):
            Dictionary(
                uniqueKeysWithValues: batch.records.map {
                    (Dot(log: name.log, number: name.number, tag: $0.tag), $0)
                })
        case .base(_, let live, _): live
        }
    }
}

/// A keychain that syncs with others, whose messages the test passes on.
final class TestDevice {
    static let passcode = TestKeychain.passcode

    let keychain = TestKeychain(clock: .ofSystem)
    private(set) var synced: SyncedKeychain
    let id = DeviceID(high: .random(in: 1 ... .max), low: 0)
    /// The messages of each scope that this device has sent.
    private(set) var sent: [KeyScope: [TestMessage]] = [:]
    /// Whether each call reads the tables anew.
    var forgets = false
    static let caller = Caller(applicationIdentifier: "app", accessGroups: [AccessGroup("app")])

    var store: ItemStore { keychain.store }

    /// A keychain with an item that does not travel.
    ///
    /// - Parameter sendsItems: nil for a keychain that is in no circle yet.
    init(sendsItems: Bool? = true) throws {
        synced = SyncedKeychain(keychain.store)
        try keychain.add("local", as: .afterFirstUnlock)
        if let sendsItems { try join(sendsItems: sendsItems) }
    }

    func join(sendsItems: Bool) throws {
        try synced.update("join") { (update) throws(KeychainFailure) in
            try update.begin(Replica(log: self.newLog(), self.newLog()), sendsItems: sendsItems)
        }
    }

    func newLog() -> LogID { LogID(high: id.high, low: .random(in: 1 ... .max)) }

    /// A new process: nothing is known but what the tables say.
    func restart() { synced = SyncedKeychain(store) }

    func update<R>(_ body: (SyncUpdate) throws -> R) throws -> R {
        if forgets { restart() }
        return try synced.update("test") { (update) throws(KeychainFailure) in
            try Self.failing { try body(update) }
        }
    }

    /// Runs what throws nothing else; tests write such closures without a type.
    private static func failing<R>(_ body: () throws -> R) throws(KeychainFailure) -> R {
        do {
            return try body()
        } catch let failure as KeychainFailure {
            throw failure
        } catch {
            throw KeychainFailure(.internalFault, during: "test", message: "\(error)")
        }
    }

    func view<R>(_ body: (SyncView) throws -> R) throws -> R {
        let result = try synced.read("test") { (view) throws(KeychainFailure) in
            try Self.failing { try body(view) }
        }
        guard let result else {
            throw KeychainFailure(.itemNotFound, during: "test")
        }
        return result
    }

    private func circle(_ update: SyncUpdate, _ authors: Set<UInt64> = []) -> CircleView {
        CircleView(readable: authors.union([id.high]), isLocked: update.isLocked)
    }

    // MARK: Messages

    /// Builds and sends what is pending in a scope.
    @discardableResult
    func send(_ scope: KeyScope) throws -> TestMessage? {
        let message = try update { update -> TestMessage? in
            guard update.replica?[scope].mayBuildBatch == true,
                let draft = try update.draftBatch(in: scope)
            else { return nil }
            let batch = draft.batch(at: update.milliseconds)
            let message = TestMessage(
                scope: scope, name: draft.name, hash: .random(), body: .batch(batch))
            var changes: [ReplicaChange] = []
            update.replica?.add(
                draft, hash: message.hash, in: scope, self.circle(update), &changes)
            update.outgoing[scope] = [1, 2, 3]
            try update.apply(changes, bringing: message.records)
            return message
        }
        guard let message else { return nil }
        try update { update in
            guard update.outgoing[scope] == [1, 2, 3] else {
                throw KeychainFailure(.internalFault, during: "test")
            }
            update.outgoing[scope] = nil
            update.replica?.confirm(in: scope)
        }
        sent[scope, default: []].append(message)
        return message
    }

    /// Sends everything; a class change takes two messages.
    func sendAll() throws {
        let isLocked = try view { $0.isLocked }
        for _ in 0..<3 {
            for scope in KeyScope.allCases where !isLocked || scope == .afterFirstUnlock {
                while try send(scope) != nil {}
            }
        }
    }

    /// A base of a scope.
    func base(_ scope: KeyScope) throws -> TestMessage {
        let (draft, held) = try synced.updateBeginningBase("test") { update -> BaseDraft? in
            guard update.replica?[scope].mayBeginBase == true else { return nil }
            return update.replica?[scope].beginBase()
        }
        defer { held?.close() }
        guard let draft, let snapshot = held else {
            throw KeychainFailure(.internalFault, during: "test")
        }
        var live: [Dot: SyncRecord] = [:]
        for dot in draft.live.keys { live[dot] = try snapshot.record(dot, in: scope) }
        let message = TestMessage(
            scope: scope, name: draft.name, hash: .random(),
            body: .base(draft.base(at: 0, parts: []), live: live, cloud: Array(draft.cloud)))
        try update { update in
            update.replica?[scope].sendBase(hash: message.hash)
            update.replica?[scope].confirmBase(draft)
        }
        return message
    }

    /// Joins a message.
    func receive(_ message: TestMessage, slices count: Int = 100) throws {
        try update { update in
            let incoming = try self.incoming(message, update)
            try update.setIncoming([UInt8](repeating: 7, count: 1000), message.scope)
            let refusal = update.replica?[message.scope].begin(incoming)
            #expect(refusal == .some(nil))
        }
        var isFinished = false
        while !isFinished {
            isFinished = try update { update in
                if update.replica?[message.scope].join == nil {
                    // A join that was broken off is begun again.
                    let incoming = try self.incoming(message, update)
                    let refusal = update.replica?[message.scope].begin(incoming)
                    #expect(refusal == .some(nil))
                }
                var changes: [ReplicaChange] = []
                let isDone =
                    update.replica?.continueJoin(
                        in: message.scope, atMost: count,
                        self.circle(update, [message.name.log.high]), &changes) ?? true
                try update.apply(changes, bringing: message.records)
                if isDone { try update.setIncoming(nil, message.scope) }
                return isDone
            }
        }
    }

    private func incoming(_ message: TestMessage, _ update: SyncUpdate) throws -> IncomingMessage {
        let scope = message.scope
        switch message.body {
        case .batch(let batch):
            return IncomingMessage(
                batch, named: message.name, hash: message.hash,
                summaries: try batch.records.map { try update.summary(of: $0, in: scope).get() })
        case .base(let base, let live, let cloud):
            return IncomingMessage(
                base, named: message.name, hash: message.hash,
                live: try live.mapValues { try update.summary(of: $0, in: scope).get() },
                cloud: cloud)
        }
    }

    /// Sends everything, and joins what the other device has sent since it last did.
    func pass(to other: TestDevice) throws {
        try sendAll()
        let isLocked = try other.view { $0.isLocked }
        for scope in [KeyScope.afterFirstUnlock, .whileUnlocked]
        where !isLocked || scope == .afterFirstUnlock {
            for message in sent[scope] ?? [] where try other.isNext(message) {
                try other.receive(message)
            }
        }
        try other.showDeferred([id.high])
    }

    func isNext(_ message: TestMessage) throws -> Bool {
        try update { update in
            guard let position = update.replica?[message.scope].position(of: message.name.log)
            else { return false }
            return position.number < message.name.number
        }
    }

    func showDeferred(_ authors: Set<UInt64>) throws {
        try update { update in
            var changes: [ReplicaChange] = []
            update.replica?.showDeferred(self.circle(update, authors), &changes)
            try update.apply(changes, bringing: [:])
        }
    }

    // MARK: Items

    func set(
        _ account: String, _ value: String, as protectionClass: ProtectionClass = .afterFirstUnlock
    ) throws {
        let addition = Addition(Self.item(account, protectionClass), value: .text(value))
        try store.set(addition, for: Self.caller)
    }

    func setField(_ account: String, _ name: String, _ value: String) throws {
        let field = try #require(EntryField(name, isSecret: true, .text(value)))
        let update = ItemUpdate(
            query: Self.query(account), changes: ItemChanges(), value: nil, fields: [.set(field)])
        _ = try store.update(update, for: Self.caller, PresenceAccess(.demanding))
    }

    func field(_ account: String, _ name: String) throws -> String? {
        let found = try store.copy(
            Self.query(account), .value, for: Self.caller, PresenceAccess(.demanding))
        guard case .found(let items) = found else { return nil }
        return try items.items.first?.fields[name]?.value.text
    }

    static func item(_ account: String, _ protectionClass: ProtectionClass) -> NewItem {
        NewItem(
            .genericPassword, attributes: [.account: .text(account), .service: .text("service")],
            isSynchronizable: true, protectionClass: protectionClass)
    }

    static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            .genericPassword, attributes: [.account: .text(account), .service: .text("service")],
            synchronizable: .any)
    }

    func change(_ account: String, _ changes: ItemChanges) throws {
        let update = ItemUpdate(query: Self.query(account), changes: changes, value: nil)
        _ = try store.update(update, for: Self.caller, PresenceAccess(.demanding))
    }

    func delete(_ account: String) throws {
        try store.delete(Self.query(account), for: Self.caller)
    }

    /// The value of an item; nil for none.
    func value(_ account: String) throws -> String? { try value(Self.query(account)) }

    func value(_ query: ItemQuery) throws -> String? {
        let found = try store.value(of: query, for: Self.caller, PresenceAccess(.demanding))
        guard case .found(let value) = found else { return nil }
        return value?.text
    }

    var conflicts: [Conflict] {
        get throws { try view { try $0.conflicts() } }
    }

    /// The values that the other device replaced, the last one first.
    var replaced: [String] {
        get throws {
            let query = ItemQuery(.genericPassword, attributes: [:], synchronizable: .any)
            return try store.formerItems([query], for: Self.caller)
                .filter { $0.reason == .replaced }.map {
                    try store.formerValue($0)?.value.text ?? ""
                }
        }
    }

    /// Puts the last former value back, as `valet undo` does.
    func undo(_ account: String) throws {
        let query = Self.query(account)
        let former = try #require(try store.formerItems([query], for: Self.caller).first)
        let found = try store.copy(
            query, .attributes, for: Self.caller, PresenceAccess(.demanding))
        guard case .found(let items) = found else { return }
        try store.restore([former], over: items.items.first?.version, for: Self.caller)
    }
}

extension SecretValue {
    static func text(_ text: String) -> SecretValue { SecretValue(copying: Array(text.utf8).span) }

    var text: String {
        withBytes { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }
}

extension SyncHash {
    static func random() -> SyncHash {
        SyncHash(
            .random(in: 1 ... .max), .random(in: 0 ... .max), .random(in: 0 ... .max),
            .random(in: 0 ... .max))
    }
}

extension Conflict {
    var text: String? { content?.value?.text }
}

extension TestDevice {
    /// Writes a backup, and removes it.
    func backUp() throws -> BackupReport {
        let path = keychain.folder + "-backup"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var request = BackupRequest(path: path)
        request.cost = .lowest
        return try store.keychain.backUp(
            request, passphrase: SecretBytes(copying: Array("passphrase".utf8).span))
    }
}
