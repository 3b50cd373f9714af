// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `A keybag behind a TPM` {
    let sample: TPMSample

    init() throws { sample = try TPMSample() }

    @Test func `A keybag behind a TPM gives the keys of every class`() throws {
        let keys = try sample.unlock(with: sample.protector())
        #expect(keys.openClasses == ProtectionClass.allCases)
        #expect(try keys.ids == sample.unlock(with: sample.protector()).ids)
    }

    @Test func `A keybag behind a TPM is opened anew from its bytes`() throws {
        let sample = try TPMSample(cost: .lowest, source: .tpm)
        let parsed = try LockedKeybag(parsing: sample.locked.encoded)
        #expect(parsed.tpmDeviceObject == TPMSample.object)
        let object = try #require(parsed.tpmPasscodeObject)
        let protector = try Protector(
            DeviceSecret(copying: sample.deviceSecret.span),
            passcode: StretchedRecord(Passcode(TPMSample.typed), opening: parsed),
            unsealed: TPMPasscodeSecret(copying: sample.unsealed.span), object: object)
        let keys = try parsed.unlock(with: protector, settings: TPMSample.settings)
        #expect(keys.openClasses == ProtectionClass.allCases)
    }

    // Promise: 11.6
    @Test func `A keybag behind a TPM needs device secret, passcode and the TPM's secret`() throws {
        let other = Randomness.bytes(32)
        let cases: [(KeybagFault, () throws -> Protector)] = [
            (.wrongDeviceSecret, { try sample.protector(secret: other) }),
            (.wrongPasscode, { try sample.protector(passcode: [1]) }),
            (.wrongPasscode, { try sample.protector(unsealed: other) }),
        ]
        for (expected, protector) in cases {
            #expect(code { _ = try sample.unlock(with: protector()) } == expected)
        }
    }

    @Test func `A keybag behind a TPM is not opened by what was made for another`() throws {
        let other = Argon2Record(salt: .random(), cost: PasscodeSample.toy)
        var object = TPMSample.object
        object[6] ^= 1
        for protector in [
            { try sample.protector(argon2: other) }, { try sample.protector(object: object) },
        ] as [() throws -> Protector] {
            #expect(code { _ = try sample.unlock(with: protector()) } == .needsProtector)
        }
    }

    // Promise: 11.6
    /// The disk without the TPM gives nothing to try passcodes on.
    @Test func `A keybag behind a TPM has nothing that opens without the TPM`() throws {
        #expect(sample.locked.records[.rootByPasscode] == nil)
        #expect(sample.locked.records[.rootByDevice] == nil)
        let wrapped = try sample.locked.wrappedKey(.rootByTPM)
        let device = try DeviceSecret(copying: sample.deviceSecret.span)
        let passcode = try Protector(
            device, passcode: StretchedRecord(Passcode(TPMSample.typed), argon2: sample.argon2))
        let kek = passcode.passcodeKEK(for: sample.locked.keychainID)
        #expect(kek?.commitment != wrapped.commitment)
        #expect(
            code {
                _ = try Protector(
                    DeviceSecret(copying: sample.deviceSecret.span),
                    passcode: Passcode(TPMSample.typed), opening: sample.locked)
            } == .needsProtector)
    }

    @Test func `The TPM's authorization value is neither the passcode nor a key`() throws {
        let passcode = try StretchedRecord(Passcode(TPMSample.typed), argon2: sample.argon2)
        #expect(passcode.authorization.byteCount == 32)
        #expect(passcode.authorization.array != passcode.stretched.array)
        let other = try StretchedRecord(
            Passcode(TPMSample.typed), argon2: Argon2Record(salt: .random(), cost: .lowest))
        #expect(passcode.authorization.array != other.authorization.array)
    }

    @Test func `A keybag behind a TPM may hold the device secret in the TPM without a passcode`()
        throws
    {
        let secret = Randomness.bytes(32)
        let locked = LockedKeybag(
            keychainID: .random(), epoch: Epoch(1), deviceSource: .tpm,
            protector: try Protector(
                DeviceSecret(copying: secret.span), object: TPMSample.object),
            settings: TPMSample.settings)
        let parsed = try LockedKeybag(parsing: locked.encoded)
        #expect(parsed.tpmDeviceObject == TPMSample.object)
        #expect(parsed.tpmPasscodeObject == nil)
        let keys = try parsed.unlock(
            with: TestKeybag.protector(secret), settings: TPMSample.settings)
        #expect(keys.openClasses.count == 6)
    }

    @Test func `A keybag behind a TPM is not made with what is no object`() throws {
        for object in [[], [1], TPMSample.object + [0], Array(TPMSample.object.dropLast())] {
            #expect(code { _ = try sample.protector(object: object) } == .malformed)
            #expect(code { _ = try Protector(.random(), object: object) } == .malformed)
        }
    }
}
