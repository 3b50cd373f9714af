// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A thread whose standard error nobody hears.
///
/// tpm2-tss writes a line to standard error for every answer that is no success, a wrong passcode
/// among them. Only `$TSS2_LOG` turns that off, and changing the environment of a process with
/// threads may crash it. So the calls are made on a thread that has a table of descriptors of its
/// own. A user who has set `$TSS2_LOG` wants to read.
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
        var error: TPMError?
    }

    /// Runs `body` there, and waits for it.
    static func run<R: ~Copyable>(
        _ body: () throws(TPMError) -> R
    ) throws(TPMError) -> R {
        guard unsafe getenv("TSS2_LOG") == nil else { return try body() }
        let outcome = Outcome<R>()
        withoutActuallyEscaping(body) { body in
            start(
                Task {
                    do throws(TPMError) {
                        outcome.result = try body()
                    } catch {
                        outcome.error = error
                    }
                })
        }
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
        // No thread to be had: a line on standard error is better than no answer.
        unsafe argument.takeRetainedValue().run(isQuiet: false)
    }

    /// Does nothing where the kernel, or a sandbox, gives a thread no table of its own.
    private static func silence() {
        guard valet_leave_descriptors() == 0 else { return }
        let null = unsafe valet_openat(AT_FDCWD, "/dev/null", O_WRONLY, 0)
        guard null >= 0 else { return }
        dup2(null, STDERR_FILENO)
        if null != STDERR_FILENO { close(null) }
    }
}
