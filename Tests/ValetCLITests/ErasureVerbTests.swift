// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetTPM
import ValetTPMSupport

@testable import ValetCLI

@Suite(.enabled(if: Swtpm.isThere, Comment(rawValue: Swtpm.missing)))
struct `valet device, with an erasure secret` {
    private let swtpm: Swtpm
    private let bench: KeychainBench

    init() throws {
        swtpm = try Swtpm()
        try RawTPM(swtpm.socket).persistStorageKey()
        try RawTPM(swtpm.socket).setLockoutAuthorization([7])
        bench = try KeychainBench(tpm: swtpm.device)
        bench.add("secret")
    }

    private func indices() throws -> [UInt32] { try RawTPM(swtpm.socket).indices() }

    @Test func `bind makes it, rotate renews it, and unbind destroys it`() throws {
        #expect(bench.run("device", "bind", "--tpm", "--erasure-secret") == .success)
        let first = try indices()
        #expect(first.count == 1)
        #expect(bench.run("device", "status", "--json") == .success)
        #expect(
            bench.console.outputText.hasSuffix("\"erasureSecret\":\"there\",\"erasureEpoch\":2}\n"))
        #expect(bench.run("device", "status") == .success)
        #expect(bench.console.outputText.contains("TPM erasure:   there (old keys open nothing"))
        #expect(bench.run("doctor") == .success)
        #expect(bench.console.outputText.contains("the TPM keeps the erasure secret at index 0x01"))
        #expect(bench.run("rotate") == .success)
        #expect(bench.console.notes == ["valet: the keychain has new keys"])
        #expect(try indices() != first)
        #expect(bench.canRead("secret"))
        #expect(bench.run("device", "unbind", "--lower") == .success)
        #expect(try indices().isEmpty)
        #expect(bench.canRead("secret"))
    }

    @Test func `takes the owner's authorization from a descriptor, and nowhere else`() throws {
        try RawTPM(swtpm.socket).setOwnerAuthorization(Array("hunter2".utf8))
        let bind = ["device", "bind", "--tpm", "--erasure-secret"]
        #expect(bench.run(bind) == .denied)
        #expect(bench.console.notes.last == "valet: hint: give it with --owner-authorization-fd")
        #expect(run(bind, owner: "hunter3") == .denied)
        #expect(try bench.store.status().level == .file)
        #expect(run(bind, owner: "hunter2") == .success)
        #expect(bench.run("rotate") == .success)
        #expect(bench.console.notes.contains { $0.contains("takes the owner's authorization") })
        #expect(bench.run("status") == .success)
        #expect(bench.console.outputText.contains("there (of epoch 2: keys since then"))
        #expect(run(["rotate"], owner: "hunter2") == .success)
        #expect(bench.console.notes == ["valet: the keychain has new keys"])
        #expect(bench.run("device", "unbind", "--lower") == .denied)
        #expect(run(["device", "unbind", "--lower"], owner: "hunter2") == .success)
        #expect(try indices().isEmpty)
        #expect(!bench.everything.contains("hunter"))
        #expect(bench.person.prompts.isEmpty)
    }

    private func run(_ words: [String], owner: String) -> ExitCode {
        bench.run(words + ["--owner-authorization-fd", "3"], lines: [owner])
    }

    @Test func `takes passcode and authorization from two lines of one descriptor`() throws {
        try bench.store.setPasscode(KeychainBench.passcode(KeychainBench.passcode))
        try RawTPM(swtpm.socket).setOwnerAuthorization([0x78])
        let words = [
            "device", "bind", "--tpm", "--erasure-secret", "--passcode-fd", "3",
            "--owner-authorization-fd", "3",
        ]
        #expect(bench.run(words, lines: [KeychainBench.passcode, "x"]) == .success)
        #expect(try bench.store.status().level == .tpmAndPasscode)
        #expect(try indices().count == 1)
    }

    @Test func `is kept by no other place`() {
        #expect(bench.run("device", "bind", "--own-file", "--lower", "--erasure-secret") == .usage)
        #expect(bench.console.notes.first == "valet: error: '--erasure-secret' needs '--tpm'")
        #expect(run(["rotate"], owner: String(repeating: "x", count: 65)) == .failure)
    }
}
