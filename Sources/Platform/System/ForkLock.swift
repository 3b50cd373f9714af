// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A lock that no other thread holds while the process forks, so the data that it protects is
/// consistent in a child of `fork`. The tables of handles of the C interface use it.
///
/// All users share it, so hold it for a few instructions only, and release no object under it.
package final class ForkLock: Sendable {
    private static let shared = ForkLock()

    private let mutex = ThreadMutex()

    private init() {
        // POSIX, pthread_atfork: the forking thread takes the lock, and parent and child each
        // release it. A raw clone(2) runs no handlers.
        pthread_atfork(
            { ForkLock.shared.mutex.lock() }, { ForkLock.shared.mutex.unlock() },
            { ForkLock.shared.mutex.unlock() })
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
