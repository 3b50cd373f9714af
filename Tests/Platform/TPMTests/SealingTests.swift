// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `Sealing in a TPM` {
    private let folder: TestFolder
    private let tpm: Swtpm

    init() throws {
        folder = try TestFolder()
        tpm = try Swtpm(folder)
    }

    @Test func `Sealing in a TPM gives the device secret back`() throws {
        let object = try tpm.device.seal(1)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
    }

    @Test func `Sealing in a TPM gives the passcode's secret back for the right value`() throws {
        let object = try tpm.device.seal(1, pin: 2)
        #expect(try tpm.device.unseal(object, pin: 2) == SecretBytes.sample(1).array)
    }

    // Promise: 11.9
    @Test(arguments: [true, false])
    func `Sealing in a TPM gives secrets back after the machine was off`(_ isOrderly: Bool) throws {
        let (device, passcode) = (try tpm.device.seal(1), try tpm.device.seal(3, pin: 2))
        if isOrderly {
            try tpm.restart()
        } else {
            tpm.kill()
            try tpm.start()
        }
        #expect(try tpm.device.unseal(device) == SecretBytes.sample(1).array)
        #expect(try tpm.device.unseal(passcode, pin: 2) == SecretBytes.sample(3).array)
    }

    @Test func `Sealing in a TPM gives secrets back from what was stored of them`() throws {
        let pcrs = try #require(PCRSelection([7]))
        for object in [
            try tpm.device.seal(1), try tpm.device.seal(1, boundTo: pcrs),
        ] {
            let stored = try SealedObject(parsing: object.bytes)
            #expect(stored == object)
            #expect(try tpm.device.unseal(stored) == SecretBytes.sample(1).array)
        }
    }

    @Test func `Sealing in a TPM stores nothing that holds the secret or the value`() throws {
        let object = try tpm.device.seal(1, pin: 2)
        for secret in [SecretBytes.sample(1).array, SecretBytes.sample(2).array] {
            #expect(!object.bytes.contains(secret.prefix(8)))
        }
    }

    // Promise: 11.4
    @Test func `Sealing in a TPM shows neither secret nor value to who listens on the bus`() throws
    {
        let proxy = try TPMProxy(in: folder, before: tpm.socket) { _, _ in .pass }
        let device = TPMDevice(.socket(path: proxy.socket))
        let object = try device.seal(1, pin: 2)
        _ = try device.unseal(object, pin: 2)
        let traffic = proxy.traffic
        for number: UInt8 in 1...2 {
            #expect(!traffic.contains(SecretBytes.sample(number).array.prefix(8)))
        }
        // A control: what is no secret is found.
        #expect(traffic.contains(object.publicArea))
    }

    /// TPM and tpm2-tss both take zeros off the end of a value: they have to agree.
    @Test(arguments: [1, 2, 31, 32])
    func `Sealing in a TPM takes values that end in zeros`(_ zeros: Int) throws {
        let value =
            Array(SecretBytes.sample(1).array.dropLast(zeros)) + .init(repeating: 0, count: zeros)
        let object = try tpm.device.sealPasscodeSecret(
            .sample(3), authorization: SecretBytes(value), until: .soon)
        let opened = try tpm.device.unsealPasscodeSecret(
            object, authorization: SecretBytes(value), until: .soon)
        #expect(opened.array == SecretBytes.sample(3).array)
    }

    // Promise: 17.4
    @Test func `Sealing in a TPM leaves nothing in the TPM, whatever happens`() throws {
        let pcrs = try #require(PCRSelection([0, 7]))
        let (device, bound) = (try tpm.device.seal(1), try tpm.device.seal(1, boundTo: pcrs))
        let passcode = try tpm.device.seal(3, pin: 2)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
        let calls: [() throws -> Void] = [
            { _ = try tpm.device.unseal(device) },
            { _ = try tpm.device.unseal(bound) },
            { _ = try tpm.device.unseal(passcode, pin: 2) },
            { _ = try tpm.device.unseal(passcode) },
            { _ = try tpm.device.unseal(device, pin: 2) },
            { try RawTPM(tpm.socket).extend(7) },
            { _ = try tpm.device.unseal(bound) },
            { _ = try tpm.device.unseal(passcode, pin: 9) },
            { _ = try tpm.device.status(until: .soon) },
            { try RawTPM(tpm.socket).clear() },
            { _ = try tpm.device.unseal(device) },
        ]
        for call in calls {
            _ = failure(call)
            #expect(try RawTPM(tpm.socket).leftovers() == 0)
        }
    }

    @Test(arguments: RawTPM.StorageKey.allCases)
    func `Sealing in a TPM uses the machine's storage root key where there is one`(
        _ kind: RawTPM.StorageKey
    ) throws {
        let before = try tpm.device.seal(1)
        try RawTPM(tpm.socket).persistStorageKey(kind)
        #expect(try tpm.device.status(until: .soon).hasPersistentStorageRootKey)
        let object = try tpm.device.seal(1)
        #expect(object.storageRootKeyName != before.storageRootKeyName)
        #expect(try tpm.device.unseal(object) == SecretBytes.sample(1).array)
        #expect(try tpm.device.unseal(before) == SecretBytes.sample(1).array)
        #expect(try RawTPM(tpm.socket).leftovers() == 0)
    }

    @Test func `Sealing in a TPM makes no storage root key where an owner has to allow it`() throws
    {
        try RawTPM(tpm.socket).setOwnerAuthorization([1, 2, 3])
        #expect(failure { _ = try tpm.device.seal(1) } == .ownerAuthorizationNeeded)
    }
}
