// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeys

/// The user of the other processes.
enum User: CaseIterable {
    case caller
    /// Another user, where root runs the tests; else the caller.
    case ordinary
    /// Another one again.
    case stranger
    /// A user all of whose keychains a test may lock, where root runs the tests.
    case hermit

    /// Nobody else uses their quotas of kernel keys, not even an earlier run of the tests.
    private static let numbers = (0..<3).map { uid_t.random(in: 100_000..<300_000) * 3 + $0 }

    fileprivate var number: uid_t? {
        switch self {
        case .caller: nil
        case .ordinary: Self.numbers[0]
        case .stranger: Self.numbers[1]
        case .hermit: Self.numbers[2]
        }
    }
}

/// What the tests of kernel keys need. With `REQUIRE_ALL=1` nothing may be missing.
enum Requirement {
    private static let isStrict = ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"
    static let keyrings = isStrict || LockStateProvider.kernelRefusal() == nil
    static let root = isStrict || geteuid() == 0
}

/// A process that does what it is told, a line at a time; it ends with its owner.
final class OtherProcess {
    struct Silence: Error {}

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// A folder in which every user can make their own.
    static let base: String = URL(fileURLWithPath: program).deletingLastPathComponent().path

    /// The program, where every user can run it.
    private static let program: String = {
        let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("ValetTestAgent")
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-lock-state-\(UUID().uuidString)")
        let copy = folder.appendingPathComponent("agent")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o1777])
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o1777], ofItemAtPath: folder.path)
            try FileManager.default.copyItem(at: built, to: copy)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: copy.path)
        } catch {
            return "\(error)"
        }
        // Gone with the tests; a process that runs it keeps it open.
        let path = folder.path
        paths.withLock { $0 = path }
        atexit { OtherProcess.removeProgram() }
        return copy.path
    }()

    private static let paths = Mutex<String?>(nil)

    private static func removeProgram() {
        guard let path = paths.withLock({ $0 }) else { return }
        try? FileManager.default.removeItem(atPath: path)
    }

    convenience init(_ user: User = .caller) throws {
        try self.init(as: user.number)
    }

    /// - Parameter number: The user, where root runs the tests; nil for the caller.
    init(as number: uid_t?) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [Self.program, "lock-state"]
        if geteuid() == 0, let number {
            process.arguments = [
                "setpriv", "--reuid=\(number)", "--regid=\(number)", "--clear-groups", Self.program,
                "lock-state",
            ]
        }
        process.environment = [
            "PATH": "/usr/sbin:/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
            "VALET_TEST_FOLDER": Self.base,
        ].merging(ProcessInfo.processInfo.environment) { ours, _ in ours }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// What the process answers.
    func callAsFunction(_ line: String) throws -> String {
        try tell(line)
        return try answer()
    }

    /// Has the process begin something.
    func tell(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that the process writes.
    func answer() throws -> String {
        while !unread.contains(10) {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw Silence() }
            unread += more
        }
        let line = unread.prefix { $0 != 10 }
        unread = Data(unread.dropFirst(line.count + 1))
        return String(decoding: line, as: UTF8.self)
    }

    /// Kills the process.
    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    deinit {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
