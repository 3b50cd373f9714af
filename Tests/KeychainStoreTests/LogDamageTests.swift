// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainModel
import Testing

@testable import KeychainStore

/// What docs/decisions/0016-damaged-log.md is about.
@Suite struct `A log with a flipped byte` {
    private static let frameByteCount = 24 + 4096
    private static let accounts = (0..<12).map { "account \($0)" }

    private let keychain = TestStore()
    private let folder = TestStore.newFolder()

    /// The files as a power cut leaves them, with one byte of the log changed.
    private func crash(flipping place: (Int) -> Int?) throws {
        for account in Self.accounts { try keychain.add(.generic(account), "value of \(account)") }
        try FileManager.default.copyItem(atPath: keychain.folder, toPath: folder)
        try FileManager.default.removeItem(atPath: folder + "/keychain.db-shm")
        let log = URL(fileURLWithPath: folder + "/keychain.db-wal")
        var bytes = try Data(contentsOf: log)
        guard let place = place(try frameCount(bytes)) else { return }
        bytes[32 + place * Self.frameByteCount + 24 + 2_000] ^= 1
        let file = try FileHandle(forUpdating: log)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// How many frames carry the salts of the log; what follows is room, or an earlier round's.
    private func frameCount(_ log: Data) throws -> Int {
        let length = Self.frameByteCount
        let starts = stride(from: 32, through: log.count - length, by: length)
        let frames = starts.prefix { log[$0 + 8..<$0 + 16] == log[16..<24] }
        return try #require(frames.count > Self.accounts.count ? frames.count : nil)
    }

    private func survivors() throws -> [String] {
        let store = ItemStore(KeychainLocation(folder: folder))
        defer {
            store.close()
            try? FileManager.default.removeItem(atPath: folder)
        }
        let found = try store.copy(.generic(), [.attributes, .value], for: keychain.caller)
        for item in found.items { #expect(item.text == item.account.map { "value of \($0)" }) }
        #expect(found.damage == nil)
        #expect(store.diagnose().allSatisfy { $0.severity == .fine })
        return found.items.compactMap(\.account)
    }

    @Test func `is what loses something: without one all is there`() throws {
        try crash { _ in nil }
        #expect(try survivors() == Self.accounts)
    }

    // A record of what is so, and not of what should be.
    @Test func `loses what was acknowledged after it, and says nothing`() throws {
        try crash { $0 / 2 }
        let survivors = try survivors()
        #expect(survivors == Array(Self.accounts.prefix(survivors.count)))
        #expect(!survivors.isEmpty && survivors.count < Self.accounts.count)
    }
}
