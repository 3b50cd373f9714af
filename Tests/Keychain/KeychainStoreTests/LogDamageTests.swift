// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/decisions/0016-damaged-log.md.
@Suite final class `A log with a flipped byte` {
    private static let frameByteCount = 24 + 4096
    private static let accounts = (0..<12).map { "account \($0)" }
    /// Where in a frame: page number, length of the database, salts, sums, the page.
    private static let places = [3, 7, 8, 15, 16, 23, 24, 2_000, frameByteCount - 1]

    private let keychain = TestKeychain()
    private let folder = TestKeychain.newFolder()
    private let store: ItemStore
    private var log: URL { URL(fileURLWithPath: folder + "/keychain.db-wal") }

    init() throws {
        store = ItemStore(KeychainLocation(folder: folder))
        for account in Self.accounts { try keychain.add(.generic(account), "value of \(account)") }
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The files as a power cut leaves them, with one byte of the log changed.
    ///
    /// - Parameter place: Gives it, of the number of frames.
    private func crash(flipping place: (Int) -> Int?) throws {
        try FileManager.default.copyItem(atPath: keychain.folder, toPath: folder)
        try FileManager.default.removeItem(atPath: folder + "/keychain.db-shm")
        var bytes = try Data(contentsOf: log)
        guard let place = place(try frameCount(bytes)) else { return }
        bytes[place] ^= 1
        try bytes.write(to: log)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: log.path)
    }

    private static func place(_ frame: Int, _ offset: Int) -> Int {
        32 + frame * frameByteCount + offset
    }

    /// How many frames carry the salts of the log; what follows is room, or an earlier round's.
    private func frameCount(_ log: Data) throws -> Int {
        let length = Self.frameByteCount
        let starts = stride(from: 32, through: log.count - length, by: length)
        let frames = starts.prefix { log[$0 + 8..<$0 + 16] == log[16..<24] }
        return try #require(frames.count > Self.accounts.count ? frames.count : nil)
    }

    private func accounts() throws -> [String] {
        let found = try store.copy(.generic(), [.attributes, .value], for: keychain.caller).parts
        for item in found.items { #expect(item.text == item.account.map { "value of \($0)" }) }
        #expect(found.damage == nil)
        return found.items.compactMap(\.account)
    }

    private func refusal(_ body: () throws -> Void) -> KeychainFailure? {
        #expect(throws: KeychainFailure.self, performing: body)
    }

    @Test func `Without a flipped byte a log loses nothing`() throws {
        try crash { _ in nil }
        #expect(try accounts() == Self.accounts)
        #expect(store.keychain.diagnose().allSatisfy { $0.severity == .fine })
        #expect(try store.keychain.discardDamagedLog() == nil)
        #expect(try accounts() == Self.accounts)
    }

    // Promise: 14.4
    @Test(arguments: [0, 0.3, 0.5, 0.8], places)
    func `A flipped byte in a log is found before any read or write`(
        _ fraction: Double, _ offset: Int
    ) throws {
        try crash { Self.place(Int(Double($0) * fraction), offset) }
        let damaged = try Data(contentsOf: log)
        let caller = keychain.caller
        let calls: [() throws -> Void] = [
            { [store] in _ = try store.value(of: .exact("account 0"), for: caller) },
            { [store] in _ = try store.contains(.exact("never there"), for: caller) },
            { [store] in try store.set(Addition(.generic("new"), value: .text("v")), for: caller) },
            { [store] in _ = try store.keychain.rotateKeys(nil) },
            { [store] in _ = try store.keychain.purgeDamaged() },
        ]
        for call in calls {
            let refusal = refusal(call)
            #expect(refusal?.code == .keychainDamaged)
            #expect(refusal?.message.hasPrefix("the log is damaged: changes after") == true)
            #expect(refusal?.hint?.contains("--discard-log") == true)
        }
        #expect(store.keychain.diagnose().map(\.severity) == [.damage])
        #expect(try Data(contentsOf: log) == damaged)
    }

    // Promise: 14.4
    @Test(arguments: [0, 7, 18, 31])
    func `A flipped byte in the header of a log is found`(_ offset: Int) throws {
        try crash { _ in offset }
        #expect(refusal { _ = try accounts() }?.code == .keychainDamaged)
    }

    // Promise: 14.4
    @Test func `A damaged log is discarded on request and kept beside the keychain`() throws {
        try crash { Self.place($0 / 2, 100) }
        let damaged = try Data(contentsOf: log)
        let kept = try #require(try store.keychain.discardDamagedLog())
        #expect(kept == folder + "/keychain.db-wal.damaged")
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == damaged)
        let survivors = try accounts()
        #expect(survivors == Array(Self.accounts.prefix(survivors.count)))
        #expect(!survivors.isEmpty && survivors.count < Self.accounts.count)
        try store.set(Addition(.generic("new"), value: .text("value of new")), for: keychain.caller)
        #expect(try accounts() == survivors + ["new"])
        let warnings = store.keychain.diagnose().filter { $0.severity != .fine }
        #expect(warnings.map(\.path) == [kept])
    }

    // Promise: 14.4
    /// It looks like a transaction that a power cut ended.
    @Test func `A flipped byte in the last transaction of a log looks like a power cut`() throws {
        try crash { Self.place($0 - 1, 100) }
        #expect(try accounts() == Self.accounts.dropLast())
    }

    /// A restart begins at the front, and what is behind has other salts.
    @Test func `A flipped byte in the rest of an earlier log is not noticed`() throws {
        try crash { _ in nil }
        try store.tryOnKeys("test") { keys in
            let writer = try keys.keychain.pool.writer(Deadline(after: .seconds(5)))
            try writer.connection.checkpoint(.passive)
        }
        try store.set(Addition(.generic("b"), value: .text("value of b")), for: keychain.caller)
        let again = ItemStore(KeychainLocation(folder: folder + "/."))
        #expect(try again.contains(.exact("b"), for: keychain.caller))
        again.close()
        #expect(try accounts() == Self.accounts + ["b"])
    }
}
