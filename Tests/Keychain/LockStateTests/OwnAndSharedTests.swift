// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetSystem

@testable import ValetKeys

extension Kernel {
    /// A keychain whose keys are shared, and a process that has keys of its own of it.
    @Suite struct `A process with keys of its own` {
        let sample = KernelSample()
        let own: LockStateStore
        private let shared = "unlocked 1\(KernelSample.all)"

        init() throws {
            own = sample.clock.store(of: sample.samples, in: .process)
            try sample.publish()
            try own.publish(sample.samples.epoch(1), within: .none)
        }

        private var marks: LockMarks? {
            get throws { try sample.store.shared.page.freshMarks() }
        }

        private func serials() throws -> [KeySerial] {
            try KeyScope.allCases.map { try sample.serial($0) }
        }

        private func replaceOwn(by epoch: UInt64?, since moment: LockMoment? = nil) throws {
            own.replaceKeys(
                of: sample.samples.mark(1), by: try epoch.map { try sample.samples.epoch($0) },
                unlockingSince: moment)
        }

        // Promise: 8.4
        @Test func `A process with keys of its own replaces them alone, and says what that means`()
            throws
        {
            let (marks, serials) = (try marks, try serials())
            try replaceOwn(by: 2)
            #expect(try sample.read(own, 2) == "unlocked 2\(KernelSample.all)")
            #expect(own.reasonOthersAreLocked?.code == .notUnlocked)
            #expect(try self.marks == marks)
            #expect(try self.serials() == serials)
            #expect(try sample.read(sample.fresh()) == shared)
            try sample.store.lock(all: true)
        }

        // Promise: 8.4
        @Test func `A process with keys of its own ends them alone`() throws {
            let marks = try marks
            try replaceOwn(by: nil)
            #expect(try sample.read(own) == "before notUnlocked")
            own.endKeys(unlessOf: sample.samples.mark(2))
            #expect(try self.marks == marks)
            #expect(try sample.read(sample.fresh()) == shared)
            #expect(try sample.read() == shared)
        }

        @Test func `A process with keys of its own tells nothing of shared keys that do not exist`()
            throws
        {
            try sample.store.lock(all: true)
            try own.publish(sample.samples.epoch(1), within: .none)
            try replaceOwn(by: 2)
            #expect(own.reasonOthersAreLocked == nil)
        }

        @Test func `A process with keys of its own locks the keychain for everybody`() throws {
            try own.lock(all: false)
            #expect(try sample.read() == "locked 1\(KernelSample.first) notUnlocked")
            #expect(try sample.read(own) == "locked 1\(KernelSample.first) notUnlocked")
        }

        @Test func `A process with keys of its own keeps them when shared ones end`()
            throws
        {
            for epoch in [2, nil] as [UInt64?] {
                try sample.publish()
                sample.store.replaceKeys(
                    of: sample.samples.mark(1), by: try epoch.map { try sample.samples.epoch($0) },
                    unlockingSince: nil)
                #expect(try sample.read(own) == shared)
            }
            #expect(try sample.read(sample.fresh()) == "before notUnlocked")
        }

        @Test func `A process with keys of its own makes its readers wait for a key change`()
            throws
        {
            own.beginChange()
            #expect(!own.awaitChange(before: Deadline(after: .milliseconds(20))))
            let reader = Thread { [own, samples = sample.samples] in
                _ = own.awaitChange(before: Deadline(after: .seconds(20)))
                let reading = own.current(expecting: samples.mark(2))
                Thread.current.threadDictionary["unlocked"] = reading.cause == nil
            }
            reader.start()
            Thread.sleep(forTimeInterval: 0.05)
            try replaceOwn(by: 2)
            own.endChange()
            while !reader.isFinished { Thread.sleep(forTimeInterval: 0.001) }
            #expect(reader.threadDictionary["unlocked"] as? Bool == true)
        }
    }

    @Suite struct `Shared keys after a key change` {
        let sample = KernelSample()

        @Test func `Shared keys that a killed program has left are ended by another one`()
            throws
        {
            try sample.publish()
            let (other, key) = (sample.fresh(), try sample.serial(.whileUnlocked))
            other.endKeys(unlessOf: sample.samples.mark(1))
            #expect(try sample.read(other) == "unlocked 1\(KernelSample.all)")
            #expect(try sample.read(other, 2) == "before otherEpoch")
            other.endKeys(unlessOf: sample.samples.mark(2))
            #expect(!KernelKeyring.isGood(key))
            #expect(try sample.read(other, 2) == "before notUnlocked")
        }

        @Test func `Shared keys that no file names are ended by another program`() throws {
            try sample.publish()
            let key = try sample.serial(.whileUnlocked)
            try FileManager.default.removeItem(atPath: sample.filePath)
            sample.fresh().endKeys(unlessOf: sample.samples.mark(1))
            #expect(!KernelKeyring.isGood(key))
        }

        // Promise: 8.9
        @Test(arguments: [nil, false, true] as [Bool?])
        func `Shared keys are unlocked by a key change unless a lock comes during it`(
            _ isLockOfAll: Bool?
        ) throws {
            try sample.publish()
            try sample.store.lock(all: false)
            let moment = try sample.store.moment()
            if let isLockOfAll { try sample.fresh().lock(all: isLockOfAll) }
            try sample.replaceKeys(unlockingSince: moment)
            let expected =
                switch isLockOfAll {
                case nil: "unlocked 2\(KernelSample.all)"
                case false?: "locked 2\(KernelSample.first) notUnlocked"
                case true?: "before notUnlocked"
                }
            #expect(try sample.read(nil, 2) == expected)
            #expect(try sample.read(sample.fresh(), 2) == expected)
        }

        @Test func `Shared keys of a keychain that had no passcode are there after the first one`()
            throws
        {
            try sample.store.preparePage()
            try sample.replaceKeys(unlockingSince: sample.store.moment())
            #expect(try sample.read(sample.fresh(), 2) == "unlocked 2\(KernelSample.all)")
        }

        // Promise: 8.9
        @Test(arguments: [false, true])
        func `A page of locks that is new since the first passcode was checked counts as a lock`(
            _ isOwn: Bool
        ) throws {
            let store =
                isOwn ? sample.clock.store(of: sample.samples, in: .process) : sample.store
            let moment = try store.moment()
            try sample.fresh().lock(all: true)
            try store.replaceKeys(
                of: sample.samples.mark(1), by: sample.samples.epoch(2), unlockingSince: moment)
            #expect(try sample.read(store, 2) == "before notUnlocked")
            #expect(try sample.read(sample.fresh(), 2) == "before notUnlocked")
            #expect((store.reasonOthersAreLocked == nil) == isOwn)
        }
    }
}
