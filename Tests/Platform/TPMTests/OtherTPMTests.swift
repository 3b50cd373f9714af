// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A TPM that is not as it was` {
    private let tpm: Swtpm

    init() throws { tpm = try Swtpm() }

    // Promise: 11.3
    @Test func `A changed TPM is another one after it was cleared`() throws {
        let (device, passcode) = (try tpm.device.seal(1), try tpm.device.seal(1, pin: 2))
        try RawTPM(tpm.socket).clear()
        #expect(failure { _ = try tpm.device.unseal(device) } == .otherTPM)
        #expect(failure { _ = try tpm.device.unseal(passcode, pin: 2) } == .otherTPM)
    }

    // Promise: 11.3
    @Test func `A changed TPM is another one when it was swapped`() throws {
        let object = try tpm.device.seal(1)
        let other = try Swtpm()
        #expect(failure { _ = try other.device.unseal(object) } == .otherTPM)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    @Test func `A changed TPM is another one when its storage root key was replaced`() throws {
        try RawTPM(tpm.socket).persistStorageKey()
        let object = try tpm.device.seal(1)
        // TPM2_EvictControl of what is persistent removes it.
        try RawTPM(tpm.socket).command(
            0x120, on: 0x4000_0001, more: [0x8100_0001], [0x81, 0, 0, 1])
        #expect(failure { _ = try tpm.device.unseal(object) } == .otherTPM)
    }

    // Promise: 11.3
    @Test func `A changed TPM fails the policy once a register has another value`() throws {
        let pcrs = try #require(PCRSelection([7]))
        let object = try tpm.device.seal(1, boundTo: pcrs)
        try RawTPM(tpm.socket).extend(8)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
        try RawTPM(tpm.socket).extend(7)
        #expect(failure { _ = try tpm.device.unseal(object) } == .policyFailed)
    }

    // Promise: 11.3
    @Test func `A changed TPM binds to no registers that it does not keep`() throws {
        // TPM2_PCR_Allocate, by the platform: SHA-256 with 8 registers, from the next start on.
        try RawTPM(tpm.socket).command(
            0x12b, on: 0x4000_000c, [0, 0, 0, 1, 0, 0x0b, 3, 0xff, 0, 0])
        try tpm.restart()
        let (kept, other) = (PCRSelection([7]), PCRSelection([7, 8]))
        #expect(try tpm.device.seal(1, boundTo: #require(kept)).pcrs.numbers == [7])
        #expect(
            failure { _ = try tpm.device.seal(1, boundTo: #require(other)) } == .pcrsUnavailable)
    }
}
