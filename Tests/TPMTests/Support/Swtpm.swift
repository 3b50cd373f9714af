// SPDX-License-Identifier: Apache-2.0

import Database
import Foundation
import TestValues
import Testing

@testable import TPM

/// A TPM of a test's own: Debian's swtpm, in a temporary folder, on a socket.
final class Swtpm {
    struct Silence: Error {}

    /// Whether tests that need it can run. With `REQUIRE_ALL=1` nothing may be missing.
    static let isThere =
        ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"
        || (TPMDevice.isBuilt && FileManager.default.isExecutableFile(atPath: "/usr/bin/swtpm"))
    /// What a test that cannot run says.
    static let isMissing: Comment =
        "needs the trait TPM (swift build --enable-all-traits) and the package swtpm"

    private let folder: TestFolder
    private var process = Process()

    /// Starts one with the state in `folder`: a new TPM if there is none.
    init(_ folder: TestFolder) throws {
        self.folder = folder
        try start()
    }

    convenience init() throws { try self.init(TestFolder()) }

    /// Where commands go.
    var socket: String { folder.path("tpm") }
    /// What the module is told.
    var device: TPMDevice { TPMDevice(.socket(path: socket)) }

    func start() throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/swtpm")
        process.arguments = [
            "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)",
            "--server", "type=unixio,path=\(socket)",
            "--ctrl", "type=unixio,path=\(socket).ctrl",
            "--flags", "not-need-init,startup-clear", "--log", "file=\(folder.path("log"))",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let deadline = Deadline(after: .seconds(20))
        while (try? RawTPM(socket)) == nil {
            guard process.isRunning, deadline.sleep(atMost: 2_000_000) else { throw Silence() }
        }
    }

    /// Ends it as a power cut would; the state stays.
    func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        unsafe _ = unlink(socket)
    }

    /// Orderly off, and on again.
    func restart() throws {
        _ = try RawTPM(socket).command(0x145, [0, 0])
        kill()
        try start()
    }

    var identifier: Int32 { process.processIdentifier }
    func stop() { Glibc.kill(process.processIdentifier, SIGSTOP) }
    func resume() { Glibc.kill(process.processIdentifier, SIGCONT) }

    deinit { kill() }
}
