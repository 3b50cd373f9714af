// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A lock that no other thread holds while the process forks, so the data that it protects is
/// consistent in a child of `fork`. The tables of handles of the C interface use it, and the list
/// of descriptors that a child closes.
///
/// All users share it, so hold it for a few instructions only, and release no object under it.
// Sendable because `mutex` is held wherever the list is touched.
@safe package final class ForkLock: @unchecked Sendable {
    private static let shared = ForkLock()

    private let mutex = ThreadMutex()
    /// What children close: the first files that were added, as many as there is room for.
    private let files: UnsafeMutablePointer<valet_held_files>

    private init() {
        unsafe files = UnsafeMutablePointer<valet_held_files>.allocate(capacity: 1)
        unsafe files.initialize(to: valet_held_files())
        // POSIX, pthread_atfork: the forking thread takes the lock, and parent and child each
        // release it. A raw clone(2) runs no handlers.
        pthread_atfork(
            { ForkLock.shared.mutex.lock() }, { ForkLock.shared.mutex.unlock() },
            {
                // No more of Swift than this: a thread that is missing in the child may have held
                // a lock of its runtime.
                unsafe valet_close_held_files(ForkLock.shared.files)
                ForkLock.shared.mutex.unlock()
            })
    }

    /// Lets children of `fork` close a descriptor as soon as they begin.
    static func closeInChildren(_ number: Int32, _ identity: FileIdentity) {
        withLock {
            unsafe valet_add_held_file(shared.files, number, identity.device, identity.inode)
        }
    }

    /// Undoes ``closeInChildren(_:_:)``, when this process closes the descriptor.
    static func forget(_ number: Int32) {
        withLock { unsafe valet_remove_held_file(shared.files, number) }
    }

    /// Runs `body` while no other thread runs one.
    package static func withLock<R>(_ body: () -> R) -> R {
        shared.mutex.lock()
        defer { shared.mutex.unlock() }
        return body()
    }

    /// Registers the fork handlers, unless that is done. Call it before the first handle is made.
    package static func start() { _ = shared }
}
