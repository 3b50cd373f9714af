// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Set once, by any thread.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
    func set() { value.store(true, ordering: .sequentiallyConsistent) }
}

/// Counts up, on any thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    func increment() { count.add(1, ordering: .sequentiallyConsistent) }
}

// Promise: 10.6
@Suite struct `Restoring a damaged backup` {
    let file = BackupPath()
    let keychain = TestKeychain()
    let good: [UInt8]
    let seals: [[UInt8]]

    private static let headerByteCount = 236
    private static let chunkByteCount = 65_553

    init() throws {
        let source = TestKeychain()
        for number in 0..<5 {
            try source.add(.generic("\(number)"), String(repeating: "v", count: 30_000))
        }
        try source.backUp(to: file)
        good = try file.bytes
        try keychain.add(.generic("0"), "here")
        seals = try keychain.seals()
    }

    private func expectNoChange(_ location: SourceLocation = #_sourceLocation) throws {
        #expect(try keychain.seals() == seals, sourceLocation: location)
        #expect(try keychain.value(.exact("0")) == "here", sourceLocation: location)
    }

    /// The code of a restore of `backup`, which was opened when it was good.
    private func code(_ backup: OpenedBackup) -> KeychainFailure.Code? {
        failure { _ = try keychain.store.keychain.restore(backup, .replace) }
    }

    @Test func `Restoring a backup changes nothing if any of its regions is damaged`() throws {
        let backup = try keychain.open(file)
        let places = stride(from: Self.headerByteCount, to: good.count, by: 7_919)
        let ends = [Self.headerByteCount, good.count - 1, Self.headerByteCount + 65_553]
        for place in Array(places) + ends {
            try file.put([good[place] ^ 1], at: place)
            #expect(code(backup) == .damaged)
            try file.put([good[place]], at: place)
        }
        try expectNoChange()
        #expect(try keychain.store.keychain.restore(backup, .replace).replacedCount == 1)
    }

    @Test(arguments: [0, 8, 9, 10, 34, 50, 54, 58, 59, 100, 180, 204, 235])
    func `Restoring a backup changes nothing if its header is damaged`(_ place: Int) throws {
        try file.put([good[place] ^ 1], at: place)
        let code = failure { _ = try keychain.restore(file, .replace) }
        let isVersion = place == 8 || place == 9
        #expect(code == .damaged || isVersion && code == .newerFormat)
        try expectNoChange()
    }

    @Test func `Restoring a backup changes nothing if it was cut short`() throws {
        let backup = try keychain.open(file)
        let chunkEnds = (0..<3).map { Self.headerByteCount + $0 * Self.chunkByteCount }
        for end in [good.count - 1] + chunkEnds.reversed() + [100, 0] {
            try file.cut(to: end)
            #expect(code(backup) == .damaged)
        }
        try expectNoChange()
        for end in [235, 100, 7, 0] {
            try file.write(Array(good.prefix(end)))
            #expect(failure { _ = try keychain.restore(file, .replace) } == .damaged)
        }
        try expectNoChange()
    }

    @Test func `Restoring a backup changes nothing if bytes follow its end`() throws {
        try file.write(good + [0])
        #expect(failure { _ = try keychain.restore(file, .replace) } == .damaged)
        try expectNoChange()
    }

    @Test func `Restoring a backup changes nothing if it is damaged between the two readings`()
        throws
    {
        let backup = try keychain.open(file)
        let directory = try PrivateDirectory.open(keychain.folder, creating: false)
        let lock = FileLock(KeychainFile.lock, in: directory)
        let held = try lock.acquire(before: Deadline(after: .seconds(5)))
        let isDone = Flag()
        let outcome = Mutex<KeychainFailure.Code?>(nil)
        let store = keychain.store
        Thread {
            let code = failure { _ = try store.keychain.restore(backup, .replace) }
            outcome.withLock { $0 = code }
            isDone.set()
        }.start()
        // By now it has read the file, and waits for the lock; had it not, it would be refused
        // all the same.
        usleep(500_000)
        try file.put([good[good.count - 1] ^ 1], at: good.count - 1)
        _ = consume held
        while !isDone.isSet { usleep(1000) }
        #expect(outcome.withLock { $0 } == .damaged)
        try expectNoChange()
    }
}
