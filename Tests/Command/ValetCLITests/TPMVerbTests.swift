// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeyTestSupport
import ValetKeychainModel
import ValetKeychainStore
import ValetTPM

@testable import ValetCLI

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet device, with a TPM` {
    private let swtpm: Swtpm
    private let bench: Bench

    init() throws {
        swtpm = try Swtpm()
        bench = Bench(tpm: swtpm.device)
        bench.add("secret")
    }

    @Test func `valet device bind keeps the key in the TPM, and says what to do first`() throws {
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        #expect(bench.run("device", "bind", "--tpm", "--pcrs", "7,16") == .success)
        #expect(
            bench.console.notes == [
                "valet: the device key now comes from tpm",
                "valet: hint: without this machine's TPM only a recovery key opens the keychain: "
                    + "'valet recovery create' makes one",
            ])
        #expect(bench.canRead("secret"))
        #expect(bench.run("device", "status", "--json") == .success)
        #expect(
            bench.console.outputText.hasPrefix(
                """
                {"source":"tpm","path":"\(swtpm.socket)","isAvailable":true,"level":"tpm",\
                "needsRecovery":false,"pcrs":"7,16","storageRootKey":"made-for-each-use"
                """))
        #expect(bench.run("status") == .success)
        #expect(bench.console.outputText.contains("Protection:    tpm\n"))
        #expect(!bench.console.outputText.contains("Tries counted:"))
        #expect(bench.console.outputText.contains("PCRs:          7,16 (measurements"))
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("bound to PCRs of the TPM: 7, 16"))
    }

    @Test func `valet device bind asks for the passcode, and binds it to the TPM`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        bench.person.answers = ["wrong", Bench.passcode]
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        #expect(bench.run("device", "bind", "--tpm") == .success)
        #expect(try bench.store.keychain.status().level == .tpmAndPasscode)
        bench.run("status", "--json")
        #expect(bench.console.outputText.contains(#""people":"tpm""#))
        bench.run("status")
        let text = "Tries counted: tpm (the TPM counts wrong passcodes"
        #expect(bench.console.outputText.contains(text))
        bench.run("lock", "--all")
        bench.person.answers = ["wrong", Bench.passcode]
        #expect(bench.run("rotate") == .success)
        #expect(
            bench.person.problems.last?.hasPrefix("wrong passcode: the TPM allows") == true)
        #expect(try bench.store.keychain.status().state == .beforeFirstUnlock)
        try bench.store.keychain.unlock(Bench.passcode(Bench.passcode))
        #expect(bench.canRead("secret"))
    }

    // Promise: 11.8
    @Test func `valet device unbind needs --lower`() throws {
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        #expect(bench.run("device", "unbind") == .usage)
        #expect(try bench.store.keychain.status().level == .tpm)
        #expect(bench.run("device", "bind", "--own-file") == .usage)
        #expect(bench.run("device", "unbind", "--lower") == .success)
        #expect(bench.console.notes == ["valet: the device key now comes from own-file"])
        #expect(try bench.store.keychain.status().level == .file)
        swtpm.kill()
        #expect(bench.canRead("secret"))
    }

    @Test func `valet recovery use gives up a lost TPM only with --lower`() throws {
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        try? bench.store.keychain.lock(all: true)
        bench.store.close()
        try RawTPM(swtpm.socket).clear()
        #expect(bench.run("get", "secret") == .failure)
        #expect(bench.console.notes.last == "valet: hint: run `valet recovery use`")
        #expect(
            bench.run("recovery", "use", "-y", "--recovery-key-fd", "3", lines: [key]) == .usage)
        #expect(
            bench.run("recovery", "use", "-y", "--recovery-key-fd=3", "--lower", lines: [key])
                == .success)
        #expect(bench.canRead("secret"))
        #expect(try bench.store.keychain.status().level == .file)
    }
}

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet recovery use, without the TPM` {
    // Promise: 11.10
    @Test func `valet recovery use warns before it gives up a TPM that it cannot see`() throws {
        let swtpm = try Swtpm()
        let bench = Bench(tpm: swtpm.device)
        bench.add("secret")
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        try? bench.store.keychain.lock(all: true)
        bench.store.close()
        swtpm.kill()
        let code = bench.run(
            "recovery", "use", "--recovery-key-fd=3", "--lower", lines: [key])
        #expect(code != .success)
        #expect(
            bench.console.notes.contains(
                "valet: warning: the TPM cannot be used and is given up: there is no TPM"))
        #expect(bench.console.notes.contains { $0.contains("a container or another boot") })
        #expect(try bench.store.keychain.status().level == .tpm)
    }
}

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet device, with a TPM whose lockout can be reset` {
    private let swtpm: Swtpm
    private let bench: Bench

    init() throws {
        swtpm = try Swtpm()
        bench = Bench(tpm: swtpm.device)
        bench.add("secret")
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        bench.person.answers = [Bench.passcode]
    }

    private static let warning =
        "valet: warning: the TPM's lockout authorization is empty: anyone who starts another "
        + "system on this machine can reset the count of wrong passcodes"

    // Promise: 11.1
    @Test
    func `valet device bind refuses a TPM with a resettable lockout where nobody can be asked`()
        throws
    {
        #expect(bench.run("device", "bind", "--tpm") == .usage)
        #expect(bench.console.notes.first == Self.warning)
        let hint = bench.console.notes.last ?? ""
        #expect(hint.contains("tpm2_changeauth -c lockout file:PATH"))
        #expect(hint.contains("--accept-resettable-lockout"))
        #expect(bench.person.prompts.isEmpty)
        #expect(try bench.store.keychain.status().level == .passcode)
    }

    @Test(arguments: [false, true])
    func `valet device bind uses a TPM with a resettable lockout if the user agrees`(_ agrees: Bool)
        throws
    {
        bench.console.isInputTerminal = true
        bench.console.answer = agrees
        #expect(bench.run("device", "bind", "--tpm") == (agrees ? .success : .denied))
        #expect(bench.console.questions == ["Bind to this TPM anyway?"])
        #expect(bench.console.notes.first == Self.warning)
        #expect(try bench.store.keychain.status().level == (agrees ? .tpmAndPasscode : .passcode))
    }

    // Promise: 11.1
    @Test func `status and doctor show a resettable TPM lockout until it is set`() throws {
        #expect(bench.run("device", "bind", "--tpm", "--accept-resettable-lockout") == .success)
        #expect(bench.console.notes.first == Self.warning)
        bench.run("status")
        #expect(bench.console.outputText.contains("TPM lockout:   empty (another system on this"))
        #expect(bench.console.outputText.contains("but its lockout authorization is empty"))
        for verb in [["status"], ["device", "status"]] {
            bench.run(verb + ["--json"])
            #expect(bench.console.outputText.contains(#""lockoutAuthorization":"empty""#))
        }
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("warning: the TPM's lockout authorization is"))
        #expect(bench.console.outputText.contains("tpm2_changeauth -c lockout file:PATH"))
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        bench.run("status")
        #expect(bench.console.outputText.contains("TPM lockout:   set (resetting"))
        #expect(bench.console.outputText.contains("tpm (the TPM counts wrong passcodes)"))
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("the TPM's lockout authorization is set"))
    }

    @Test func `valet passcode set warns of a resettable TPM lockout`() throws {
        bench.run("passcode", "remove", "--yes")
        #expect(bench.run("device", "bind", "--tpm", "--accept-resettable-lockout") == .success)
        bench.person.answers = [Bench.passcode, Bench.passcode]
        #expect(bench.run("passcode", "set") == .success)
        #expect(bench.console.notes.contains(Self.warning))
    }

    @Test func `The option --accept-resettable-lockout needs --tpm`() {
        let code = bench.run("device", "bind", "--own-file", "--accept-resettable-lockout")
        #expect(code == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: '--accept-resettable-lockout' needs '--tpm'")
    }
}

@Suite struct `valet device, without a TPM` {
    private let bench: Bench

    init() throws {
        bench = Bench()
        bench.add("secret")
    }

    @Test func `valet device bind says that there is no TPM before it asks for anything`() throws {
        try bench.store.keychain.setPasscode(Bench.passcode(Bench.passcode))
        #expect(bench.run("device", "bind", "--tpm") == .failure)
        #expect(bench.console.notes.first?.contains("could not look at the TPM") == true)
        let hint = bench.console.notes.last ?? ""
        #expect(hint.contains(TPMDevice.isBuilt ? "/dev/tpmrm0" : "package trait TPM"))
        #expect(try bench.store.keychain.status().level == .passcode)
    }

    @Test func `valet device unbind fails if the keychain is not bound to a TPM`() {
        #expect(bench.run("device", "unbind", "--lower") == .failure)
        #expect(
            bench.console.notes.first == "valet: error: the keychain is not bound to a TPM")
        #expect(bench.canRead("secret"))
    }
}
