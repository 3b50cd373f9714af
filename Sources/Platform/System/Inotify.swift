// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Opens descriptors of inotify(7), and reads their events. ``FolderWatch`` and ``FolderEvents``
/// decide which of these matter.
enum Inotify {
    /// A change in a watched folder.
    struct Event {
        let watch: Int32
        private let mask: UInt32
        /// Empty if the event is about the folder itself.
        let name: String

        fileprivate init(watch: Int32, mask: UInt32, name: String) {
            (self.watch, self.mask, self.name) = (watch, mask, name)
        }

        /// Whether it is one of these kinds: constants of inotify, joined by `|`.
        func isAny(of kinds: Int32) -> Bool { mask & UInt32(bitPattern: kinds) != 0 }
    }

    private static let headerByteCount = 16
    /// Room for many events; one takes at most 16 bytes and a name of 256.
    private static let bufferByteCount = 16 << 10

    /// A new descriptor, which never blocks. It is negative, and `errno` says why, if the user has
    /// no inotify instance left.
    static func open() -> HeldDescriptor {
        HeldDescriptor(
            holding: FileDescriptor(
                owning: valet_above_streams(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))))
    }

    /// - Returns: nil if it is no descriptor of inotify any more: other code has closed the number,
    ///   which may belong to another file that a program waits for.
    static func takeEvents(from descriptor: Int32) -> [Event]? {
        var events: [Event] = []
        var buffer = [UInt8](repeating: 0, count: bufferByteCount)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count > 0 else {
                return count < 0 && (errno == EAGAIN || errno == EINTR) ? events : nil
            }
            unsafe buffer.withUnsafeBytes { bytes in
                unsafe append(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: &events)
            }
        }
    }

    /// `struct inotify_event`: watch, mask, cookie and length of the name, 4 bytes each; then the
    /// name, padded with zeros.
    private static func append(_ bytes: UnsafeRawBufferPointer, to events: inout [Event]) {
        var offset = 0
        while offset + headerByteCount <= bytes.count {
            let watch = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = unsafe bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = unsafe Int(
                bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            let start = offset + headerByteCount
            offset = start + length
            guard offset <= bytes.count else { return }
            let name = unsafe String(
                decoding: bytes[start..<offset].prefix { $0 != 0 }, as: UTF8.self)
            events.append(Event(watch: watch, mask: mask, name: name))
        }
    }
}
