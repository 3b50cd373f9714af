// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSyncSupport
import ValetSystem

@testable import ValetSyncAgent

/// The agent and the commands that take over from it: docs/SYNC.md §8.
struct AgentTests {
    @Test func `An agent waits for a command however long it works, and a second agent ends`()
        throws
    {
        let member = try TestMember.circle(of: 1)[0]
        let folder = try PrivateDirectory.open(member.keychain.location.folder, creating: false)
        let stopping = Cancellation()
        let running = try RunningAgent(member, folder, stopping)
        running.awaitRound()
        let second = try SyncAgent(
            member.keychain, SyncLock(folder), endedBy: Cancellation(),
            makeStore: { member.client }, told: { _, _ in })
        second.patience = .milliseconds(50)
        #expect(throws: KeychainFailure.self) { try second.run() }
        let command = SyncLock(folder)
        let held = try command.acquire(before: Deadline(after: .seconds(60)))
        // Many times as long as the agent waits for the lock at once.
        _ = Deadline(after: .seconds(1)).sleep(atMost: 400_000_000)
        _ = consume held
        running.awaitRound()
        stopping.cancel()
        #expect(running.awaitEnd())
    }

    // Promise: 19.2
    @Test func `A command does not wait for the end of a long round`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 2, in: store)
        let client = members[1].client
        for number in 0..<40 {
            try members[0].set("item \(number)", "1")
            try members[0].sync()
        }
        // Reading everything would take a minute.
        client.interfere { $0 == .read ? .delay(.seconds(1)) : nil }
        let folder = try PrivateDirectory.open(members[1].keychain.location.folder, creating: false)
        let stopping = Cancellation()
        let running = try RunningAgent(members[1], folder, stopping)
        while !client.calls.contains(.read) {
            _ = Deadline(after: .seconds(1)).sleep(atMost: 1_000)
        }
        let held = try SyncLock(folder).acquire(before: Deadline(after: .seconds(10)))
        stopping.cancel()
        _ = consume held
        #expect(running.awaitEnd())
    }
}

/// An agent on a thread of its own.
private final class RunningAgent: Sendable {
    private let round = Waiter()
    private let ended = Waiter()
    private let hasFailed = Mutex(false)

    init(_ member: TestMember, _ folder: PrivateDirectory, _ stopping: Cancellation) throws {
        let (keychain, client) = (member.keychain, member.client)
        try BackgroundThread.start { [self] in
            do {
                let agent = try SyncAgent(
                    keychain, SyncLock(folder), endedBy: stopping, makeStore: { client },
                    told: { [round] _, _ in round.wake() })
                agent.patience = .milliseconds(50)
                try agent.run()
            } catch {
                hasFailed.withLock { $0 = true }
                round.wake()
            }
            ended.wake()
        }
    }

    /// Waits for the end of a round.
    func awaitRound() { _ = round.wait(until: Deadline(after: .seconds(60))) }

    /// Waits for the end of the agent.
    ///
    /// - Returns: Whether it ended without an error.
    func awaitEnd() -> Bool {
        ended.wait(until: Deadline(after: .seconds(60))) && !hasFailed.withLock { $0 }
    }
}
