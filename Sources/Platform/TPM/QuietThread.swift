// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSystem

/// A thread with a standard error of its own, which leads to `/dev/null`.
///
/// tpm2-tss writes a line to standard error for every unsuccessful answer, such as a wrong
/// passcode. Only `$TSS2_LOG` turns that off, and changing the environment of a process with
/// threads may crash it. So ``TPMDevice`` makes its calls on a thread that has a descriptor table
/// of its own. If the user has set `$TSS2_LOG`, the lines stay visible.
enum QuietThread {
    private final class Task {
        private let work: () -> Void

        init(_ work: @escaping () -> Void) { self.work = work }

        func run(isQuiet: Bool) {
            if isQuiet { QuietThread.silence() }
            work()
        }
    }

    private final class Outcome<R: ~Copyable> {
        var result: R?
        var error: SystemError?
    }

    /// Runs `body` on such a thread, and waits for it.
    static func run<R: ~Copyable>(
        _ body: () throws(SystemError) -> R
    ) throws(SystemError) -> R {
        guard unsafe getenv("TSS2_LOG") == nil else { return try body() }
        let outcome = Outcome<R>()
        // The compiler writes the length of this file's path into the program. With a name without
        // a folder, the same sources make the same program in every folder.
        #sourceLocation(file:"TPMCalls.swift",line:1)
        withoutActuallyEscaping(body) { body in
            start(
                Task {
                    do throws(SystemError) {
                        outcome.result = try body()
                    } catch {
                        outcome.error = error
                    }
                })
        }
        #sourceLocation()
        if let error = outcome.error { throw error }
        guard let result = outcome.result.take() else {
            preconditionFailure("a thread that ended without an outcome")
        }
        return result
    }

    private static func start(_ task: Task) {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(task)
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Task>.fromOpaque(argument).takeRetainedValue().run(
                        isQuiet: true)
                }
                return nil
            }, argument.toOpaque())
        guard result != 0 else {
            _ = pthread_join(thread, nil)
            return
        }
        // Without a thread, a line on standard error is better than no answer.
        unsafe argument.takeRetainedValue().run(isQuiet: false)
    }

    /// Does nothing if the kernel, or a sandbox, refuses the thread a table of its own.
    private static func silence() {
        guard valet_leave_descriptors() == 0 else { return }
        let null = unsafe valet_openat(AT_FDCWD, "/dev/null", O_WRONLY, 0)
        guard null >= 0 else { return }
        dup2(null, STDERR_FILENO)
        if null != STDERR_FILENO { close(null) }
    }
}
