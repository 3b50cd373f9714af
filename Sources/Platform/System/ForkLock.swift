// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A lock that no other thread holds while the process forks, so the data that it protects is
/// consistent in a child of `fork`. The tables of handles of the C interface use it, and the list
/// of descriptors that a child closes.
///
/// All users share it, so hold it for a few instructions only, and release no object under it.
// Sendable because `mutex` is held wherever the list is touched.
package final class ForkLock: @unchecked Sendable {
    private static let shared = ForkLock()

    private let mutex = ThreadMutex()
    private var closedInChildren: [Int32: FileIdentity] = [:]

    private init() {
        // POSIX, pthread_atfork: the forking thread takes the lock, and parent and child each
        // release it. A raw clone(2) runs no handlers.
        pthread_atfork(
            { ForkLock.shared.mutex.lock() }, { ForkLock.shared.mutex.unlock() },
            { ForkLock.shared.beginChild() })
    }

    /// Closes what a child must not keep. Other threads may have held the lock of the allocator, so
    /// it allocates and frees nothing.
    private func beginChild() {
        for (number, identity) in closedInChildren
        where HeldDescriptor.leads(number, to: identity) { close(number) }
        mutex.unlock()
    }

    /// Lets children of `fork` close a descriptor as soon as they begin.
    static func closeInChildren(_ number: Int32, _ identity: FileIdentity) {
        withLock { shared.closedInChildren[number] = identity }
    }

    /// Undoes ``closeInChildren(_:_:)``, when this process closes the descriptor.
    static func forget(_ number: Int32) {
        withLock { _ = shared.closedInChildren.removeValue(forKey: number) }
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
