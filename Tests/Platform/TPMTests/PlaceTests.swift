// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: TPMDevice.isBuilt, Swtpm.isMissing)) struct `Looking for a TPM` {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func look(_ device: TPMDevice) -> SystemError? {
        do throws(SystemError) {
            _ = try device.status(until: .short)
            return nil
        } catch {
            return error
        }
    }

    @Test func `Looking for a TPM reports a missing one`() throws {
        try folder.write([], to: "file")
        let places: [TPMDevice.Place] = [
            .device(path: folder.path("absent")), .device(path: folder.path("file")),
            .socket(path: folder.path("absent")), .socket(path: folder.path("file")),
            .socket(path: folder.path(String(repeating: "x", count: 200))),
        ]
        for place in places { #expect(look(TPMDevice(place))?.code == .noDevice, "\(place)") }
        #expect(try folder.read("file").isEmpty)
    }

    @Test func `Looking for a TPM follows no link to something else`() {
        folder.link("tpmrm0", to: "/dev/null")
        #expect(look(TPMDevice(.device(path: folder.path("tpmrm0"))))?.code == .noDevice)
    }

    /// A device that takes every command, and answers none.
    @Test func `Looking for a TPM gives up a device that is no TPM`() {
        let code = look(TPMDevice(.device(path: "/dev/null")))?.code
        #expect(code == .connectionLost)
    }

    @Test func `Looking for a TPM names the library that is missing, and its package`() throws {
        let cases: [(TPMDevice.Libraries, String)] = [
            (.init(esys: "libabsent.so.0"), "libabsent.so.0"),
            (.init(marshalling: "libabsent.so.0"), "libabsent.so.0"),
            // One that is there, and is another.
            (.init(esys: "libc.so.6"), "libc.so.6"),
        ]
        for (libraries, name) in cases {
            let error = look(TPMDevice(libraries: libraries))
            #expect(error?.code == .libraryAbsent)
            #expect(error?.code.reason == "the library \(name) cannot be loaded")
            #expect(error?.hint?.contains("libtss2-esys-3.0.2-0") == true)
        }
    }

    @Test func `Looking for a TPM names the group whose members may use it`() throws {
        try folder.write([], to: "tpm", mode: 0o660)
        let place = TPMDevice.Place.device(path: folder.path("tpm"))
        let name = try #require(
            FileManager.default.attributesOfItem(atPath: folder.path("tpm"))[
                .groupOwnerAccountName] as? String)
        let error = SystemError.tpm(opening: place, errno: EACCES, during: "look")
        #expect(error.code == .noPermission)
        #expect(error.hint?.contains("usermod -aG \(name) ") == true)
        folder.setMode(0o600, of: "tpm")
        let closed = SystemError.tpm(opening: place, errno: EACCES, during: "look")
        #expect(closed.code == .noPermission)
        #expect(closed.hint?.contains("give a group the right") == true)
    }

    @Test(.enabled(if: geteuid() != 0, "root may use every device"))
    func `Looking for a TPM is told when the user may not use it`() throws {
        try folder.write([], to: "tpm", mode: 0)
        let error = look(TPMDevice(.device(path: folder.path("tpm"))))
        #expect(error?.code == .noPermission)
        #expect(error?.hint?.contains("give a group the right") == true)
    }
}

@Suite struct `What a TPM says` {
    @Test func `A TPM's response is decoded into layer and base code`() {
        let cases: [(UInt32, TPMResponse.Layer?, UInt32)] = [
            (0x98e, .tpm, 0x8e), (0x9a2, .tpm, 0xa2), (0x1df, .tpm, 0x9f), (0x921, .tpm, 0x921),
            (0x922, .tpm, 0x922), (0x101, .tpm, 0x101), (0x14c, .tpm, 0x14c), (0x99d, .tpm, 0x9d),
            (0x7_0008, .esys, 8), (0xa_000a, .transport, 10), (0x9_0006, .marshalling, 6),
            (0xc_0922, .resourceManagerForTPM, 0x922), (0xff_0001, nil, 1),
        ]
        for (raw, layer, base) in cases {
            let response = TPMResponse(raw)
            #expect(response.layer == layer)
            #expect(response.baseCode == base)
            #expect(response.description.contains(String(raw, radix: 16)))
        }
    }

    @Test func `A TPM's response means what the caller can do`() {
        let cases: [(UInt32, SystemError.Code)] = [
            (0x98e, .wrongAuthorization), (0x921, .lockedOut), (0x9a2, .ownerAuthorizationNeeded),
            (0x99d, .policyFailed), (0x128, .policyFailed), (0x902, .full), (0x903, .full),
            (0x101, .outOfOrder), (0x100, .outOfOrder), (0x1d5, .refusedInput),
            (0x7_0008, .refused),
        ]
        for (raw, code) in cases {
            #expect(SystemError.tpm(TPMResponse(raw), during: "try").code == code)
        }
    }

    @Test func `A TPM's response is told in one line`() {
        let error = SystemError.tpm(
            TPMResponse(0x98e), during: "unseal the device secret")
        #expect(
            error.description
                == "could not unseal the device secret: wrong passcode, TPM 0x98e (code 0x8e)")
    }

    @Test func `A TPM's response of tries is weighed before one is made`() {
        let cases: [(failed: Int, limit: Int, says: Bool, isForced: Bool, SystemError.Code?)] = [
            (0, 3, false, false, nil), (1, 3, false, false, nil),
            (2, 3, false, false, .tooFewTries(left: 1, of: 3)), (2, 3, false, true, nil),
            (3, 3, false, true, .lockedOut(.seconds(9))),
            (0, 3, true, true, .lockedOut(.seconds(9))),
            (16, 32, false, false, nil), (17, 32, false, false, .tooFewTries(left: 15, of: 32)),
            (0, 0, false, true, .lockedOut(.seconds(9))),
            (5, 3, false, true, .lockedOut(.seconds(9))),
        ]
        for (failed, limit, says, isForced, code) in cases {
            let attack = DictionaryAttack(
                failedTries: failed, limit: limit, recoveryInterval: .seconds(9),
                saysLockedOut: says)
            let found = failure { try attack.check(isForced: isForced, during: "try") }
            #expect(found == code, "\(failed) of \(limit)")
            #expect(found?.reason == code?.reason, "\(failed) of \(limit)")
        }
    }
}
