// SPDX-License-Identifier: Apache-2.0

// The stores that the tests of behaviour run with, and random names to use in them.

import Synchronization
import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncStores
import ValetSyncSupport
import ValetSystem
import ValetTestValues

/// A kind of store.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memoryLikeFolder = "memory like a folder"
    case memoryLikeEtcd = "memory like etcd"
    case folder
    case etcd

    /// All that can be tested here.
    static let all = allCases.filter { $0 != .etcd || EtcdServer.isThere }

    var testDescription: String { rawValue }

    /// Whether appends are conditional on the head.
    var hasHeads: Bool { self == .memoryLikeEtcd || self == .etcd }
}

/// An empty store, and what is needed to look at it with other eyes.
final class TestStore {
    let store: any SyncStore
    /// The store as another device has it.
    let other: any SyncStore
    let circle = CircleID.random()
    let device = DeviceID.random()
    /// The folder, if it is in one.
    let folder: TestFolder?

    /// One server for all tests of behaviour; each has a circle of its own.
    private static let sharedServer = Mutex<EtcdServer?>(nil)

    init(_ kind: StoreKind, hasCircle: Bool = true) throws {
        switch kind {
        case .memoryLikeFolder, .memoryLikeEtcd:
            let memory = MemoryStore(kind == .memoryLikeFolder ? .folder : .etcd)
            store = MemoryStore.Client(of: memory)
            other = MemoryStore.Client(of: memory)
            folder = nil
        case .folder:
            let made = try TestFolder()
            store = FolderStore(at: made.path)
            other = FolderStore(at: made.path)
            folder = made
        case .etcd:
            let address = try Self.sharedServer.withLock { shared in
                let server = try shared ?? EtcdServer()
                shared = server
                return try server.address()
            }
            store = try EtcdStore(at: address)
            other = try EtcdStore(at: address)
            folder = nil
        }
        if hasCircle { try store.create(circle, by: .soon) }
    }

    /// A new log of the device.
    func log(_ scope: KeyScope = .whileUnlocked) -> LogPlace {
        LogPlace(circle, device, scope, LogID(high: device.high, low: .random(in: 1 ... .max)))
    }

    var roster: StorePlace { .roster(circle) }

    /// Appends messages of these numbers, each after the one before.
    func append(
        _ numbers: ClosedRange<UInt64>, to log: LogPlace, bytes: (UInt64) -> [UInt8] = message
    ) throws {
        var head: LogPosition?
        for number in numbers {
            let position = LogPosition.test(number)
            let outcome = try store.append(
                bytes(number), at: position, to: .log(log), after: head, by: .soon)
            #expect(outcome == .stored)
            head = position
        }
    }

    /// Reads everything that is listed in a place.
    func contents(of place: StorePlace) throws -> [StoredBytes] {
        let names = try other.list(place, by: .soon).names
        return try stride(from: 0, to: names.count, by: StoreLimits.readCount).flatMap { start in
            let some = Array(names[start..<min(names.count, start + StoreLimits.readCount)])
            return try other.read(some, in: place, by: .soon)
        }
    }
}

/// Bytes that stand for the message of a number.
func message(_ number: UInt64) -> [UInt8] { Array("message \(number)".utf8) }

extension Deadline {
    /// Far enough for a machine that is busy.
    static var soon: Deadline { Deadline(after: .seconds(20)) }
}

extension SyncBytes {
    static func random() -> Self {
        Self(high: .random(in: 1 ... .max), low: .random(in: 1 ... .max))
    }
}

extension LogPosition {
    /// The position of a number, with a hash that depends on it and on `branch`.
    static func test(_ number: UInt64, branch: UInt64 = 0) -> LogPosition {
        LogPosition(number: number, hash: SyncHash(number, branch, 3, 4))
    }
}
