// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux
internal import ValetSystem

/// Takes the signals that would end or stop the process, for as long as a question is open.
///
/// The asking code has to restore the terminal, or to end a child, before the process goes.
/// Handlers of the process as a whole are replaced, because a signal may come to any thread. They
/// are put back by ``end()``, or when the relay is dropped. There is one relay at a time.
///
/// `SIGPIPE` is blocked for the calling thread meanwhile. A relay ends on the thread that made it.
struct SignalRelay: ~Copyable {
    /// The signals that end a process from outside.
    static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// Those that stop a job of a terminal.
    static let stopping = [SIGTSTP, SIGTTIN]

    private static let turn = FairLock()
    private static let target = Atomic<Int32>(-1)
    /// How many threads are in the handler. It must not write to a pipe that was closed: the number
    /// could be another file's by then.
    private static let handlerCount = Atomic<Int>(0)

    /// Readable once a signal has come.
    var descriptor: Int32 { pipe.reading.number }

    private let pipe: Pipe
    private let numbers: [Int32]
    private var earlier: [sigaction] = []
    private var earlierMask = sigset_t()
    private let hadPipeSignal: Bool
    private let cancellation: PromptCancellation?
    private var isActive = true

    /// Begins to take the signals `numbers`; its descriptor can be read after a cancellation, too.
    ///
    /// - Throws: `timedOut` if another question is open until the deadline; `unavailable` without
    ///   descriptors.
    init(
        _ numbers: [Int32], cancellation: PromptCancellation? = nil, until deadline: Deadline
    ) throws(UserPresenceError) {
        guard Self.turn.acquire(before: deadline) else { throw UserPresenceError(.timedOut) }
        do throws(UserPresenceError) {
            pipe = try Pipe(for: .terminal)
        } catch {
            Self.turn.release()
            throw error
        }
        // A handler must not wait, nor must the code that looks what has come.
        pipe.makeImpatient()
        self.numbers = numbers
        self.cancellation = cancellation
        unsafe sigemptyset(&earlierMask)
        hadPipeSignal = Self.isPending(SIGPIPE)
        _ = Self.handlerCount.load(ordering: .relaxed)  // made now: a handler may not
        Self.target.store(pipe.writing.number, ordering: .sequentiallyConsistent)
        install()
        let number = pipe.writing.number
        // A byte that is no signal's.
        cancellation?.listen { _ = Descriptor.write([0].span, to: number) }
    }

    deinit {
        cancellation?.stopListening()
        if isActive { restore() }
        Self.turn.release()
    }

    /// Puts everything back as it was.
    ///
    /// - Returns: The signals that came, which nobody but the relay has seen yet.
    consuming func end() -> Set<Int32> {
        restore()
        isActive = false
        var bytes = [UInt8](repeating: 0, count: 64)
        var span = bytes.mutableSpan
        let count = Descriptor.read(from: descriptor, into: &span, at: 0..<span.count)
        // Zero is no signal, but a cancellation.
        return Set(bytes.prefix(max(0, count)).map(Int32.init)).subtracting([0])
    }

    /// Sends signals that had been taken to this process again, as the system had sent them.
    ///
    /// This thread gets them at once, before the call returns, unless it blocks them: then another
    /// thread, or a reader of a `signalfd`, waits for them.
    static func pass(_ numbers: Set<Int32>) {
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

    /// Runs in a signal handler: only system calls and atomics, which exist by then.
    private static func handle(_ number: Int32) {
        handlerCount.add(1, ordering: .sequentiallyConsistent)
        let target = target.load(ordering: .sequentiallyConsistent)
        var byte = UInt8(truncatingIfNeeded: number)
        if target >= 0 {
            _ = unsafe write(target, &byte, 1)
        } else {
            // The relay ended in this moment: the previous handler gets the signal.
            raise(number)
        }
        handlerCount.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Waits, briefly, until no thread is in the handler. A child that was forked while one was
    /// does not have that thread, hence the bound.
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
            earlier.append(old)
            unsafe sigaddset(&own, number)
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &own, &earlierMask)
        var pipes = Self.set(of: SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &pipes, nil)
    }

    private func restore() {
        for (number, action) in zip(numbers, earlier) {
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
