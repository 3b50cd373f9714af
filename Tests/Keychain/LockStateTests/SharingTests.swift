// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

extension Kernel {
    @Suite struct `Keys in the kernel, seen by another process` {
        let keychain = KeychainID.random()
        private let all = "1[ak ck dk aku cku dku akpu]"
        private let first = "1[ck dk cku dku]"

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys are those that were published`(_ user: User) throws {
            let (owner, other) = (try OtherProcess(user), try OtherProcess(user))
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try other("read \(keychain) 1") == "before notUnlocked")
            #expect(try owner("publish \(keychain) 1 -") == "kernel")
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            #expect(try owner("lock \(keychain)") == "ok")
            #expect(try other("read \(keychain) 1") == "locked \(first) notUnlocked")
            #expect(try owner("lock \(keychain) all") == "ok")
            #expect(try other("read \(keychain) 1") == "before notUnlocked")
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys can be used from a fresh session keyring`(_ user: User) throws {
            let (owner, other) = (try OtherProcess(user), try OtherProcess(user))
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try other("session") == "ok")
            #expect(try owner("publish \(keychain) 1 -") == "kernel")
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
            #expect(try other("threads \(keychain) 1") == "unlocked \(all)")
            #expect(try other("replace \(keychain) 2") == "ok")
            #expect(try owner("read \(keychain) 2").hasPrefix("unlocked 2[ak "))
            #expect(try other("lock \(keychain)") == "ok")
            #expect(try owner("read \(keychain) 2").hasPrefix("locked 2[ck "))
            // And the other way round: published there, seen and locked here.
            #expect(try other("publish \(keychain) 1 -") == "kernel")
            #expect(try owner("read \(keychain) 1") == "unlocked \(all)")
            #expect(try owner("lock \(keychain) all") == "ok")
            #expect(try other("read \(keychain) 1") == "before notUnlocked")
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys are seen by every thread`(_ user: User) throws {
            let owner = try OtherProcess(user)
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try owner("publish \(keychain) 1 -") == "kernel")
            #expect(try owner("threads \(keychain) 1") == "unlocked \(all)")
            #expect(try owner("lock \(keychain)") == "ok")
            #expect(try owner("threads \(keychain) 1") == "locked \(first) notUnlocked")
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys outlive who published them`(_ user: User) throws {
            try OtherProcess(user).publishAndDie(keychain)
            let other = try OtherProcess(user)
            defer { _ = try? other("lock \(keychain) all") }
            #expect(try other("read \(keychain) 1") == "unlocked \(all)")
        }

        // Promise: 7.2
        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys end at their deadline for all`(_ user: User) throws {
            let (owner, other) = (try OtherProcess(user), try OtherProcess(user))
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try owner("publish \(keychain) 1 1500") == "kernel")
            var answers = [try other("read \(keychain) 1")]
            while answers == ["unlocked \(all)"] {
                usleep(20_000)
                answers = [try other("read \(keychain) 1")]
            }
            answers.append(try owner("read \(keychain) 1"))
            #expect(
                answers == ["locked \(first) deadlinePassed", "locked \(first) notUnlocked"])
        }

        // Promise: 7.4
        @Test(.enabled(if: Requirement.root, "needs root, to become other users"))
        func `Shared keys are not there for another user`() throws {
            let sample = KernelSample()
            let stranger = try OtherProcess(.stranger)
            let keychain = sample.samples.keychainID
            try sample.publish()
            #expect(try stranger("read \(keychain) 1") == "before notUnlocked")
            for scope in KeyScope.allCases {
                let serial = try sample.serial(scope).rawValue
                #expect(try stranger("serial \(serial)") == "-\(EACCES)")
                #expect(try stranger("revoke \(serial)") == "-\(EACCES)")
            }
            // What the stranger publishes under the same name is another key.
            #expect(try stranger("publish \(keychain) 2 -") == "kernel")
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
            #expect(try stranger("lock \(keychain) all") == "ok")
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys are whole or not there whenever who publishes them is killed`(
            _ user: User
        ) throws {
            let reader = try OtherProcess(user)
            defer { _ = try? reader("lock \(keychain) all") }
            let right = [
                "before notUnlocked", "locked \(first) notUnlocked", "unlocked \(all)",
            ]
            for pause in 0..<20 {
                let owner = try OtherProcess(user)
                #expect(try owner("lock \(keychain) all") == "ok")
                try owner.tell("publish \(keychain) 1 -")
                usleep(UInt32(pause) * 15)
                owner.kill()
                let answer = try reader("read \(keychain) 1")
                #expect(right.contains(answer), "\(pause)")
            }
        }

        @Test(arguments: [User.caller, .ordinary])
        func `Shared keys are replaced without a moment in which they are not there`(_ user: User)
            throws
        {
            let owner = try OtherProcess(user)
            let readers = try (0..<4).map { _ in try OtherProcess(user) }
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try owner("publish \(keychain) 1 -") == "kernel")
            for reader in readers { try reader.tell("tally \(keychain) 1 2000") }
            for _ in 0..<100 { try owner.publishOften(keychain) }
            for reader in readers { #expect(try reader.answer() == "unlocked \(all)") }
        }

        // Promise: 7.1
        @Test(arguments: [User.caller, .ordinary])
        func `Each reader sees the state before or after a concurrent lock or unlock`(
            _ user: User
        ) throws {
            let owner = try OtherProcess(user)
            let readers = try (0..<8).map { _ in try OtherProcess(user) }
            defer { _ = try? owner("lock \(keychain) all") }
            #expect(try owner("publish \(keychain) 1 -") == "kernel")
            for reader in readers { try reader.tell("tally \(keychain) 1 1000") }
            for _ in 0..<100 {
                #expect(try owner("lock \(keychain)") == "ok")
                try owner.publishOften(keychain)
            }
            let right: Set = ["unlocked \(all)", "locked \(first) notUnlocked"]
            for reader in readers {
                let answers = try reader.answer().components(separatedBy: " | ")
                #expect(right.isSuperset(of: answers), "\(answers)")
            }
        }
    }
}

extension OtherProcess {
    /// So often that the kernel may have no room for a while.
    fileprivate func publishOften(_ keychain: KeychainID) throws {
        let answer = try self("publish \(keychain) 1 -")
        #expect(["kernel", "process"].contains(answer))
    }

    fileprivate func publishAndDie(_ keychain: KeychainID) throws {
        #expect(try self("publish \(keychain) 1 -") == "kernel")
        kill()
    }
}
