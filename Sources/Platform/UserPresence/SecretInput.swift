// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetSealing
package import ValetSystem

/// A buffer for secret input: guarded memory up to 4 KiB.
package struct SecretInput: ~Copyable {
    private var bytes: SecretBytes
    package private(set) var byteCount = 0

    /// Makes room for `capacity` bytes. The buffer grows when more are read.
    package init(capacity: Int) {
        bytes = SecretBytes(byteCount: capacity)
    }

    /// The first byte; `nil` for an empty input.
    package var firstByte: UInt8? { byteCount > 0 ? byte(at: 0) : nil }
    package var endsInNewline: Bool { byteCount > 0 && byte(at: byteCount - 1) == 0x0A }
    /// The number of bytes without the final line end, if any: a newline, or the carriage return
    /// and newline of a Windows file.
    package var lineByteCount: Int {
        guard endsInNewline else { return byteCount }
        return byteCount - (byteCount > 1 && byte(at: byteCount - 2) == 0x0D ? 2 : 1)
    }

    /// Waits, by default without a deadline, and appends the bytes of one read.
    ///
    /// With a deadline, no other code may be reading the descriptor.
    ///
    /// - Returns: The number of bytes; 0 at the end.
    /// - Throws: `timedOut` at the deadline;
    ///   `descriptorUnreadable` with the system's reason: `ENOMEM` if
    ///   there is no memory for more bytes.
    package mutating func read(
        from descriptor: Int32, until deadline: Deadline = .never
    ) throws(SystemError) -> Int {
        while true {
            if deadline != .never, WaitLimit(until: deadline).wait(for: descriptor) == .deadline {
                throw SystemError.asking(.timedOut, during: "read the secret")
            }
            guard byteCount < bytes.byteCount || SpareMemory.has(2, copiesOf: byteCount) else {
                throw SystemError.asking(
                    .descriptorUnreadable, during: "read the secret", systemError: ENOMEM)
            }
            let count = readOnce(from: descriptor)
            if count >= 0 { return count }
            guard FileDescriptor.mayTryAgain(after: -count) else {
                throw SystemError.asking(
                    .descriptorUnreadable, during: "read the secret",
                    systemError: Int32(-count))
            }
            _ = WaitLimit(until: deadline).wait(for: descriptor)
        }
    }

    /// Reads up to the end, or until there are more than `limit` bytes.
    ///
    /// - Throws: The codes of ``read(from:until:)``.
    package mutating func readAll(
        from descriptor: Int32, atMost limit: Int, within duration: Duration
    ) throws(SystemError) {
        let deadline = Deadline(after: duration)
        while byteCount <= limit, try read(from: descriptor, until: deadline) > 0 {}
    }

    /// Makes a value of the first bytes, in the same memory.
    package consuming func value(byteCount: Int) -> SecretValue {
        SecretValue(bytes, byteCount: byteCount)
    }

    /// A copy of the first bytes, of exactly that size.
    func prefix(_ byteCount: Int) -> SecretBytes {
        bytes.withBytes { SecretBytes(copying: $0.extracting(first: byteCount)) }
    }

    /// Appends the bytes of one read, at most `limit`.
    ///
    /// - Returns: The number of bytes, 0 at the end, or −`errno`.
    mutating func readOnce(from descriptor: Int32, atMost limit: Int = .max) -> Int {
        if byteCount == bytes.byteCount { grow() }
        let (start, room) = (byteCount, min(limit, bytes.byteCount - byteCount))
        let count = bytes.withMutableBytes { span in
            FileDescriptor.read(from: descriptor, into: &span, at: start..<start + room)
        }
        if count > 0 { byteCount += count }
        return count
    }

    mutating func append(_ byte: UInt8) {
        if byteCount == bytes.byteCount { grow() }
        let end = byteCount
        bytes.withMutableBytes { $0[end] = byte }
        byteCount += 1
    }

    func withBytes<R: ~Copyable, E>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        let count = byteCount
        return try bytes.withBytes { (span: Span<UInt8>) throws(E) -> R in
            try body(span.extracting(first: count))
        }
    }

    /// Removes the first bytes and moves the others to the front. Wipes the memory they leave.
    mutating func removeFirst(_ count: Int) {
        let end = byteCount
        bytes.withMutableBytes { span in
            for index in count..<end { span[index - count] = span[index] }
            for index in (end - count)..<end { span[index] = 0 }
        }
        byteCount -= count
    }

    func starts(with beginning: [UInt8]) -> Bool {
        bytes.withBytes { $0.extracting(first: byteCount).starts(with: beginning) }
    }

    private func byte(at index: Int) -> UInt8 {
        bytes.withBytes { $0[index] }
    }

    private mutating func grow() {
        var larger = SecretBytes(byteCount: max(64, bytes.byteCount * 2))
        bytes.withBytes { larger.write($0, at: 0) }
        bytes = larger
    }
}
