// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetTPM
import ValetTPMSupport

@testable import ValetCLI

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet device, with a TPM` {
    private let swtpm: Swtpm
    private let bench: KeychainBench

    init() throws {
        swtpm = try Swtpm()
        bench = try KeychainBench(tpm: swtpm.device)
        bench.add("secret")
    }

    @Test func `bind keeps the key in the TPM, and says what to do first`() throws {
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        #expect(bench.run("device", "bind", "--tpm", "--pcrs", "7,16") == .success)
        #expect(
            bench.console.notes == [
                "valet: the device key comes from tpm now",
                "valet: hint: without this machine's TPM only a recovery key brings the keychain "
                    + "back: 'valet recovery create' makes one",
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
        #expect(!bench.console.outputText.contains("People:"))
        #expect(bench.console.outputText.contains("PCRs:          7,16 (how the machine"))
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("bound to PCRs of the TPM: 7, 16"))
    }

    @Test func `bind asks for the passcode, and binds it`() throws {
        try bench.store.setPasscode(KeychainBench.passcode(KeychainBench.passcode))
        bench.person.answers = ["wrong", KeychainBench.passcode]
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        #expect(bench.run("device", "bind", "--tpm") == .success)
        #expect(try bench.store.status().level == .tpmAndPasscode)
        bench.run("status", "--json")
        #expect(bench.console.outputText.contains(#""people":"tpm""#))
        bench.run("status")
        #expect(bench.console.outputText.contains("People:        tpm (it counts wrong passcodes"))
        bench.run("lock", "--all")
        bench.person.answers = ["wrong", KeychainBench.passcode]
        #expect(bench.run("rotate") == .success)
        #expect(
            bench.person.problems.last?.hasPrefix("wrong passcode: the TPM takes") == true)
        #expect(try bench.store.status().state == .beforeFirstUnlock)
        try bench.store.unlock(KeychainBench.passcode(KeychainBench.passcode))
        #expect(bench.canRead("secret"))
    }

    @Test func `unbind is not done unasked`() throws {
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        #expect(bench.run("device", "unbind") == .usage)
        #expect(try bench.store.status().level == .tpm)
        #expect(bench.run("device", "bind", "--own-file") == .usage)
        #expect(bench.run("device", "unbind", "--lower") == .success)
        #expect(bench.console.notes == ["valet: the device key comes from own-file now"])
        #expect(try bench.store.status().level == .file)
        swtpm.kill()
        #expect(bench.canRead("secret"))
    }

    @Test func `that was lost is done without by a recovery that says so`() throws {
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        try? bench.store.lock(all: true)
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
        #expect(try bench.store.status().level == .file)
    }
}

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet recovery use, where the TPM is not seen` {
    @Test func `says so before it is given up`() throws {
        let swtpm = try Swtpm()
        let bench = try KeychainBench(tpm: swtpm.device)
        bench.add("secret")
        #expect(bench.run("recovery", "create") == .success)
        let key = String(bench.console.outputText.dropLast())
        bench.run("device", "bind", "--tpm", "--accept-resettable-lockout")
        try? bench.store.lock(all: true)
        bench.store.close()
        swtpm.kill()
        let code = bench.run(
            "recovery", "use", "--recovery-key-fd=3", "--lower", lines: [key])
        #expect(code != .success)
        #expect(
            bench.console.notes.contains(
                "valet: warning: the TPM is given up for lost: there is no TPM"))
        #expect(bench.console.notes.contains { $0.contains("a container or another boot") })
        #expect(try bench.store.status().level == .tpm)
    }
}

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet device, with a TPM whose lockout anybody can reset` {
    private let swtpm: Swtpm
    private let bench: KeychainBench

    init() throws {
        swtpm = try Swtpm()
        bench = try KeychainBench(tpm: swtpm.device)
        bench.add("secret")
        try bench.store.setPasscode(KeychainBench.passcode(KeychainBench.passcode))
        bench.person.answers = [KeychainBench.passcode]
    }

    private static let warning =
        "valet: warning: the TPM's lockout authorization is empty: anybody who starts another "
        + "system on this machine can reset the count of wrong passcodes"

    @Test func `is not bound to where nobody can be asked`() throws {
        #expect(bench.run("device", "bind", "--tpm") == .usage)
        #expect(bench.console.notes.first == Self.warning)
        let hint = bench.console.notes.last ?? ""
        #expect(hint.contains("tpm2_changeauth -c lockout file:PATH"))
        #expect(hint.contains("--accept-resettable-lockout"))
        #expect(bench.person.prompts.isEmpty)
        #expect(try bench.store.status().level == .passcode)
    }

    @Test(arguments: [false, true])
    func `is bound to if a person agrees`(_ agrees: Bool) throws {
        bench.console.isInputTerminal = true
        bench.console.answer = agrees
        #expect(bench.run("device", "bind", "--tpm") == (agrees ? .success : .denied))
        #expect(bench.console.questions == ["Bind to this TPM all the same?"])
        #expect(bench.console.notes.first == Self.warning)
        #expect(try bench.store.status().level == (agrees ? .tpmAndPasscode : .passcode))
    }

    @Test func `is shown by status and doctor until it is set`() throws {
        #expect(bench.run("device", "bind", "--tpm", "--accept-resettable-lockout") == .success)
        #expect(bench.console.notes.first == Self.warning)
        bench.run("status")
        #expect(bench.console.outputText.contains("TPM lockout:   empty (another system started"))
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
        #expect(bench.console.outputText.contains("TPM lockout:   set (nobody resets"))
        #expect(bench.console.outputText.contains("tpm (it counts wrong passcodes)"))
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("the TPM's lockout authorization is set"))
    }

    @Test func `is told again when a passcode is set later`() throws {
        bench.run("passcode", "remove", "--yes")
        #expect(bench.run("device", "bind", "--tpm", "--accept-resettable-lockout") == .success)
        bench.person.answers = [KeychainBench.passcode, KeychainBench.passcode]
        #expect(bench.run("passcode", "set") == .success)
        #expect(bench.console.notes.contains(Self.warning))
    }

    @Test func `is accepted with the TPM alone`() {
        let code = bench.run("device", "bind", "--own-file", "--accept-resettable-lockout")
        #expect(code == .usage)
        #expect(
            bench.console.notes.first
                == "valet: error: '--accept-resettable-lockout' needs '--tpm'")
    }
}

@Suite struct `valet device, without a TPM` {
    private let bench: KeychainBench

    init() throws {
        bench = try KeychainBench()
        bench.add("secret")
    }

    @Test func `bind says what is missing before it asks for anything`() throws {
        try bench.store.setPasscode(KeychainBench.passcode(KeychainBench.passcode))
        #expect(bench.run("device", "bind", "--tpm") == .failure)
        #expect(bench.console.notes.first?.contains("could not look at the TPM") == true)
        let hint = bench.console.notes.last ?? ""
        #expect(hint.contains(TPMDevice.isBuilt ? "/dev/tpmrm0" : "package trait TPM"))
        #expect(try bench.store.status().level == .passcode)
    }

    @Test func `unbind has nothing to do`() {
        #expect(bench.run("device", "unbind", "--lower") == .failure)
        #expect(
            bench.console.notes.first == "valet: error: the keychain is not bound to a TPM")
        #expect(bench.canRead("secret"))
    }
}
