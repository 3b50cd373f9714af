// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSync
import ValetSyncSupport
import ValetTestValues

@testable import ValetSyncAgent

/// A device of a test: a keychain in a temporary folder, and its client of a store in memory.
final class TestMember {
    let folder: TestFolder
    let clock: TestTime
    let keychain: ItemStore
    let client: MemoryStore.Client
    private(set) var session: SyncSession
    private var hasPasscode = false
    private let caller = Caller(applicationIdentifier: "app", accessGroups: [])

    private init(
        _ folder: TestFolder, _ clock: TestTime, _ keychain: ItemStore,
        _ client: MemoryStore.Client, _ session: SyncSession
    ) {
        (self.folder, self.clock, self.keychain) = (folder, clock, keychain)
        (self.client, self.session) = (client, session)
    }

    deinit { keychain.close() }

    /// A circle of `count` devices, which have read each other's first messages.
    static func circle(
        of count: Int, in store: MemoryStore = MemoryStore(), _ clock: TestTime = TestTime()
    ) throws -> [TestMember] {
        var members = [try founder(in: store, clock)]
        while members.count < count { members.append(try members[0].admitNew(to: store)) }
        for _ in 0..<2 { for member in members { try member.sync() } }
        return members
    }

    private static func newKeychain(_ clock: TestTime) throws -> (TestFolder, ItemStore) {
        let folder = try TestFolder()
        let store = ItemStore(
            KeychainLocation(folder: folder.path("keychain")), timeLimit: .seconds(60),
            stretching: .lowest, clock: { Int64(clock.milliseconds) * 1_000_000 })
        return (folder, store)
    }

    private static func founder(in store: MemoryStore, _ clock: TestTime) throws -> TestMember {
        let (folder, keychain) = try newKeychain(clock)
        let client = MemoryStore.Client(of: store)
        let founder = NewMember(of: .zero)
        try founder.keepSecrets(in: keychain, nil)
        let circle = try FoundedCircle(by: founder, clock.machine)
        try circle.publish(in: client)
        let synced = SyncedKeychain(keychain)
        try synced.found(
            CircleBeginning(
                CircleNote(circle.id, founder.member.id, isFounder: true), circle.roster,
                .folder("/"), [:]), clock.machine)
        return try open(synced, folder, clock, client)
    }

    /// Admits a new device, with a keychain that may have items before.
    func admitNew(
        to store: MemoryStore, _ prepare: (ItemStore) throws -> Void = { _ in }
    ) throws -> TestMember {
        let (folder, keychain) = try Self.newKeychain(clock)
        try prepare(keychain)
        let client = MemoryStore.Client(of: store)
        let circle = session.circle.circle
        let joiner = NewMember(of: circle)
        try joiner.keepSecrets(in: keychain, nil)
        try session.readRoster()
        try session.admit(joiner.member)
        guard let roster = try Roster(of: circle, in: client, by: session.storeDeadline)
        else { throw TestProblem(text: "the joiner sees no roster") }
        let synced = SyncedKeychain(keychain)
        try synced.join(
            CircleBeginning(
                CircleNote(circle, joiner.member.id, isFounder: false), roster,
                .folder("/"), [:]), clock.machine)
        return try Self.open(synced, folder, clock, client)
    }

    private static func open(
        _ synced: SyncedKeychain, _ folder: TestFolder, _ clock: TestTime,
        _ client: MemoryStore.Client
    ) throws -> TestMember {
        guard let session = try SyncSession.open(synced, client, clock.machine) else {
            throw TestProblem(text: "the keychain is in no circle")
        }
        return TestMember(folder, clock, synced.store, client, session)
    }

    /// What another process of this device would know: nothing is kept in memory.
    func restart() throws {
        guard
            let fresh = try SyncSession.open(SyncedKeychain(keychain), client, clock.machine)
        else { throw TestProblem(text: "the keychain is in no circle") }
        session = fresh
    }

    var id: DeviceID { session.circle.device }

    // MARK: What a device does

    /// One round, which must not fail.
    @discardableResult
    func sync() throws -> SyncState {
        clock.advance(seconds: 2)
        let (state, failure) = session.round()
        if let failure { throw failure }
        return state
    }

    func set(
        _ account: String, _ value: String, as protectionClass: ProtectionClass = .whenUnlocked
    ) throws {
        clock.advance(seconds: 1)
        let item = NewItem(
            .genericPassword, attributes: [.account: .text(account), .service: .text("service")],
            isSynchronizable: true, protectionClass: protectionClass)
        try keychain.set(
            Addition(item, value: SecretValue(copying: Array(value.utf8).span)), for: caller)
    }

    /// The value of an item; nil without one.
    func value(_ account: String) throws -> String? {
        let query = query(account)
        switch try keychain.value(of: query, for: caller, PresenceAccess(.demanding)) {
        case .found(let value):
            return value?.withBytes { bytes in
                String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
            }
        case .absent, .needsPerson: return nil
        }
    }

    func delete(_ account: String) throws {
        clock.advance(seconds: 1)
        try keychain.delete(query(account), for: caller)
    }

    /// Gives an item another class.
    func change(_ account: String, to protectionClass: ProtectionClass) throws {
        clock.advance(seconds: 1)
        let update = ItemUpdate(
            query: query(account), changes: ItemChanges(protectionClass: protectionClass),
            value: nil)
        _ = try keychain.update(update, for: caller, PresenceAccess(.demanding))
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(
            .genericPassword, attributes: [.account: .text(account), .service: .text("service")],
            synchronizable: .any)
    }

    /// The kinds of trouble that the last round met.
    var troubles: Set<SyncReport.Kind> { Set(session.report.troubles.map(\.kind)) }

    var conflictCount: Int {
        get throws {
            let conflicts = try SyncedKeychain(keychain).read("look") {
                (view) throws(KeychainFailure) in
                try view.conflicts()
            }
            return conflicts?.count ?? 0
        }
    }

    var formerCount: Int {
        get throws {
            let query = ItemQuery(.genericPassword, attributes: [:], synchronizable: .any)
            return try keychain.formerItems([query], for: caller).count
        }
    }

    /// The values of conflicts, and those that other devices replaced, as texts.
    func keptValues() throws -> [String] {
        let conflicts = try SyncedKeychain(keychain).read("look") {
            (view) throws(KeychainFailure) in
            try view.conflicts()
        }
        var values = (conflicts ?? []).map { version -> SecretValue? in
            guard case .value(let value)? = version.content?.kind else { return nil }
            return value
        }
        let query = ItemQuery(.genericPassword, attributes: [:], synchronizable: .any)
        for former in try keychain.formerItems([query], for: caller)
        where former.reason == .replaced {
            values.append(try keychain.formerValue(former)?.value)
        }
        return values.compactMap(\.self).map { value in
            value.withBytes { bytes in
                String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
            }
        }
    }
}

/// The time of all devices of a test.
final class TestTime: Sendable {
    private let now = Mutex<UInt64>(1_800_000_000_000)

    var milliseconds: UInt64 { now.withLock { $0 } }

    func advance(seconds: UInt64) { now.withLock { $0 += 1000 * seconds } }

    /// How many replaced values each device keeps.
    private let replacedCount: Int?

    init(replacedCount: Int? = nil) { self.replacedCount = replacedCount }

    var machine: SyncSession.Machine {
        var machine = SyncSession.Machine.own
        if let replacedCount { machine.replacedCount = replacedCount }
        machine.milliseconds = { self.milliseconds }
        machine.storeTime = .seconds(20)
        return machine
    }
}

struct TestProblem: Error {
    let text: String
}

/// Runs rounds of all devices until each is current, a few times at most.
func settle(_ members: [TestMember], rounds: Int = 4) throws {
    for _ in 0..<rounds { for member in members { try member.sync() } }
}

// MARK: - Copies

extension TestMember {
    /// The own log of a scope.
    func ownLog(_ scope: KeyScope) throws -> LogID { try session.look { $0[scope].own.id } }

    /// A copy of the keychain's files.
    func copyOfFiles() throws -> [String: Data] {
        keychain.close()
        let path = folder.path("keychain")
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            files[name] = try? Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
        }
        return files
    }

    /// Puts the files of a copy back in place.
    func putBack(_ files: [String: Data]) throws {
        keychain.close()
        let path = folder.path("keychain")
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where name.hasPrefix("keychain.db") {
            try FileManager.default.removeItem(atPath: path + "/" + name)
        }
        for (name, data) in files where name.hasPrefix("keychain.db") {
            let url = URL(fileURLWithPath: path + "/" + name)
            try data.write(to: url)
            unsafe _ = chmod(url.path, 0o600)
        }
        try restart()
    }
}

extension SecretValue {
    /// The value that the text is.
    static func text(_ text: String) -> SecretValue {
        SecretValue(copying: Array(text.utf8).span)
    }
}

// MARK: - Locking

extension TestMember {
    private static let passcode = "correct"

    private func typed() throws -> Passcode {
        try Passcode(SecretBytes(copying: Array(Self.passcode.utf8).span))
    }

    /// Sets a passcode the first time, and locks the keychain.
    func lock() throws {
        if !hasPasscode { try keychain.keychain.setPasscode(typed()) }
        hasPasscode = true
        try keychain.keychain.lock()
    }

    func unlock() throws { try keychain.keychain.unlock(typed(), for: nil) }

    /// What is in a log.
    func names(in place: LogPlace) throws -> [StoredName] {
        try client.list(.log(place), by: session.storeDeadline).names
    }
}
