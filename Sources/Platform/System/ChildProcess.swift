// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A running program, with a pipe to its standard input and one from its output.
///
/// Dropping it ends the program. If `isPatient`, the program first gets 0.3 s to exit by itself.
/// Then it gets SIGTERM, 0.3 s later SIGKILL, and is reaped. All of this takes at most 2 s; only a
/// child that the kernel cannot end remains.
package struct ChildProcess: ~Copyable {
    private static let grace = Duration.milliseconds(300)
    private static let agony = Duration.seconds(1)

    /// The descriptor to read its output from.
    package let output: Int32
    /// −1 once it was closed.
    private var input: Int32
    private let identifier: pid_t
    /// A pidfd; −1 on a kernel older than 5.3.
    private let handle: Int32
    private let isPatient: Bool

    /// Starts the program at `path` with `environment` (`NAME=value`) and no descriptors but 0 to
    /// 2. No signal is blocked or ignored in it.
    ///
    /// - Parameters:
    ///   - isPatient: Whether the program gets time to exit by itself at the end.
    ///   - isDetached: Whether it gets a session of its own: what it leaves in the background then
    ///     outlives the terminal of this process.
    /// - Throws: ``SystemError``, with the system's reason.
    package init(
        path: String, arguments: [String] = [], environment: [String], isPatient: Bool = true,
        isDetached: Bool = false
    ) throws(SystemError) {
        let requests = try Pipe()
        let answers = try Pipe()
        var identifier: pid_t = 0
        let code = Spawning.start(
            [path] + arguments, environment,
            streams: (requests.reading.number, answers.writing.number), detached: isDetached,
            &identifier)
        guard code == 0 else {
            throw SystemError(errno: code, during: "start a program", path: path)
        }
        self.identifier = identifier
        self.isPatient = isPatient
        handle = valet_open_process(identifier)
        input = requests.writing.release()
        output = answers.reading.release()
    }

    deinit {
        if input >= 0 { _ = close(input) }
        if !isPatient || !reap(within: Self.grace) {
            send(SIGTERM)
            if !reap(within: Self.grace) {
                send(SIGKILL)
                _ = reap(within: Self.agony)
            }
        }
        _ = close(output)
        if handle >= 0 { _ = close(handle) }
    }

    /// Writes to its standard input. Returns 0 or `errno`.
    package func write(_ bytes: Span<UInt8>) -> Int32 {
        FileDescriptor.write(bytes, to: input)
    }

    /// Writes to its standard input until the deadline, and closes it.
    package mutating func write(all bytes: Span<UInt8>, before deadline: Deadline) {
        FileDescriptor.write(bytes, to: input, within: WaitLimit(until: deadline))
        _ = close(input)
        input = -1
    }

    /// Starts a program that outlives this process: in a session of its own, without a terminal and
    /// without output. `input` is its whole standard input, at most as much as a pipe has room for.
    ///
    /// - Throws: ``SystemError``, with the system's reason.
    package static func detach(
        path: String, arguments: [String], environment: [String], input: Span<UInt8>
    ) throws(SystemError) {
        precondition(input.count <= 4096, "more input than a pipe has room for")
        let requests = try Pipe()
        let null = FileDescriptor(owning: unsafe valet_open("/dev/null", O_WRONLY))
        var identifier: pid_t = 0
        var code = Spawning.start(
            [path] + arguments, environment, streams: (requests.reading.number, null.number),
            detached: true, &identifier)
        if code == 0 { code = FileDescriptor.write(input, to: requests.writing.number) }
        guard code == 0 else {
            throw SystemError(errno: code, during: "start a program", path: path)
        }
    }

    /// Waits for the end of the program.
    ///
    /// - Returns: Its exit status; nil if it has not ended in time, if a signal has ended it, or if
    ///   the status is lost: the kernel reaps the children of a process that ignores SIGCHLD.
    package func exitCode(before deadline: Deadline) -> Int32? {
        while true {
            var status: Int32 = 0
            let result = unsafe waitpid(identifier, &status, WNOHANG)
            if result == identifier { return status & 0x7F == 0 ? status >> 8 & 0xFF : nil }
            guard result == 0, !deadline.hasPassed else { return nil }
            pause(before: deadline)
        }
    }

    /// Waits until the program ends or `deadline` passes; without a pidfd, for 10 ms.
    private func pause(before deadline: Deadline) {
        let end = handle >= 0 ? deadline : Deadline(after: .milliseconds(10))
        _ = WaitLimit(until: end).wait(for: handle)
    }

    private func send(_ number: Int32) {
        if handle >= 0 {
            _ = valet_signal_process(handle, number)
        } else {
            _ = kill(identifier, number)
        }
    }

    /// Waits for its end. Returns true if it has ended, also if other code has reaped it.
    private func reap(within duration: Duration) -> Bool {
        let deadline = Deadline(after: duration)
        while true {
            let result = waitpid(identifier, nil, WNOHANG)
            if result == identifier || (result < 0 && errno == ECHILD) { return true }
            if deadline.hasPassed { return false }
            pause(before: deadline)
        }
    }
}
