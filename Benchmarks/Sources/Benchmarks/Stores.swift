// SPDX-License-Identifier: Apache-2.0

import Foundation
import LMDBByName
import Valet

/// What is timed: this package, and what it is compared with.
protocol Store {
    func get(_ name: String) throws
    func contains(_ name: String) throws
    func set(_ name: String, _ value: [UInt8]) throws
}

/// This package, through its public API.
struct ValetStore: Store {
    let valet: Valet

    /// Items that stay readable while the keychain is locked.
    static func named(_ name: String) -> Valet {
        guard let identifier = Identifier(nonEmpty: name) else { preconditionFailure("a name") }
        return Valet.valet(with: identifier, accessibility: .afterFirstUnlock)
    }

    /// Items that a lock takes away.
    static func lockable(_ name: String) -> Valet {
        guard let identifier = Identifier(nonEmpty: name) else { preconditionFailure("a name") }
        return Valet.valet(with: identifier, accessibility: .whenUnlocked)
    }

    func get(_ name: String) throws {
        let value = try valet.object(forKey: name)
        precondition(value.count == 64, "another value")
    }

    func contains(_ name: String) throws {
        let isThere = try valet.containsObject(forKey: name)
        precondition(isThere, "no such item")
    }

    func set(_ name: String, _ value: [UInt8]) throws {
        try valet.setObject(Data(value), forKey: name)
    }
}

/// LMDB: a memory-mapped tree with one writer, without encryption.
// Sendable because any thread may write, and only the measuring thread reads.
struct LMDBStore: Store, @unchecked Sendable {
    private let store: OpaquePointer

    /// Returns nil if the library is not installed.
    init?(path: String) {
        guard let store = lmdb_store_open(path) else { return nil }
        self.store = store
    }

    func get(_ name: String) {
        var name = name
        let count = name.withUTF8 { lmdb_store_get(store, $0.baseAddress, $0.count) }
        precondition(count == 64, "another value")
    }

    func contains(_ name: String) { get(name) }

    func set(_ name: String, _ value: [UInt8]) {
        var name = name
        let code = name.withUTF8 {
            lmdb_store_set(store, $0.baseAddress, $0.count, value, value.count)
        }
        precondition(code == 0, "LMDB fails: \(code)")
    }

    func fill(_ names: [String], _ value: [UInt8]) {
        let code = lmdb_store_fill(
            store, names.flatMap(\.utf8), names.count, 16, value, value.count)
        precondition(code == 0, "LMDB fails: \(code)")
    }
}

/// A store and the names of its items in it.
struct Subject {
    enum Label: String, CaseIterable {
        /// Plain SQLite with names in random order, and with names in their order.
        case random, ordered
        case lmdb
        case valet
    }

    let label: Label
    let store: any Store

    func name(_ number: Int) -> String {
        label == .ordered ? Names.ordered(number) : Names.random(number)
    }

    /// The subject whose files are in `folder`; nil if its library is not installed.
    init?(_ label: Label, in folder: String) {
        self.label = label
        switch label {
        case .random, .ordered: store = RawStore(path: "\(folder)/\(label).db")
        case .lmdb:
            guard let lmdb = LMDBStore(path: folder + "/lmdb.db") else { return nil }
            store = lmdb
        case .valet: store = ValetStore(valet: ValetStore.named("benchmark"))
        }
    }
}

/// 64 bytes that differ from one write to the next: the same ones again would cost nothing.
func sampleValue(_ number: Int) -> [UInt8] {
    (0..<64).map { UInt8(truncatingIfNeeded: number >> ($0 % 8)) ^ UInt8($0) }
}
