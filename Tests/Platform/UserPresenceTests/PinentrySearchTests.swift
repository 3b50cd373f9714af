// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem

@testable import ValetUserPresence

@Suite struct `The search for a pinentry program` {
    private func search(
        _ variables: [String: String], programs: Set<String>, files: [String: String] = [:],
        isElevated: Bool = false
    ) -> PinentrySearch {
        PinentrySearch(
            environment: Environment(variables, isElevated: isElevated),
            isProgram: { programs.contains($0) }, contents: { files[$0] })
    }

    @Test(
        arguments: [
            (["VALET_PINENTRY": "/opt/ask"], "/opt/ask"),
            (["VALET_PINENTRY": "ask", "PATH": "rel:/bin:/opt"], "/opt/ask"),
            (["VALET_PINENTRY": "", "HOME": "/home/a", "PATH": "/bin"], "/opt/agent"),
            (["HOME": "/home/a", "PATH": "/bin"], "/opt/agent"),
            (["HOME": "/home/a", "GNUPGHOME": "/gnupg", "PATH": "/bin"], "/opt/other"),
            (["HOME": "/home/b", "PATH": "/bin"], "/bin/pinentry-qt"),
            (["HOME": "/home/c", "PATH": "/bin"], "/bin/pinentry-qt"),
            (["HOME": "home/a", "PATH": "/bin"], "/bin/pinentry-qt"),
            (["PATH": "/usr/bin:/bin"], "/usr/bin/pinentry"),
            ([:], "/usr/bin/pinentry"), (["PATH": ".:bin:"], nil), (["PATH": "/sbin"], nil),
        ] as [([String: String], String?)])
    func `The search for a pinentry takes the configured program, or else an installed one`(
        _ variables: [String: String], _ expected: String?
    ) throws {
        let found = try search(
            variables,
            programs: [
                "/opt/ask", "/opt/agent", "/opt/other", "/usr/bin/pinentry", "/bin/pinentry-qt",
                "/bin/pinentry-tty", "ask", "./pinentry", "bin/pinentry", "rel/ask",
            ],
            files: [
                "/home/a/.gnupg/gpg-agent.conf": "pinentry-program /opt/agent\n",
                "/gnupg/gpg-agent.conf": "pinentry-program /opt/other",
                "/home/c/.gnupg/gpg-agent.conf": "pinentry-program /gone",
                "home/a/.gnupg/gpg-agent.conf": "pinentry-program /opt/agent",
            ]
        ).program()
        #expect(found == expected)
    }

    // Promise: 5.5
    @Test(arguments: ["/gone", "gone", "opt/ask", "./ask", "/"])
    func `The search for a pinentry does not replace a configured program`(_ choice: String) {
        let search = search(
            ["VALET_PINENTRY": choice, "PATH": "/bin"],
            programs: ["opt/ask", "./ask", "/bin/pinentry"])
        let error = #expect(throws: SystemError.self) { try search.program() }
        #expect(error?.code == .pinentryUnusable && error?.hint != nil)
    }

    // Promise: 18.9
    @Test func `A program with more rights than its caller does not search for a pinentry`() {
        let search = search(
            ["VALET_PINENTRY": "/opt/ask"], programs: ["/opt/ask", "/usr/bin/pinentry"],
            isElevated: true)
        let error = #expect(throws: SystemError.self) { try search.program() }
        #expect(error?.code == .elevated)
    }

    @Test(
        arguments: [
            ("", nil), ("# pinentry-program /a\n", nil), ("  pinentry-program\t/a b \r\n", "/a b"),
            ("pinentry-program \"/a b\"", "/a b"), ("pinentry-program a", nil),
            ("pinentry-program", nil), ("no-grab\n--pinentry-program /a\n", "/a"),
            ("pinentry-program /a\npinentry-program /b", "/b"), ("pinentry-programs /a", nil),
        ] as [(String, String?)])
    func `The search for a pinentry reads gpg-agent's configuration`(
        _ text: String, _ expected: String?
    ) {
        #expect(PinentrySearch.program(inConfiguration: text) == expected)
    }

    @Test func `The search for a pinentry finds only executable programs`() {
        #expect(GivenFile.isProgram("/bin/sh"))
        #expect(!GivenFile.isProgram("/bin") && !GivenFile.isProgram("/etc/passwd"))
        #expect(TextFile.contents("/etc/passwd")?.contains("root:") == true)
        #expect(TextFile.contents("/etc") == nil && TextFile.contents("/dev/zero") == nil)
    }
}
