// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetSecretMemory
import ValetTPMSupport
import ValetTestValues

@testable import ValetTPM

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

    private func keep(
        at place: ErasurePlace = .random(), owner: [UInt8] = []
    ) throws -> ErasurePlace {
        try tpm.device.keepErasureSecret(
            KeptSecret(.sample(1), readWith: .sample(2)), at: place, beside: object,
            owner: SecretBytes(owner), until: .soon)
        return place
    }

    private func destroy(_ place: ErasurePlace, owner: [UInt8] = []) throws {
        try tpm.device.destroyErasureSecret(at: place, owner: SecretBytes(owner), until: .soon)
    }

    private func isThere(_ place: ErasurePlace) throws -> Bool {
        try tpm.device.hasErasureSecret(at: place, until: .soon)
    }

    private func read(_ place: ErasurePlace, authorization: UInt8 = 2) throws -> [UInt8] {
        try tpm.device.erasureSecret(
            at: place.index, beside: object, authorization: .sample(authorization), until: .soon
        ).array
    }

    @Test func `is read until it is destroyed, and never again`() throws {
        let (place, other) = (try keep(), try keep())
        #expect(try isThere(place))
        try tpm.restart()
        #expect(try read(place) == SecretBytes.sample(1).array)
        try destroy(place)
        #expect(failure { _ = try read(place) } == .noErasureSecret)
        #expect(failure { try destroy(place) } == .noErasureSecret)
        #expect(try !isThere(place))
        #expect(try read(other) == SecretBytes.sample(1).array)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `takes no place of another's, and destroys nothing there`() throws {
        let place = try keep()
        let other = ErasurePlace(place.index, mark: .init(repeating: 9, count: 32))
        #expect(failure { _ = try keep(at: other) } == .indexTaken)
        #expect(failure { try destroy(other) } == .noErasureSecret)
        #expect(try !isThere(other) && isThere(place))
        let foreign = ErasurePlace.random()
        try RawTPM(tpm.socket).define(foreign.index.rawValue)
        #expect(failure { _ = try keep(at: foreign) } == .indexTaken)
        #expect(failure { try destroy(foreign) } == .noErasureSecret)
        #expect(try RawTPM(tpm.socket).indices().contains(foreign.index.rawValue))
        #expect(try read(place) == SecretBytes.sample(1).array)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `is not kept where there is no room`() throws {
        try RawTPM(tpm.socket).fillWithIndices()
        let error = #expect(throws: TPMError.self) { _ = try keep() }
        #expect(error?.code == .full && error?.hint?.contains("handles-nv-index") == true)
    }

    @Test func `takes its value, and wrong ones do not lock the TPM`() throws {
        let place = try keep()
        for _ in 0..<4 {
            let code = failure { _ = try read(place, authorization: 9) }
            #expect(code == .wrongAuthorization(triesLeft: nil))
        }
        #expect(try tpm.device.status(until: .soon).dictionaryAttack.failedTries == 0)
        #expect(try read(place) == SecretBytes.sample(1).array)
    }

    @Test func `takes the owner's authorization to be kept and to be destroyed`() throws {
        let place = try keep()
        try RawTPM(tpm.socket).setOwnerAuthorization([1, 2, 3])
        #expect(failure { _ = try keep() } == .ownerAuthorizationNeeded)
        #expect(failure { _ = try keep(owner: [4]) } == .ownerAuthorizationNeeded)
        #expect(failure { try destroy(place, owner: [4]) } == .ownerAuthorizationNeeded)
        #expect(try read(place) == SecretBytes.sample(1).array)
        #expect(try read(keep(owner: [1, 2, 3])) == SecretBytes.sample(1).array)
        try destroy(place, owner: [1, 2, 3])
        #expect(failure { _ = try read(place) } == .noErasureSecret)
    }

    @Test func `can be known to be the owner's to destroy before anything is done`() throws {
        let device = tpm.device
        let check = { (value: [UInt8]) in
            try device.checkOwner(SecretBytes(value), until: .soon)
        }
        try check([])
        #expect(failure { try check([1]) } == .ownerAuthorizationNeeded)
        try RawTPM(tpm.socket).setOwnerAuthorization([1, 2, 3])
        #expect(failure { try check([]) } == .ownerAuthorizationNeeded)
        #expect(failure { try check([1, 2]) } == .ownerAuthorizationNeeded)
        try check([1, 2, 3])
        #expect(try device.status(until: .soon).dictionaryAttack.failedTries == 0)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }
}
