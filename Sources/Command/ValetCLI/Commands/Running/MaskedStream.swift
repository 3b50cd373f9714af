// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSealing

/// One stream of a masked program: where its output comes from, and where it goes.
///
/// Nothing here waits: unread output stays pending, and no more is read.
struct MaskedStream {
    /// The most that one read takes.
    static let bufferByteCount = 32 << 10
    /// Without a file description of our own, a write may wait. A pipe that takes any bytes takes
    /// this many; a terminal may not, but small pieces make a long wait unlikely.
    private static let pieceByteCount = (pipe: 4096, other: 512)

    /// Where the output comes from; −1 after its end.
    private(set) var source: Int32
    /// The standard stream that it goes to.
    let number: Int32
    /// The `errno` of a failed write; 0 if none has failed.
    private(set) var failure: Int32 = 0
    /// Output that waits until the receiver takes it.
    private var pending: [UInt8] = []
    private var mask: OutputMask
    private let target: Int32
    private let pieceLimit: Int

    init(from source: Int32, to number: Int32, hiding secrets: [SecretValue]) {
        self.source = source
        self.number = number
        mask = OutputMask(hiding: secrets)
        _ = fcntl(source, F_SETFL, fcntl(source, F_GETFL) | O_NONBLOCK)
        var status = stat()
        let kind = unsafe fstat(number, &status) == 0 ? status.st_mode & S_IFMT : 0
        // A file description of our own, so that O_NONBLOCK does not apply to the caller's. One
        // that was not open for writing, as a closed stream, does not become so.
        let isWritable = fcntl(number, F_GETFL) & O_ACCMODE != O_RDONLY
        let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let own =
            isWritable && (kind == S_IFIFO || kind == S_IFCHR)
            ? unsafe open("/proc/self/fd/\(number)", flags) : -1
        target = own >= 0 ? own : number
        pieceLimit =
            own >= 0 || kind == S_IFREG
            ? .max : kind == S_IFIFO ? Self.pieceByteCount.pipe : Self.pieceByteCount.other
    }

    var isPending: Bool { !pending.isEmpty }
    /// Whether nothing more can come, and everything was written.
    var isDone: Bool { source < 0 && pending.isEmpty }

    /// What to wait for: the receiver while output is pending, else more output.
    var request: pollfd {
        isPending
            ? pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
            : pollfd(fd: source, events: Int16(POLLIN), revents: 0)
    }

    var descriptors: [Int32] { [source, target] }

    /// Reads or writes once, after the wait for ``request``. Returns how many bytes were read.
    mutating func serve(_ buffer: inout [UInt8]) -> Int {
        let count = isPending ? 0 : receive(&buffer)
        send()
        return count
    }

    /// Stops reading: a program that still writes gets SIGPIPE, or loses its terminal.
    mutating func end() {
        if source >= 0 { close(source) }
        source = -1
    }

    mutating func giveUp() {
        pending.removeAll()
        end()
    }

    private mutating func receive(_ buffer: inout [UInt8]) -> Int {
        let result = unsafe read(source, &buffer, buffer.count)
        if result < 0, errno == EINTR || errno == EAGAIN { return 0 }
        // A terminal whose other end is closed reports an error.
        let count = max(0, result)
        mask.pass(buffer.span.extracting(..<count), isEnd: count == 0, into: &pending)
        for place in 0..<count { buffer[place] = 0 }
        if count == 0 { end() }
        return count
    }

    private mutating func send() {
        while !pending.isEmpty {
            let count = unsafe pending.withUnsafeBytes {
                unsafe Glibc.write(target, $0.baseAddress, min($0.count, pieceLimit))
            }
            if count >= 0 {
                pending.removeFirst(count)
                if pieceLimit != .max { return }
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                failure = errno
                giveUp()
            }
        }
    }
}
