// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The executable that was built beside these tests.
struct TestedCommand {
    /// What a run left behind.
    struct Outcome: Equatable {
        var output = Data()
        var errors = Data()
        var code: Int32 = 0
    }

    /// `VALET_TEST_COMMAND`, else `valet` beside the tests.
    static let path =
        ProcessInfo.processInfo.environment["VALET_TEST_COMMAND"]
        ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("valet").path

    /// The folder of this target.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Runs `body` in a temporary folder that is gone afterwards.
    static func withFolder<R>(_ body: (URL) throws -> R) throws -> R {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-cli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    /// Runs a program whose keychain and home are in `folder`. Streams are files: no pipe fills.
    static func run(
        _ program: String, _ arguments: [String], input: Data = Data(), in folder: URL
    ) throws -> Outcome {
        let (stdin, stdout, stderr) = (
            folder.appendingPathComponent("stdin"), folder.appendingPathComponent("stdout"),
            folder.appendingPathComponent("stderr")
        )
        try input.write(to: stdin)
        try Data().write(to: stdout)
        try Data().write(to: stderr)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "HOME": folder.path, "VALET_HOME": folder.appendingPathComponent("home").path,
            "SWIFT_BACKTRACE": "enable=no",
        ]
        process.standardInput = try FileHandle(forReadingFrom: stdin)
        process.standardOutput = try FileHandle(forWritingTo: stdout)
        process.standardError = try FileHandle(forWritingTo: stderr)
        try process.run()
        process.waitUntilExit()
        return Outcome(
            output: try Data(contentsOf: stdout), errors: try Data(contentsOf: stderr),
            code: process.terminationStatus)
    }
}
