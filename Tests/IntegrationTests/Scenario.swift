// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Who runs a scenario.
enum User: CaseIterable {
    case caller
    /// Another one than root, where root runs the tests; else the caller.
    case ordinary
    /// One whose quota of keys nobody else uses, where root runs the tests; else the caller.
    case lonely

    static let allCases = [User.caller, .ordinary]
}

/// A scenario of `scenarios/`: processes that share a keychain, started and judged by Python.
enum Scenario {
    private static let skipped: Int32 = 77
    private static let environment = ProcessInfo.processInfo.environment

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("scenarios/run.py").path

    private static let builtFolder = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    private static var interpreter: String {
        let system = "/usr/bin/python3"
        return FileManager.default.isExecutableFile(atPath: system) ? system : "python3"
    }

    /// Runs the scenario `name`, `module.function`; what it prints is why it failed.
    ///
    /// One that lacks a component is skipped, or fails under `REQUIRE_ALL=1`.
    static func run(_ name: String, as user: User = .caller) throws {
        let output = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-scenario-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [interpreter, script, name]
        if user == .ordinary { process.arguments?.append("--ordinary-user") }
        if user == .lonely { process.arguments?.append("--lonely-user") }
        process.environment = environment.merging(programs) { given, _ in given }
        process.standardInput = FileHandle.nullDevice
        // A file: whatever a scenario leaves running cannot keep a pipe open.
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        if process.terminationStatus == skipped, environment["REQUIRE_ALL"] != "1" {
            try Test.cancel("\(text)")
        }
        #expect(process.terminationStatus == 0, "\(name): \(text)")
    }

    private static var programs: [String: String] {
        [
            "VALET_TEST_COMMAND": builtFolder.appendingPathComponent("valet").path,
            "VALET_TEST_AGENT": builtFolder.appendingPathComponent("ValetTestAgent").path,
        ]
    }
}
