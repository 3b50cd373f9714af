// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCForkSupport

@testable import ValetSealing

// One at a time: what one test sees in a free block, another must not be writing there.
@Suite(.serialized) struct `The arena of secrets` {
    private struct Refusal: Error {}

    // Where RLIMIT_MEMLOCK is too small it cannot be locked, and must not claim to be.
    // Promise: 4.1
    @Test func `The arena of secrets says truly whether it is locked in memory`() throws {
        let codes: [MemoryWeakness.Code?] = [.notLocked, .notGuarded]
        #expect(SecretArena.isLocked == !codes.contains(SecretArena.failure?.code))
        #expect(try SecretArena.isLocked == (lockedKiB() >= 256))
    }

    // Promise: 4.1
    @Test func `The arena of secrets wipes what was in a block when its owner lets go`() {
        let address = fillAndRelease(byteCount: 2_000)
        #expect(isWiped(address, byteCount: 2_000))
    }

    @Test func `The arena of secrets wipes what a throwing closure had written`() {
        var address = 0
        #expect(throws: Refusal.self) {
            _ = try SecretBytes(byteCount: 1_000) { (bytes: inout MutableSpan<UInt8>) in
                for index in bytes.indices { bytes[index] = 0xA5 }
                address = unsafe bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
                throw Refusal()
            }
        }
        #expect(isWiped(address, byteCount: 1_000))
    }

    @Test func `The arena of secrets uses blocks again`() {
        var addresses: Set<Int> = []
        for _ in 0..<100_000 { addresses.insert(SecretBytes(byteCount: 64).address) }
        #expect(addresses.count <= 4_096)
    }

    @Test func `The arena of secrets gets its blocks back from closures that throw`() {
        for _ in 0..<5_000 {
            #expect(throws: Refusal.self) {
                _ = try SecretBytes(byteCount: 64) { (_: inout MutableSpan<UInt8>) in
                    throw Refusal()
                }
            }
        }
        let isInArena = SecretBytes(byteCount: 4_096).isInArena
        #expect(isInArena)
    }

    @Test func `The arena of secrets gives way to ordinary memory when it is full`() {
        var held: [SecretValue] = []
        for _ in 0..<100 { held.append(SecretValue(SecretBytes(byteCount: 4_096))) }
        let one = SecretBytes(copying: [1, 2, 3].span)
        #expect(one.array == [1, 2, 3])
        #expect(held.contains { !$0.storage.isInArena })
        held = []
        let isInArenaAgain = SecretBytes(byteCount: 4_096).isInArena
        #expect(isInArenaAgain)
    }

    // An arena of its own: other suites hold keys in the one of the process.
    // Promise: 4.1
    @Test func `The arena of secrets has room for keys however many values are held`() {
        let arena = SecretArena()
        for byteCount in [4_096, 1] {
            while unsafe arena.allocate(byteCount: byteCount, for: .values) != nil {}
        }
        for _ in 0..<1_024 {
            let key = unsafe arena.allocate(byteCount: 64, for: .keys)
            #expect(unsafe key != nil)
        }
        let isFull = unsafe arena.allocate(byteCount: 1, for: .keys) == nil
        #expect(isFull)
    }

    @Test func `The arena of secrets gives keys room beyond their own while there is some`() {
        let arena = SecretArena()
        for _ in 0..<2_000 {
            let key = unsafe arena.allocate(byteCount: 32, for: .keys)
            #expect(unsafe key != nil)
        }
    }

    @Test func `The arena of secrets moves what turns out to be a key`() {
        let key = SecretBytes(copying: [1, 2, 3].span).asKeys()
        #expect(key.array == [1, 2, 3])
    }

    // Promise: 4.1
    @Test func `The arena of secrets says that it was full once, and is locked all the same`()
        throws
    {
        var held: [SecretValue] = []
        for _ in 0..<100 { held.append(SecretValue(SecretBytes(byteCount: 4_096))) }
        held = []
        let failure = try #require(SecretArena.failure)
        if SecretArena.isLocked {
            #expect(failure.code == .full && failure.operation == .allocate)
            #expect(failure.description.contains("no guarded memory left"))
        }
    }

    @Test func `The arena of secrets never gives the same block to two owners`() async {
        let overlaps = await withTaskGroup { group in
            for marker in 1...8 { group.addTask { churn(marker: UInt8(marker)) } }
            return await group.reduce(0, +)
        }
        #expect(overlaps == 0)
    }

    @Test func `The arena of secrets is usable in a child, and locked there as in the parent`() {
        let inherited = SecretBytes(copying: [7].span)
        let status = run_in_child(0) {
            guard churn(marker: 9, rounds: 1_000) == 0 else { return 1 }
            let isLocked = SecretArena.isLocked
            return (try? lockedKiB() >= 256) == isLocked ? 0 : 2
        }
        #expect(status == 0)
        #expect(inherited.array == [7])
    }

    @Test func `The arena of secrets is usable in a child forked while other threads allocate`()
        async
    {
        let allocating = Task.detached {
            while !Task.isCancelled { _ = churn(marker: 3, rounds: 100) }
        }
        let statuses = (0..<50).map { _ in
            run_in_child(0) { Int32(churn(marker: 4, rounds: 100)) }
        }
        allocating.cancel()
        await allocating.value
        #expect(statuses.allSatisfy { $0 == 0 })
    }

    // Another suite may have taken the blocks since, so a few bytes may be anything.
    private func isWiped(_ address: Int, byteCount: Int) -> Bool {
        peek(address, count: byteCount).count { $0 == 0xA5 } < byteCount / 10
    }

    private func fillAndRelease(byteCount: Int) -> Int {
        var bytes = SecretBytes(byteCount: byteCount)
        bytes.withMutableBytes { bytes in
            for index in bytes.indices { bytes[index] = 0xA5 }
        }
        let address = bytes.address
        #expect(peek(address, count: 1) == [0xA5])
        return address
    }
}

/// How much memory this process has locked.
private func lockedKiB() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmLck:") })
    return try #require(Int(line.filter(\.isNumber)))
}

/// Takes blocks of many sizes, marks them and counts those in which another mark is found.
private func churn(marker: UInt8, rounds: Int = 4_000) -> Int {
    var overlaps = 0
    for round in 0..<rounds {
        var bytes = SecretBytes(byteCount: (round &* 37) % 1_000 + 1)
        let isClean = bytes.withMutableBytes { bytes in
            var isClean = true
            for index in bytes.indices {
                isClean = isClean && bytes[index] == 0
                bytes[index] = marker
            }
            return isClean
        }
        let isOurs = bytes.withBytes { bytes in bytes.indices.allSatisfy { bytes[$0] == marker } }
        if !isClean || !isOurs { overlaps += 1 }
    }
    return overlaps
}
