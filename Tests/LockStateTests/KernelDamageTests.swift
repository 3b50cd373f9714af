// SPDX-License-Identifier: Apache-2.0

import CLinux
import Keybag
import LockStateSupport
import Sealing
import Testing

@testable import LockState

extension Kernel {
    @Suite struct `Something else in place of the keys` {
        let sample = KernelSample()

        private func payload(
            _ scope: KeyScope, of samples: SampleKeys? = nil, _ epochs: [UInt64] = [1]
        ) throws -> [UInt8] {
            let samples = samples ?? sample.samples
            return try KeyPayload(
                scope, of: samples.keychainID, from: samples.epochs(epochs), period: .unlimited
            ).bytes
        }

        @Test(arguments: KeyScope.allCases)
        func `is never taken for keys whichever byte was flipped`(_ scope: KeyScope) throws {
            try sample.publish()
            let good = try payload(scope)
            for offset in good.indices {
                var bytes = good
                bytes[offset] ^= 0x10
                try sample.plant(bytes, as: scope)
                let state =
                    scope == .whileUnlocked ? "locked 1\(KernelSample.first)" : "before"
                let cause = 8...9 ~= offset ? "newer" : "malformed"
                let answer = try sample.read(sample.fresh())
                #expect(answer == "\(state) invalid:\(cause)", "\(offset)")
            }
        }

        @Test(arguments: [[0], [UInt8](repeating: 7, count: 1_025)])
        func `is not read beyond what a payload can be`(_ bytes: [UInt8]) throws {
            try sample.publish()
            try sample.plant(bytes, as: .whileUnlocked)
            #expect(try sample.read() == "locked 1\(KernelSample.first) invalid:malformed")
        }

        @Test func `is refused when it belongs to another keychain`() throws {
            let other = SampleKeys(.random())
            try sample.publish()
            try sample.plant(payload(.whileUnlocked, of: other), as: .whileUnlocked)
            #expect(try sample.read() == "locked 1\(KernelSample.first) invalid:wrongKeys")
            try sample.plant(payload(.afterFirstUnlock, of: other), as: .afterFirstUnlock)
            #expect(try sample.read(sample.fresh()) == "before invalid:wrongKeys")
        }

        @Test func `is refused when it belongs to the other name`() throws {
            try sample.publish()
            try sample.plant(payload(.afterFirstUnlock), as: .whileUnlocked)
            #expect(try sample.read() == "locked 1\(KernelSample.first) invalid:wrongKeys")
        }

        @Test func `is refused when it belongs to another epoch`() throws {
            try sample.publish([1])
            #expect(try sample.read(nil, [2]) == "before otherEpoch")
            #expect(try sample.read(nil, [1, 2]) == "before otherEpoch")
            var mark = sample.samples.mark(1)
            mark = EpochMark(epoch: mark.epoch, digest: sample.samples.mark(9).digest)
            let reading = sample.store.current(expecting: [mark])
            #expect(try sample.samples.text(reading) == "before otherEpoch")
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        @Test func `gives way to an unlock`() throws {
            try sample.plant([1, 2, 3], as: .whileUnlocked)
            try sample.plant([1, 2, 3], as: .afterFirstUnlock)
            #expect(try sample.read() == "before invalid:malformed")
            try sample.publish()
            #expect(try sample.read() == "unlocked 1\(KernelSample.all)")
        }

        @Test func `that may not be looked at is neither locked nor unlocked`() throws {
            try sample.publish()
            let key = try sample.serial(.whileUnlocked)
            // Everything but searching, without which the kernel says neither yes nor no.
            _ = valet_keyctl(KEYCTL_SETPERM, key.rawValue, 0x3727_0000)
            defer { _ = valet_keyctl(KEYCTL_SETPERM, key.rawValue, 0x3f2f_0000) }
            let kernel = KernelLockState(
                keychainID: sample.samples.keychainID, use: IdleUse())
            let reading = kernel.current(expecting: sample.samples.marks([1])) { sample.clock.now }
            guard case .unknown(let error) = reading else {
                Issue.record("\(reading)")
                return
            }
            #expect(error.code == .refused)
            #expect(error.operation == .find)
        }
    }
}
