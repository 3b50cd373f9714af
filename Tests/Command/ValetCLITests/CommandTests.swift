// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetCLI

@Suite struct `The built command` {
    private static let scenarios: [Scenario] = {
        let folder = TestedCommand.folder.appendingPathComponent("scripts")
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.path < $1.path }.compactMap { try? Scenario(file: $0) }
    }()

    private static func normalised(_ data: Data, _ folder: URL) -> String {
        String(decoding: data, as: UTF8.self)
            .replacingOccurrences(of: folder.appendingPathComponent("home").path, with: "{home}")
            .replacingOccurrences(
                of: "/fd/[0-9]+", with: "/fd/{number}", options: .regularExpression
            )
            .replacingOccurrences(
                of: "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", with: "{time}",
                options: .regularExpression
            )
            .replacingOccurrences(
                of: "\\b[0-9a-f]{32}\\b", with: "{id}", options: .regularExpression)
    }

    // Promise: 4.6
    @Test(arguments: scenarios)
    func `The built command does what the scenario says`(_ scenario: Scenario) throws {
        try TestedCommand.withFolder { folder in
            for step in scenario.steps {
                let outcome = try TestedCommand.run(
                    TestedCommand.path, step.words, input: step.input, in: folder)
                let place: Comment = "\(scenario.name).txt:\(step.line)"
                // Bytes first: text comparison forgives what is not UTF-8.
                if outcome.output != step.expected.output {
                    #expect(
                        Self.normalised(outcome.output, folder)
                            == String(decoding: step.expected.output, as: UTF8.self), place)
                }
                #expect(
                    Self.normalised(outcome.errors, folder)
                        == String(decoding: step.expected.errors, as: UTF8.self), place)
                #expect(outcome.code == step.expected.code, place)
            }
        }
    }

    @Test func `The built command has scenarios, and all can be read`() throws {
        let folder = TestedCommand.folder.appendingPathComponent("scripts")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.count == Self.scenarios.count && files.count > 5)
    }

    @Test func `A file beyond the limit of the process is an error and loses nothing`() throws {
        let outcome = try shell(
            """
            printf v | "$0" set a && ulimit -f 100
            head -c 3000000 /dev/zero | "$0" set b; echo $?; "$0" get a
            """)
        let lines = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2 && lines.last == "v")
        #expect(Int(lines.first ?? "").map { $0 > 0 && $0 < 128 } == true)
    }

    private func shell(_ script: String) throws -> TestedCommand.Outcome {
        try TestedCommand.withFolder { folder in
            try TestedCommand.run("/bin/sh", ["-c", script, TestedCommand.path], in: folder)
        }
    }

    @Test(arguments: [
        ("\"$0\" --version >/dev/full", "No space left on device"),
        ("\"$0\" --version >&-", "Bad file descriptor"),
        ("{ trap '' PIPE; sleep 0.3; \"$0\" --help; echo $? >&2; } | true", "Broken pipe"),
    ])
    func `The built command reports that standard output could not be written`(
        _ script: String, _ cause: String
    ) throws {
        let outcome = try shell(script)
        let errors = String(decoding: outcome.errors, as: UTF8.self)
        #expect(
            errors.hasPrefix("valet: error: could not write to standard output: \(cause)\n"))
        #expect(outcome.code == 1 || errors.hasSuffix("\n1\n"))
    }

    /// Output of more than a pipe has room for, in each form that a verb writes.
    @Test(arguments: ["list", "list --json", "get big", "get big --json", "--help", "doctor"])
    func `The built command ends by SIGPIPE if the reader has gone`(_ verb: String) throws {
        let outcome = try shell(
            """
            head -c 200000 /dev/zero | tr '\\0' x | "$0" set big
            mkfifo pipe
            "$0" \(verb) >pipe & exec 9<pipe; exec 9<&-; wait $!; echo "code $?"
            { sleep 0.3; "$0" \(verb); echo "code $?" >&9; } 9>&1 | true
            "$0" contains big && "$0" get big | wc -c
            """)
        let text = String(decoding: outcome.output, as: UTF8.self)
        #expect(outcome.errors.isEmpty, "\(String(decoding: outcome.errors, as: UTF8.self))")
        #expect(text.hasSuffix("code 141\n200000\n"))
        #expect(outcome.code == 0)
    }

    /// Each line changes something; a script must not do it again.
    @Test(arguments: [
        "echo v | \"$0\" set a --json", "\"$0\" generate a --force --json",
        "\"$0\" remove a --yes --json", "\"$0\" remove --all --yes --json",
        "\"$0\" remove --matching 'a*' --yes --json", "\"$0\" rename a z --json",
        "\"$0\" move a --to-id other --json", "\"$0\" migrate --to-id other --json",
        "\"$0\" undo b --json", "\"$0\" undo --matching 'c*' --json",
        "echo GEZDGNBVGY3TQOJQ | \"$0\" otp add code --json",
        "\"$0\" import --from json items.json --json", "\"$0\" import --from json items.json",
        "\"$0\" backup create file --json --passphrase-fd 3 3<passphrase",
        "\"$0\" backup restore kept --skip-existing --passphrase-fd 3 3<passphrase",
        "\"$0\" doctor --purge-damaged --yes",
    ])
    func `The built command succeeds if only the report of its effect cannot be written`(
        _ line: String
    ) throws {
        let outcome = try shell(
            """
            exec </dev/null
            for key in a b c; do echo $key | "$0" set $key; done
            echo new | "$0" set b; "$0" remove c --yes
            echo 'correct horse battery' >passphrase
            echo '{"imported":"value"}' >items.json
            "$0" backup create kept --passphrase-fd 3 3<passphrase 2>/dev/null
            \(line) >/dev/full
            """)
        let errors = String(decoding: outcome.errors, as: UTF8.self)
        let warning =
            "valet: warning: the command has taken effect, but could not write to standard "
            + "output: No space left on device\n"
        #expect(errors.contains(warning), "\(errors)")
        #expect(outcome.code == 0)
    }

    @Test(arguments: ["remove --matching 'a*' --dry-run", "doctor", "list"])
    func `The built command fails if all that it does is a report that cannot be written`(
        _ verb: String
    ) throws {
        let outcome = try shell("echo v | \"$0\" set a; \"$0\" \(verb) >/dev/full")
        #expect(outcome.code == 1)
    }

    @Test func `The built command reports that the code of a counter was used up unseen`()
        throws
    {
        let outcome = try shell(
            """
            echo GEZDGNBVGY3TQOJQ | "$0" otp add code --counter 0
            "$0" otp code >/dev/full; echo $?; "$0" otp code --json
            """)
        let (output, errors) = (
            String(decoding: outcome.output, as: UTF8.self),
            String(decoding: outcome.errors, as: UTF8.self)
        )
        #expect(errors.contains("the code of counter 0 is used up: could not write to standard"))
        #expect(output.hasPrefix("1\n") && output.contains("\"counter\":1"))
    }

    @Test func `The built command reports that a recovery key was lost because nobody read it`()
        throws
    {
        let outcome = try shell(
            "{ sleep 0.3; \"$0\" recovery create; echo $? >&2; } | true")
        let errors = String(decoding: outcome.errors, as: UTF8.self)
        #expect(errors.contains("nobody has seen the new recovery key"))
        #expect(errors.hasSuffix("\n1\n"))
    }

    // Promise: 4.15
    @Test func `The built command reads the name of a secret from a descriptor`() throws {
        let outcome = try shell(
            """
            printf 'a name\nrest' >name; printf '' >empty; printf 'a\\377' >bytes
            printf one | "$0" set --key-fd 3 3<name && "$0" get 'a name' && echo
            { echo 'a name'; printf 'two\nlines'; } | "$0" set --key-fd 0
            "$0" get --key-fd=3 --json 3<name && "$0" contains --key-fd 3 3<name
            "$0" get --key-fd 3 3<empty; echo "code $?"
            "$0" get --key-fd 3 3<bytes; echo "code $?"
            "$0" get --key-fd 7; echo "code $?"
            "$0" get k --key-fd 3 3<name; echo "code $?"
            "$0" set --key-fd 3 hunter2 3<name; echo "code $?"
            "$0" remove --all --key-fd 3 3<name; echo "code $?"
            "$0" remove --yes --key-fd 3 3<name && "$0" contains 'a name'; echo "code $?"
            """)
        #expect(
            String(decoding: outcome.output, as: UTF8.self) == """
                one
                {"name":"a name","byteCount":9,"encoding":"utf-8","value":"two\\nlines"}
                code 64
                code 64
                code 1
                code 64
                code 64
                code 64
                code 44

                """)
        let errors = String(decoding: outcome.errors, as: UTF8.self)
        for text in [
            "could not read the name from a descriptor: the answer is empty",
            "the name is not UTF-8", "file descriptor 7 was not inherited",
            "KEY and '--key-fd' exclude each other", "KEY and '--all' exclude each other",
            "a secret is never an argument",
        ] {
            #expect(errors.contains(text), "\(errors)")
        }
        #expect(!errors.contains("hunter2"))
    }

    @Test func `The built command fails if standard input is closed`() throws {
        let outcome = try shell("\"$0\" set k <&-")
        #expect(outcome.code == 1)
        #expect(
            String(decoding: outcome.errors, as: UTF8.self)
                == "valet: error: could not read the secret: Bad file descriptor\n")
    }

    @Test func `The built command refuses a secret of more than 16 MiB`() throws {
        let outcome = try shell("head -c 16777217 /dev/zero | \"$0\" set k")
        #expect(outcome.code == 64)
        #expect(
            String(decoding: outcome.errors, as: UTF8.self)
                == "valet: error: the secret is larger than 16 MiB\n")
    }

    @Test func `The built command stores a secret of 16 MiB`() throws {
        let outcome = try shell(
            """
            head -c 16777216 /dev/urandom > big && "$0" set k < big && "$0" get k | cmp - big
            """)
        #expect(outcome.code == 0)
    }

    @Test(
        arguments: [
            ("chmod 755 home", 77, "the group or others have permissions"),
            ("rm home/device/device.key", 1, "device key is missing"),
            ("head -c 8192 /dev/zero > home/keychain.db", 65, "keychain"),
        ] as [(String, Int32, String)])
    func `The built command reports problems with the keychain's files`(
        _ mishap: String, _ code: Int32, _ message: String
    ) throws {
        let outcome = try shell(
            "printf v | \"$0\" set k && rm -f home/keychain.db-* && \(mishap) && \"$0\" get k")
        let errors = String(decoding: outcome.errors, as: UTF8.self)
        #expect(outcome.code == code)
        #expect(outcome.output.isEmpty)
        #expect(errors.hasPrefix("valet: error: could not ") && errors.contains(message))
    }

    @Test func `valet status of the built command reports the items after a secret was stored`()
        throws
    {
        let outcome = try shell("printf v | \"$0\" set k && \"$0\" status --json")
        let object = try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any]
        #expect(object?["items"] as? Int == 1 && object?["level"] as? String == "file")
    }

    @Test func `The built command refuses an argument that is not UTF-8`() throws {
        let outcome = try shell("\"$0\" get \"$(printf 'a\\377')\"")
        #expect(outcome.code == 64)
        #expect(
            String(decoding: outcome.errors, as: UTF8.self)
                == "valet: error: argument 2 is not UTF-8\n")
    }

    // Promise: 4.2
    @Test func `The built command leaves no core file and cannot be traced`() throws {
        let outcome = try shell(
            """
            mkfifo pipe; "$0" set k < pipe & exec 9> pipe; sleep 0.5
            stat -c %U "/proc/$!/environ"; grep 'core file size' "/proc/$!/limits" 2>&1
            exec 9>&-; wait
            """)
        let output = String(decoding: outcome.output, as: UTF8.self)
        #expect(output.hasPrefix("root\n"))
        #expect(output.contains("Max core file size        0                    0"))
    }
}

@Suite struct `The command at a terminal` {
    private static let script = TestedCommand.folder.appendingPathComponent("terminal.py").path

    private static let cases: [String] = {
        let outcome = try? TestedCommand.withFolder { folder in
            try TestedCommand.run("/usr/bin/env", ["python3", script, "--list"], in: folder)
        }
        return String(decoding: outcome?.output ?? Data(), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }()

    // Promise: 4.6, 5.2, 5.6, 5.7
    @Test(arguments: cases)
    func `The command at a terminal passes the scenario`(_ name: String) throws {
        let outcome = try TestedCommand.withFolder { folder in
            try TestedCommand.run(
                "/usr/bin/env", ["python3", Self.script, name, TestedCommand.path], in: folder)
        }
        #expect(
            outcome.code == 0 && outcome.errors.isEmpty,
            "\(String(decoding: outcome.output + outcome.errors, as: UTF8.self))")
    }

    @Test func `The command at a terminal has scenarios`() {
        #expect(Self.cases.count > 8)
    }
}
