// SPDX-License-Identifier: Apache-2.0

import Database
import SecretMemory
import TPMSupport
import TestValues
import Testing

@testable import TPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A TPM that is not as it was` {
    private let tpm: Swtpm

    init() throws { tpm = try Swtpm() }

    @Test func `is another one after it was cleared`() throws {
        let (device, passcode) = (try tpm.device.seal(1), try tpm.device.seal(1, pin: 2))
        try RawTPM(tpm.socket).clear()
        #expect(failure { _ = try tpm.device.unseal(device) } == .otherTPM)
        #expect(failure { _ = try tpm.device.unseal(passcode, pin: 2) } == .otherTPM)
    }

    @Test func `is another one when it was swapped`() throws {
        let object = try tpm.device.seal(1)
        let other = try Swtpm()
        #expect(failure { _ = try other.device.unseal(object) } == .otherTPM)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    @Test func `is another one when its storage root key was replaced`() throws {
        try RawTPM(tpm.socket).persistStorageKey()
        let object = try tpm.device.seal(1)
        // TPM2_EvictControl of what is persistent removes it.
        try RawTPM(tpm.socket).command(
            0x120, on: 0x4000_0001, more: [0x8100_0001], [0x81, 0, 0, 1])
        #expect(failure { _ = try tpm.device.unseal(object) } == .otherTPM)
    }

    @Test func `fails the policy once a register has another value`() throws {
        let pcrs = try #require(PCRSelection(text: "7"))
        let object = try tpm.device.seal(1, boundTo: pcrs)
        try RawTPM(tpm.socket).extend(8)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
        try RawTPM(tpm.socket).extend(7)
        #expect(failure { _ = try tpm.device.unseal(object) } == .policyFailed)
    }

    @Test func `binds to no registers that it does not keep`() throws {
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

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `An erasure secret` {
    private let tpm: Swtpm
    private let object: SealedObject

    init() throws {
        tpm = try Swtpm()
        try RawTPM(tpm.socket).persistStorageKey()
        object = try tpm.device.seal(3)
    }

    private func keep(owner: [UInt8] = []) throws -> NVIndex {
        try tpm.device.keepErasureSecret(
            .sample(1), beside: object, authorization: .sample(2), owner: SecretBytes(owner),
            until: .soon)
    }

    private func read(_ index: NVIndex, authorization: UInt8 = 2) throws -> [UInt8] {
        try tpm.device.erasureSecret(
            at: index, beside: object, authorization: .sample(authorization), until: .soon
        ).array
    }

    @Test func `is read until it is destroyed, and never again`() throws {
        let (index, other) = (try keep(), try keep())
        try tpm.restart()
        #expect(try read(index) == SecretBytes.sample(1).array)
        try tpm.device.destroyErasureSecret(at: index, owner: SecretBytes([]), until: .soon)
        #expect(failure { _ = try read(index) } == .noErasureSecret)
        #expect(
            failure {
                try tpm.device.destroyErasureSecret(
                    at: index, owner: SecretBytes([]), until: .soon)
            } == .noErasureSecret)
        #expect(try read(other) == SecretBytes.sample(1).array)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `takes its value, and wrong ones do not lock the TPM`() throws {
        let index = try keep()
        for _ in 0..<4 {
            let code = failure { _ = try read(index, authorization: 9) }
            #expect(code == .wrongAuthorization(triesLeft: nil))
        }
        #expect(try tpm.device.status(until: .soon).dictionaryAttack.failedTries == 0)
        #expect(try read(index) == SecretBytes.sample(1).array)
    }

    @Test func `takes the owner's authorization to be kept and to be destroyed`() throws {
        let index = try keep()
        try RawTPM(tpm.socket).setOwnerAuthorization([1, 2, 3])
        #expect(failure { _ = try keep() } == .ownerAuthorizationNeeded)
        #expect(failure { _ = try keep(owner: [4]) } == .ownerAuthorizationNeeded)
        #expect(
            failure {
                try tpm.device.destroyErasureSecret(
                    at: index, owner: SecretBytes([4]), until: .soon)
            } == .ownerAuthorizationNeeded)
        #expect(try read(index) == SecretBytes.sample(1).array)
        #expect(try read(keep(owner: [1, 2, 3])) == SecretBytes.sample(1).array)
        try tpm.device.destroyErasureSecret(at: index, owner: SecretBytes([1, 2, 3]), until: .soon)
        #expect(failure { _ = try read(index) } == .noErasureSecret)
    }
}
