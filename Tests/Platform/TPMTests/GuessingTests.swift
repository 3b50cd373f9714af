// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetSealing
import ValetSystem
import ValetTestValues

@testable import ValetTPM

@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `Guessing at a TPM` {
    private let tpm: Swtpm

    init() throws { tpm = try Swtpm() }

    private var attack: DictionaryAttack {
        get throws { try tpm.device.status(until: .soon).dictionaryAttack }
    }

    // Promise: 11.5
    @Test func `Guessing at a TPM says how many tries are left, and counts them`() throws {
        try RawTPM(tpm.socket).setDictionaryAttack(limit: 8, recoverySeconds: 1000)
        let object = try tpm.device.seal(1, pin: 2)
        for left in [7, 6, 5] {
            let code = failure { _ = try tpm.device.unseal(object, pin: 9) }
            #expect(code == .wrongAuthorization)
            let tries = left == 1 ? "1 more try" : "\(left) more tries"
            #expect(code?.reason == "wrong passcode: the TPM allows \(tries)")
            #expect(try attack.triesLeft == left)
        }
        #expect(try tpm.device.unseal(object, pin: 2) == SecretBytes.sample(1).array)
        #expect(try attack.triesLeft == 5)
    }

    // Promise: 11.5
    @Test func `Guessing at a TPM tries nothing when few tries are left, unless forced`() throws {
        let object = try tpm.device.seal(1, pin: 2)
        for _ in 0..<2 {
            #expect(failure { _ = try tpm.device.unseal(object, pin: 9) } != nil)
        }
        for pin: UInt8 in [2, 9] {
            let code = failure { _ = try tpm.device.unseal(object, pin: pin) }
            #expect(code == .tooFewTries)
            #expect(code?.reason == SystemError.Code.tooFewTries(left: 1, of: 3).reason)
        }
        #expect(try attack.triesLeft == 1)
        let opened = try tpm.device.unseal(object, pin: 2, isForced: true)
        #expect(opened == SecretBytes.sample(1).array)
    }

    // Promise: 11.5
    @Test func `Guessing at a TPM is locked out after too many, and says for how long at most`()
        throws
    {
        let (object, device) = (try tpm.device.seal(1, pin: 2), try tpm.device.seal(3))
        for _ in 0..<3 { _ = failure { _ = try tpm.device.unseal(object, pin: 9, isForced: true) } }
        let code = failure { _ = try tpm.device.unseal(object, pin: 2, isForced: true) }
        #expect(code == .lockedOut)
        #expect(code?.reason == "the TPM refuses all tries for up to 1000 s")
        #expect(try attack.isLockedOut)
        // What takes no value is not shut out.
        #expect(try tpm.device.unseal(device) == SecretBytes.sample(3).array)
        try RawTPM(tpm.socket).resetLockout()
        #expect(try tpm.device.unseal(object, pin: 2) == SecretBytes.sample(1).array)
    }

    @Test func `Guessing at a TPM opens again once the TPM has forgiven`() throws {
        try RawTPM(tpm.socket).setDictionaryAttack(limit: 2, recoverySeconds: 1)
        let object = try tpm.device.seal(1, pin: 2)
        for _ in 0..<2 { _ = failure { _ = try tpm.device.unseal(object, pin: 9, isForced: true) } }
        let deadline = Deadline.soon
        var opened: [UInt8]?
        while opened == nil, deadline.sleep(atMost: 50_000_000) {
            opened = try? tpm.device.unseal(object, pin: 2)
        }
        #expect(opened == SecretBytes.sample(1).array)
    }

    // Promise: 11.1
    @Test func `Guessing at a TPM is limited only where the lockout authorization is set`() throws {
        let object = try tpm.device.seal(1, pin: 2)
        // One client at a time.
        func attack(_ body: (RawTPM) throws -> Void) throws { try body(RawTPM(tpm.socket)) }
        #expect(try !tpm.device.status(until: .soon).hasLockoutAuthorization)
        // Seven guesses where the TPM takes three.
        for _ in 0..<7 {
            let code = failure { _ = try tpm.device.unseal(object, pin: 9, isForced: true) }
            #expect(code == .wrongAuthorization)
            #expect(code?.reason == "wrong passcode: the TPM allows 2 more tries")
            try attack { try $0.resetLockout() }
        }
        try attack { try $0.setLockoutAuthorization(Array("lockout value".utf8)) }
        #expect(try tpm.device.status(until: .soon).hasLockoutAuthorization)
        _ = failure { _ = try tpm.device.unseal(object, pin: 9, isForced: true) }
        #expect(throws: RawTPM.Refusal.self) { try attack { try $0.resetLockout() } }
        #expect(throws: RawTPM.Refusal.self) {
            try attack { try $0.setDictionaryAttack(limit: 1000, recoverySeconds: 0) }
        }
        #expect(try self.attack.triesLeft < 3)
    }

    @Test func `A restarted TPM still says whether its lockout authorization is set`() throws {
        try RawTPM(tpm.socket).setLockoutAuthorization([7])
        try tpm.restart()
        #expect(try tpm.device.status(until: .soon).hasLockoutAuthorization)
    }

    // Promise: 11.5
    @Test func `Guessing at a TPM remembers wrong tries when the power fails`() throws {
        try RawTPM(tpm.socket).setDictionaryAttack(limit: 8, recoverySeconds: 1000)
        let object = try tpm.device.seal(1, pin: 2)
        _ = failure { _ = try tpm.device.unseal(object, pin: 9) }
        tpm.kill()
        try tpm.start()
        #expect(try attack.triesLeft < 8)
    }

    @Test func `Guessing at a TPM says how many are left to the person who asks`() {
        let cases: [(SystemError.Code, String)] = [
            (.wrongAuthorization(triesLeft: 1), "wrong passcode: the TPM allows 1 more try"),
            (.wrongAuthorization(triesLeft: 4), "wrong passcode: the TPM allows 4 more tries"),
            (
                .tooFewTries(left: 1, of: 3),
                "the passcode was not tried: the TPM allows 1 more of 3 tries"
            ),
            (.lockedOut(.seconds(600)), "the TPM refuses all tries for up to 600 s"),
        ]
        for (code, text) in cases { #expect(code.reason == text) }
    }
}
