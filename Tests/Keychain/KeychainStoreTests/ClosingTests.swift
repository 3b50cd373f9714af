// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `A keychain that several stores use` {
    private let folder = TestKeychain.newFolder()
    private let caller = Caller(applicationIdentifier: "app", accessGroups: ["one"])

    private func makeStore() -> ItemStore { ItemStore(KeychainLocation(folder: folder)) }

    /// Files of the keychain that this process has open.
    private func openFiles() throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
        }.filter { $0.contains(folder) }
    }

    @Test func `A keychain that several stores use is closed with the last one`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var stores = [makeStore(), makeStore()]
        for store in stores {
            try store.set(Addition(.generic("a"), value: .text("v")), for: caller)
        }
        #expect(try !openFiles().isEmpty)
        stores.removeLast()
        #expect(try !openFiles().isEmpty)
        #expect(try stores[0].contains(.exact("a"), for: caller))
        stores.removeLast()
        #expect(try openFiles() == [])
        #expect(try makeStore().contains(.exact("a"), for: caller))
    }

    /// What a program that was killed leaves behind would have to be read by every one that starts.
    @Test func `A store that has only read checkpoints a long log`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let writer = makeStore()
        try writer.set(Addition(.generic("a"), value: .text("v")), for: caller)
        // Too short to be a burden: it is left to the next writer.
        try read("a", and: writer)
        #expect(try logByteCount() > 0)
        for number in 0..<40 {
            try writer.set(Addition(.generic("\(number)"), value: .text("v")), for: caller)
        }
        #expect(try logByteCount() > 1 << 20)
        try read("39", and: writer)
        #expect(try logByteCount() <= Connection.reservedLogByteCount)
        try writer.set(Addition(.generic("b"), value: .text("v")), for: caller)
        try read("b", and: writer)
    }

    /// Reads an item as another process would, which ends then.
    private func read(_ account: String, and writer: ItemStore) throws {
        let reader = ItemStore(KeychainLocation(folder: folder + "/."))
        #expect(try reader.contains(.exact(account), for: caller))
        #expect(try writer.contains(.exact(account), for: caller))
        reader.close()
    }

    private func logByteCount() throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(
            atPath: folder + "/keychain.db-wal")
        return try #require(attributes[.size] as? Int)
    }
}
