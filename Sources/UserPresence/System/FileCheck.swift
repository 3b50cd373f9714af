// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What ``PinentrySearch`` wants to know of the disk.
enum FileCheck {
    /// Larger than any configuration that a person wrote.
    private static let maximumByteCount = 64 << 10

    /// Whether a file that this process may run is at `path`.
    static func isProgram(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        return unsafe access(path, X_OK) == 0
    }

    /// The text of a file of at most 64 KiB; `nil` if there is none. Does not wait for a pipe.
    static func contents(_ path: String) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: maximumByteCount + 1)
        var span = bytes.mutableSpan
        let count = Descriptor.read(from: file.number, into: &span, at: 0..<span.count)
        guard (0...maximumByteCount).contains(count) else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
