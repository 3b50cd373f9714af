// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A Python program beside the test. It says what it has done line by line, waits for a line of
/// input where it calls `input()`, and is killed when dropped.
package final class OtherProcess {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private var unread = Data()

    /// Starts it.
    package init(_ program: String, _ arguments: String...) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-u", "-c", program] + arguments
        process.standardOutput = output
        process.standardInput = input
        try process.run()
    }

    /// The number of the process.
    package var identifier: pid_t { process.processIdentifier }

    /// The next line that it prints; `nil` if it has ended.
    package func line() -> String? {
        while !unread.contains(10) {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            unread += more
        }
        let line = unread.prefix { $0 != 10 }
        unread = Data(unread.dropFirst(line.count + 1))
        return String(decoding: line, as: UTF8.self)
    }

    /// Answers its `input()`.
    package func goOn() {
        try? input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    }

    /// Sends it a signal.
    package func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    deinit {
        if process.isRunning {
            signal(SIGKILL)
            signal(SIGCONT)
        }
        process.waitUntilExit()
    }

    /// Holds the lock file until told to go on.
    package static func holdingLock(_ path: String) throws -> OtherProcess {
        let holder = try OtherProcess(
            """
            import fcntl, os, struct, sys
            f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.fcntl(f, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            print("held")
            input()
            """, path)
        _ = holder.line()
        return holder
    }

    /// Keeps a transaction open until told to go on; `begin` says which.
    package static func inTransaction(_ path: String, _ begin: String) throws -> OtherProcess {
        let holder = try OtherProcess(
            """
            import sqlite3, sys
            d = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
            d.execute(sys.argv[2])
            d.execute("SELECT count(*) FROM t").fetchall()
            print("begun")
            input()
            """, path, begin)
        _ = holder.line()
        return holder
    }

    /// What another process is told when it tries to begin writing: "busy" or "free".
    package static func triesToWrite(_ path: String) throws -> String? {
        try OtherProcess(
            """
            import sqlite3, sys
            d = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
            try:
                d.execute("BEGIN IMMEDIATE"); print("free")
            except sqlite3.OperationalError as e:
                print("busy" if "locked" in str(e) else e)
            """, path
        ).line()
    }
}
