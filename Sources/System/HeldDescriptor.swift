// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A descriptor that is held for as long as a program runs.
///
/// A program may close what is not its own: a daemon that closes everything from 3 on, or closes
/// something twice. The number may be another file's by then, so that nothing is done with it, and
/// it is not closed, unless it still leads to what was opened.
package struct HeldDescriptor: ~Copyable {
    let number: Int32
    private let identity: FileIdentity

    /// Takes over an open descriptor.
    init(holding descriptor: consuming FileDescriptor) {
        // A caller that failed to open one reads `errno` after this.
        let reported = errno
        identity = FileIdentity(descriptor.status())
        number = descriptor.release()
        errno = reported
    }

    /// Whether it still is what was opened. One system call.
    var isSound: Bool { Self.leads(number, to: identity) }

    /// Lends it for what a descriptor can do.
    func lend<R>(_ body: (borrowing FileDescriptor) -> R) -> R {
        let lent = FileDescriptor(owning: number)
        let result = body(lent)
        _ = lent.release()
        return result
    }

    /// Whether the descriptor of that number leads to that file.
    package static func leads(_ number: Int32, to identity: FileIdentity) -> Bool {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return false }
        return FileIdentity(status).isSameFile(as: identity)
    }

    deinit {
        let reported = errno
        if isSound { close(number) }
        errno = reported
    }
}

extension FileDescriptor {
    /// The number, which is the caller's to close from now on.
    consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
