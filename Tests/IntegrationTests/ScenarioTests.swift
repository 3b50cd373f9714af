// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// One run of a scenario: processes that share a keychain, started and judged by Python.
///
/// `scenarios/run.py` lists the functions of `scenarios/*.py` that are declared as scenarios, with
/// their titles and the user that runs them: one of those that they declare, unless
/// `VALET_TEST_USERS` is `every`.
struct Scenario: Decodable, Sendable, CustomTestStringConvertible {
    /// The user that runs a scenario; without root it is the caller.
    enum User: String, Decodable {
        case caller
        /// A user other than root, whose quota of kernel keys nobody else uses.
        case ordinary

        var option: [String] { self == .caller ? [] : ["--\(rawValue)-user"] }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// `module.function`.
    let name: String
    let title: String
    let user: User

    var testDescription: String { "\(title) [\(([name] + user.option).joined(separator: " "))]" }

    /// Every scenario; a module that cannot be loaded is an error.
    static func all() async throws -> [Scenario] {
        let (status, output) = try await python(["--list"])
        guard status == 0 else { throw Failure(description: output) }
        return try JSONDecoder().decode([Scenario].self, from: Data(output.utf8))
    }

    /// Runs the scenario; what it prints is why it failed.
    ///
    /// One that lacks a component is skipped, or fails under `REQUIRE_ALL=1`.
    /// Other tests go on while it runs: the threads that they share do not wait for it.
    func run() async throws {
        let (status, output) = try await Self.turns.perform {
            try await Self.python(user.option + [name])
        }
        if status == Self.skipped, Self.environment["REQUIRE_ALL"] != "1" {
            try Test.cancel("\(output)")
        }
        #expect(status == 0, "\(testDescription): \(output)")
    }

    /// Most scenarios wait more than they compute; more of them at once would starve each other.
    private static let turns = Turns(5)
    private static let skipped: Int32 = 77
    private static let environment = ProcessInfo.processInfo.environment

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("scenarios/run.py").path

    private static var interpreter: String {
        let system = "/usr/bin/python3"
        return FileManager.default.isExecutableFile(atPath: system) ? system : "python3"
    }

    private static var programs: [String: String] {
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return [
            "VALET_TEST_COMMAND": folder.appendingPathComponent("valet").path,
            "VALET_TEST_AGENT": folder.appendingPathComponent("ValetTestAgent").path,
        ]
    }

    /// Runs `run.py`; returns its exit code and everything that it prints.
    private static func python(_ arguments: [String]) async throws -> (Int32, String) {
        let output = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-scenario-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [interpreter, script] + arguments
        process.environment = environment.merging(programs) { given, _ in given }
        process.standardInput = FileHandle.nullDevice
        // A file: a process that a scenario leaves running cannot keep a pipe open.
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        try await process.runToExit()
        return (process.terminationStatus, try String(contentsOf: output, encoding: .utf8))
    }
}

@Suite struct `Scenarios` {
    @Test(arguments: try await Scenario.all())
    func `Processes that share a keychain keep every promise of a scenario`(_ scenario: Scenario)
        async throws
    {
        try await scenario.run()
    }
}

/// Lets a number of tasks at a time do something.
private actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    nonisolated func perform<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        await begin()
        do {
            let result = try await body()
            await end()
            return result
        } catch {
            await end()
            throw error
        }
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
    /// Starts the program, and returns when it has ended.
    fileprivate func runToExit() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        terminationHandler = { _ in end.finish() }
        try run()
        for await _ in ends {}
    }
}
