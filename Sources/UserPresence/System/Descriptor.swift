// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSystem

/// An open descriptor. Dropping it closes it.
struct Descriptor: ~Copyable {
    /// What a wait ended with.
    enum Arrival {
        /// There is something to read, or room to write, or the other end is gone.
        case ready
        /// A signal was relayed.
        case signal
        /// The deadline has passed.
        case deadline
    }

    /// What a pipe or a terminal with any room has room for.
    private static let pieceByteCount = 256

    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        // A caller that is about to report a failure reads `errno` after this.
        let reported = errno
        if number >= 0 { close(number) }
        errno = reported
    }

    /// Hands over the number to the caller, which closes it.
    consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Whether a call that failed with `code` is to be made again, after a wait.
    static func mayTryAgain(after code: Int) -> Bool {
        code == EINTR || code == EAGAIN
    }

    /// Waits for `events` on `descriptor`, by default for input, or, before that, for input on
    /// `signals`. Of −1 nothing comes.
    static func wait(
        for descriptor: Int32, _ events: Int32 = POLLIN, signals: Int32 = -1,
        until deadline: Deadline
    ) -> Arrival {
        var requests = [
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
        ]
        while true {
            let count = unsafe poll(&requests, 2, milliseconds(until: deadline))
            if count < 0, errno == EINTR { continue }
            // Failing for want of memory: reading waits, or says what is wrong.
            if count < 0 { return .ready }
            if requests[0].revents != 0 { return .signal }
            if requests[1].revents != 0 { return .ready }
            if deadline.hasPassed { return .deadline }
        }
    }

    /// Reads once, into a part of `span`. Returns how many bytes there were, 0 at the end, or
    /// −`errno`.
    static func read(
        from descriptor: Int32, into span: inout MutableSpan<UInt8>, at range: Range<Int>
    ) -> Int {
        let count = unsafe span.withUnsafeMutableBytes { memory in
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[range])
            return unsafe Glibc.read(descriptor, part.baseAddress, part.count)
        }
        return count < 0 ? -Int(errno) : count
    }

    /// Writes all of `bytes`. Returns 0 or `errno`.
    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Writes `bytes` as there is room for them; what there is none for by the deadline, or when
    /// something comes on `signals`, is left out.
    ///
    /// Only a descriptor that does not block makes that certain. For another, pieces are small.
    static func write(
        _ bytes: Span<UInt8>, to descriptor: Int32, signals: Int32 = -1, until deadline: Deadline
    ) {
        var rest = bytes
        while !rest.isEmpty,
            case .ready = wait(for: descriptor, POLLOUT, signals: signals, until: deadline)
        {
            let piece = rest.extracting(first: pieceByteCount)
            let count = unsafe piece.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno == EAGAIN {
                // There is room, but too little for one character.
                let pause = min(deadline.remaining, .milliseconds(10))
                _ = wait(for: -1, signals: signals, until: Deadline(after: pause))
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Whether `number` came with the program: what it opens itself, it closes on `exec`.
    static func isInherited(_ number: Int32) -> Bool {
        let flags = fcntl(number, F_GETFD)
        return flags != -1 && flags & FD_CLOEXEC == 0
    }

    /// Whether `number` is a terminal.
    static func isTerminal(_ number: Int32) -> Bool {
        isatty(number) == 1
    }

    /// How long `poll` may wait, rounded up, so that it does not come back too early.
    static func milliseconds(until deadline: Deadline) -> Int32 {
        let (seconds, attoseconds) = deadline.remaining.components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
