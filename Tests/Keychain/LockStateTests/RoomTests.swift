// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSealing

@testable import ValetKeys

extension Kernel {
    @Suite(.enabled(if: Requirement.root, "needs root, to become a user of its own"))
    struct `A user without room for keys` {
        let keychain = KeychainID.random()
        private let all = "1[ak ck dk aku cku dku akpu]"
        /// Nobody else uses its quota, and no test before has: room comes back with a delay.
        private let user = uid_t.random(in: 100_000..<1_000_000)

        private func process() throws -> OtherProcess { try OtherProcess(as: user) }

        /// Leaves no room, nor any that comes back meanwhile.
        private func fill(_ filler: OtherProcess, _ verb: String = "fill") throws -> Int {
            var count = 0
            for _ in 0..<4 {
                count = try #require(Int(try filler(verb)))
                usleep(100_000)
            }
            return count
        }

        @Test func `A user without room for keys keeps the keys in the process`() throws {
            let filler = try process()
            let (owner, other) = (try process(), try process())
            let count = try fill(filler)
            #expect(count < 100_000, "root has no quota to speak of")
            #expect(try owner("publish \(keychain) 1 -") == "process")
            #expect(try owner("read \(keychain) 1") == "unlocked \(all)")
            #expect(try owner("threads \(keychain) 1") == "unlocked \(all)")
            #expect(try other("read \(keychain) 1") == "before notUnlocked")
            #expect(try owner("lock \(keychain)") == "ok")
            #expect(try owner("read \(keychain) 1") == "locked 1[ck dk cku dku] notUnlocked")
            filler.kill()
            try waitForRoom(owner)
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            #expect(try owner("lock \(keychain) all") == "ok")
            #expect(try other("read \(keychain) 1") == "before notUnlocked")
        }

        @Test func `Unlocking without room for keys leaves other processes' shared keys alone`()
            throws
        {
            let (owner, other) = (try process(), try process())
            try publish(owner)
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            let filler = try process()
            _ = try fill(filler)
            #expect(try owner("publish \(keychain) 1 60000") == "process")
            #expect(try owner("read \(keychain) 1") == "unlocked \(all)")
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            // And a lock by either reaches both.
            #expect(try other("lock \(keychain)") == "ok")
            #expect(try owner("read \(keychain) 1") == "locked 1[ck dk cku dku] notUnlocked")
        }

        // Promise: 8.3, 8.11
        @Test(arguments: [true, false])
        func `A user without room for new keys has to unlock again, and is told so`(
            _ isUnlocked: Bool
        ) throws {
            let (owner, other) = (try process(), try process())
            try publish(owner)
            if !isUnlocked { #expect(try owner("lock \(keychain)") == "ok") }
            let filler = try process()
            let count = try fill(filler, "fillbytes")
            #expect((1..<150).contains(count))
            #expect(try owner("replace \(keychain) 2") == "locked quotaExceeded")
            #expect(try owner("place \(keychain)") == "kernel")
            for process in [owner, other] {
                // Keys of an epoch that is over are nowhere, and nobody takes them for a doubt.
                #expect(try process("read \(keychain) 1") == "before notUnlocked")
                #expect(try process("read \(keychain) 2") == "before notUnlocked")
            }
        }

        /// Into the kernel, once there is room.
        private func publish(_ owner: OtherProcess) throws { try waitForRoom(owner) }

        /// The kernel collects what a process leaves behind in its own time.
        private func waitForRoom(_ owner: OtherProcess) throws {
            for _ in 0..<100 {
                if try owner("publish \(keychain) 1 -") == "kernel" { return }
                usleep(50_000)
            }
            Issue.record("there is no room in the kernel")
        }
    }

    @Suite(.enabled(if: Requirement.root, "needs root, to become a user of its own"))
    struct `Every keychain of a user` {
        private let first = "1[ck dk cku dku]"
        private let all = "1[ak ck dk aku cku dku akpu]"

        // Promise: 7.15
        @Test func `Every keychain of a user is locked at once, known or not`() throws {
            let keychains = (0..<3).map { _ in KeychainID.random() }
            let (owner, other) = (try OtherProcess(.hermit), try OtherProcess(.hermit))
            let stranger = KernelSample()
            try stranger.publish()
            for keychain in keychains {
                #expect(try owner("publish \(keychain) 1 -") == "kernel")
                #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            }
            #expect(try other("lockevery \(keychains[0])") == "ok")
            for keychain in keychains {
                #expect(try owner("read \(keychain) 1") == "locked \(first) notUnlocked")
            }
            #expect(try other("lockevery \(keychains[0]) all") == "ok")
            for keychain in keychains {
                #expect(try owner("read \(keychain) 1") == "before notUnlocked")
            }
            #expect(try stranger.read() == "unlocked 1\(KernelSample.all)")
        }
    }
}
