// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetSystem
package import ValetTPM
package import ValetTestValues

/// A TPM of a test's own: Debian's swtpm, in a temporary folder, on a socket.
package final class Swtpm {
    private struct Silence: Error {}

    /// Whether tests that need it can run. With `REQUIRE_ALL=1` nothing may be missing.
    package static let isThere =
        ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"
        || (TPMDevice.isBuilt && FileManager.default.isExecutableFile(atPath: "/usr/bin/swtpm"))
    /// What a test that cannot run says.
    package static let missing =
        "needs the trait TPM (swift build --enable-all-traits) and the package swtpm"

    private let folder: TestFolder
    private var process = Process()

    /// Starts one with the state in `folder`: a new TPM if there is none.
    package init(_ folder: TestFolder) throws {
        self.folder = folder
        try start()
    }

    /// Starts one in a folder of its own.
    package convenience init() throws { try self.init(TestFolder()) }

    /// Where commands go.
    package var socket: String { folder.path("tpm") }
    /// What the module is told.
    package var device: TPMDevice { TPMDevice(.socket(path: socket)) }

    /// Starts it again; it has its state.
    package func start() throws {
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
    package func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        unsafe _ = unlink(socket)
    }

    /// Orderly off, and on again.
    package func restart() throws {
        _ = try RawTPM(socket).command(0x145, [0, 0])
        kill()
        try start()
    }

    /// The number of its process.
    package var identifier: Int32 { process.processIdentifier }
    /// Has it stand still, and returns when it does.
    package func stop() {
        var state = unsafe siginfo_t()
        Glibc.kill(identifier, SIGSTOP)
        unsafe _ = waitid(P_PID, id_t(identifier), &state, WSTOPPED | WEXITED | WNOWAIT)
    }
    /// Has it go on.
    package func resume() { Glibc.kill(identifier, SIGCONT) }

    deinit { kill() }
}
