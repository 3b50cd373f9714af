// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import Testing
internal import ValetKeychainModel
internal import ValetKeychainServices

@testable internal import Valet

@Suite struct `An asynchronous valet` {
    @Test(arguments: TestBackend.enabled)
    func `An asynchronous valet does what the valet does`(_ backend: TestBackend) async throws {
        let sample = Sample(backend)
        let valet = sample.valet()
        let tasks = valet.asynchronous
        #expect(await tasks.canAccessKeychain())
        try await tasks.setString("text", forKey: "a")
        try await tasks.setObject(Data([1, 2]), forKey: "b")
        try await tasks.set([7], forKey: "c")
        #expect(try await tasks.string(forKey: "a") == "text")
        #expect(try await tasks.object(forKey: "b") == Data([1, 2]))
        #expect(try await tasks.value(forKey: "c", as: [Int].self) == [7])
        #expect(try await tasks.containsObject(forKey: "a"))
        #expect(try await tasks.allKeys() == ["a", "b", "c"])
        try await tasks.setObjects(["a": Data([3])])
        #expect(try await tasks.objects(forKeys: ["a", "x"]) == ["a": Data([3])])
        try await tasks.removeObject(forKey: "a")
        #expect(try await tasks.containsObject(forKey: "a") == false)
        let other = sample.valet(.afterFirstUnlock)
        try await other.asynchronous.migrateObjects(from: valet, removeOnCompletion: true)
        #expect(try other.allKeys() == ["b", "c"])
        try await other.asynchronous.removeAllObjects()
        #expect(try other.allKeys() == [])
    }

    @Test func `An asynchronous call throws the error of the valet, with the full failure`()
        async throws
    {
        let tasks = Sample(.store).valet().asynchronous
        await #expect(throws: KeychainError.emptyKey) { try await tasks.object(forKey: "") }
        let reason = await Task { () -> KeychainFailure? in
            do {
                _ = try await tasks.object(forKey: "missing")
                return nil
            } catch {
                return KeychainFailure.last
            }
        }.value
        #expect(reason?.code == .itemNotFound)
    }

    @Test func `An asynchronous valet serves many tasks at once`() async throws {
        let tasks = Sample(.store).valet().asynchronous
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    try await tasks.setString("\(number)", forKey: "key \(number)")
                    let read = try await tasks.string(forKey: "key \(number)")
                    #expect(read == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await tasks.allKeys().count == 64)
    }
}

@Suite struct `A cancelled task` {
    /// A gate at which a call waits.
    private final class Gate: Sendable {
        private let entered = DispatchSemaphore(value: 0)
        private let opened = DispatchSemaphore(value: 0)

        func pass() {
            entered.signal()
            opened.wait()
        }

        func awaitVisitor() { entered.wait() }
        func open() { opened.signal() }
    }

    private func visitor(_ gate: Gate) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                gate.awaitVisitor()
                continuation.resume()
            }
        }
    }

    @Test func `A call of a cancelled task does not begin`() async {
        let begun = Mutex(false)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await Call.writing { () throws(KeychainError) in begun.withLock { $0 = true } }
        }
        task.cancel()
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
        #expect(begun.withLock { $0 } == false)
    }

    @Test func `A cancelled task does not wait for a call that only reads`() async throws {
        let gate = Gate()
        let task = Task {
            try await Call.reading { () throws(KeychainError) -> Int in
                gate.pass()
                return 1
            }
        }
        await visitor(gate)
        task.cancel()
        await #expect(throws: KeychainError.userCancelled) { try await task.value }
        gate.open()
    }

    @Test func `A cancelled task learns the outcome of a call that writes`() async throws {
        let gate = Gate()
        let task = Task {
            try await Call.writing { () throws(KeychainError) -> Int in
                gate.pass()
                return 1
            }
        }
        await visitor(gate)
        task.cancel()
        gate.open()
        #expect(try await task.value == 1)
    }
}
