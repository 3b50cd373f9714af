// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux

/// Takes the signals that would end or stop the process while a question is open: before the
/// process ends, the asking code has to restore the terminal or to end a child.
///
/// A relay replaces the handlers of the whole process, because a signal may arrive on any thread.
/// ``end()`` restores them, and so does dropping the relay. There is one relay at a time.
///
/// While a relay exists, `SIGPIPE` is blocked for the thread that made it. That thread must also
/// end it.
package struct SignalRelay: ~Copyable {
    /// The signals that end a process from outside. Those of ``ofPrograms`` are among them: a
    /// caller may have set an alarm before it ran this program.
    package static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT] + ofPrograms
    /// Signals that many programs use for themselves. A relay takes them only where nobody handles
    /// them, so that they would end the process.
    private static let ofPrograms = [SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGUSR1, SIGUSR2]
    /// Those that stop a job of a terminal.
    package static let stopping = [SIGTSTP, SIGTTIN]

    private static let turn = FairLock()
    private static let target = Atomic<Int32>(-1)
    /// How many threads are in the handler. The handler must not write to a closed pipe: the
    /// descriptor's number may belong to another file.
    private static let handlerCount = Atomic<Int>(0)

    /// Readable once a signal has arrived.
    package var descriptor: Int32 { pipe.reading.number }

    private let pipe: Pipe
    private let numbers: [Int32]
    /// The handlers that were there before.
    private var earlier: [(number: Int32, action: sigaction)] = []
    private var earlierMask = sigset_t()
    private let hadPipeSignal: Bool
    private var isActive = true

    /// Begins to take the signals `numbers`.
    ///
    /// - Throws: ``SystemError``: `busy` if another relay is there until the deadline; `cannotOpen`
    ///   if the process has no descriptor left.
    package init(_ numbers: [Int32], until deadline: Deadline) throws(SystemError) {
        guard Self.turn.acquire(before: deadline) else {
            throw SystemError(.busy, during: "take signals")
        }
        do {
            pipe = try Pipe()
        } catch {
            Self.turn.release()
            throw error
        }
        // Neither the handler nor the code that reads the signals may block.
        pipe.makeImpatient()
        self.numbers = numbers
        unsafe sigemptyset(&earlierMask)
        hadPipeSignal = Self.isPending(SIGPIPE)
        _ = Self.handlerCount.load(ordering: .relaxed)  // made now: a handler must not
        Self.target.store(pipe.writing.number, ordering: .sequentiallyConsistent)
        install()
    }

    deinit {
        if isActive { restore() }
        Self.turn.release()
    }

    /// Restores the handlers and the signal mask.
    ///
    /// - Returns: The signals that arrived. Only the relay has seen them.
    package consuming func end() -> Set<Int32> {
        restore()
        isActive = false
        var bytes = [UInt8](repeating: 0, count: 64)
        var span = bytes.mutableSpan
        let count = FileDescriptor.read(from: descriptor, into: &span, at: 0..<span.count)
        return Set(bytes.prefix(max(0, count)).map(Int32.init))
    }

    /// Sends this process again the signals that a relay took.
    ///
    /// This thread handles them before the call returns, unless it blocks them: then another thread
    /// or a reader of a `signalfd` gets them.
    package static func pass(_ numbers: Set<Int32>) {
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe pthread_sigmask(SIG_BLOCK, nil, &blocked)
        for number in numbers.sorted() {
            if unsafe sigismember(&blocked, number) == 1 {
                kill(getpid(), number)
            } else {
                raise(number)
            }
        }
    }

    /// Runs in a signal handler, so it uses only system calls and atomics that exist by then.
    private static func handle(_ number: Int32) {
        handlerCount.add(1, ordering: .sequentiallyConsistent)
        let target = target.load(ordering: .sequentiallyConsistent)
        var byte = UInt8(truncatingIfNeeded: number)
        if target >= 0 {
            _ = unsafe write(target, &byte, 1)
        } else {
            // The relay has just ended: the previous handler gets the signal.
            raise(number)
        }
        handlerCount.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Waits until no thread is in the handler. The wait is bounded: in a child that was forked
    /// while a thread was in the handler, the count stays above 0, because that thread is missing
    /// there.
    private static func waitForHandlers() {
        for _ in 0..<1000 where handlerCount.load(ordering: .sequentiallyConsistent) > 0 {
            sched_yield()
        }
    }

    private mutating func install() {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { number in
            let reported = errno
            SignalRelay.handle(number)
            errno = reported
        }
        action.sa_flags = SA_RESTART
        var own = sigset_t()
        unsafe sigemptyset(&own)
        for number in numbers {
            var old = sigaction()
            unsafe sigaction(number, &action, &old)
            if Self.ofPrograms.contains(number), unsafe valet_is_default(&old) == 0 {
                unsafe sigaction(number, &old, nil)
                continue
            }
            earlier.append((number, old))
            unsafe sigaddset(&own, number)
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &own, &earlierMask)
        var pipes = Self.set(of: SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &pipes, nil)
    }

    private func restore() {
        for (number, action) in earlier {
            var action = action
            unsafe sigaction(number, &action, nil)
        }
        Self.waitForHandlers()
        Self.target.store(-1, ordering: .sequentiallyConsistent)
        Self.waitForHandlers()
        if !hadPipeSignal, Self.isPending(SIGPIPE) {
            var pipes = Self.set(of: SIGPIPE)
            var atOnce = timespec()
            unsafe sigtimedwait(&pipes, nil, &atOnce)
        }
        var mask = earlierMask
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    private static func isPending(_ number: Int32) -> Bool {
        var pending = sigset_t()
        unsafe sigemptyset(&pending)
        unsafe sigpending(&pending)
        return unsafe sigismember(&pending, number) == 1
    }

    private static func set(of number: Int32) -> sigset_t {
        var result = sigset_t()
        unsafe sigemptyset(&result)
        unsafe sigaddset(&result, number)
        return result
    }
}
