// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The user that runs a scenario.
enum User: CaseIterable {
    case caller
    /// Another one than root, where root runs the tests; else the caller.
    case ordinary
    /// One whose quota and keys nobody else uses; takes root.
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
    /// Other tests go on while it runs: the threads that they share do not wait for it.
    static func run(_ name: String, as user: User = .caller) async throws {
        try await turns.perform { try await runNow(name, as: user) }
    }

    /// Most scenarios wait more than they compute; more of them at once would starve each other.
    private static let turns = Turns(4)

    private static func runNow(_ name: String, as user: User) async throws {
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
        try await process.runToExit()
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

/// Lets so many tasks at a time do something.
private actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    nonisolated func perform(_ body: @Sendable () async throws -> Void) async throws {
        await begin()
        do {
            try await body()
        } catch {
            await end()
            throw error
        }
        await end()
    }

    private func begin() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func end() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}

extension Process {
    /// Starts the program, and comes back when it has ended.
    fileprivate func runToExit() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        terminationHandler = { _ in end.finish() }
        try run()
        for await _ in ends {}
    }
}
