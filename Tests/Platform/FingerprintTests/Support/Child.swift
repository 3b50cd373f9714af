// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A program that a test started. Dropping it ends it.
final class Child {
    private let process = Process()

    /// Starts the program at `path`, without any variables but `environment`.
    init(_ path: String, _ arguments: [String], _ environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { end() }

    var isRunning: Bool { process.isRunning }

    func signal(_ number: Int32) {
        if process.isRunning { Glibc.kill(process.processIdentifier, number) }
    }

    /// Ends it at once. It may have inherited that SIGTERM is blocked.
    func end() {
        signal(SIGKILL)
        _ = Wait.until(seconds: 5, { !process.isRunning })
    }

    /// Waits for it to end by itself; its exit code, or `nil` if it does not.
    func exitCode(within seconds: Double = 10) -> Int32? {
        guard Wait.until(seconds: seconds, { !process.isRunning }) else { return nil }
        return process.terminationStatus
    }
}

enum Wait {
    /// Looks every 5 ms whether something has come true.
    static func until(seconds: Double, _ isTrue: () throws -> Bool) rethrows -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        while try !isTrue() {
            guard Date() < end else { return false }
            usleep(5000)
        }
        return true
    }
}
