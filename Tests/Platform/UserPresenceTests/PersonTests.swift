// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The cases of `person.py`: a program that asks, a terminal, and real pinentry programs.
@Suite struct `A person at a terminal` {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("person.py").path

    private static let agent = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("ValetTestAgent").path

    private static let skipped: Int32 = 77

    private static let cases = (try? run("--list"))?.text.split(separator: "\n").map(String.init)

    // Promise: 5.1, 5.2, 5.3, 18.3, 18.9
    @Test(arguments: cases ?? [])
    func `A person at a terminal is asked and answers`(_ name: String) throws {
        let (text, code) = try Self.run(name, Self.agent)
        if code == Self.skipped, ProcessInfo.processInfo.environment["REQUIRE_ALL"] != "1" {
            try Test.cancel("\(text)")
        }
        #expect(code == 0, "\(text)")
    }

    @Test func `A person at a terminal is asked in every way`() {
        #expect((Self.cases ?? []).count > 20)
    }

    private static func run(_ arguments: String...) throws -> (text: String, code: Int32) {
        let output = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-person-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script] + arguments
        process.standardInput = FileHandle.nullDevice
        // A file: what a case leaves running cannot keep a pipe open.
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        return (try String(contentsOf: output, encoding: .utf8), process.terminationStatus)
    }
}
