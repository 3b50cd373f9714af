// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Threads for work that blocks for long. Watchers of keychains and prompts run on them, because
/// the cooperative thread pool of Swift's tasks must never block.
package enum BackgroundThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a new thread, which ends when `body` returns. Does not wait for it.
    ///
    /// - Throws: ``SystemError`` if the system has no thread left for this process.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Work(body))
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, argument.toOpaque())
        guard code == 0 else {
            unsafe argument.release()
            throw SystemError(errno: code, during: "start a thread", path: nil)
        }
        pthread_detach(thread)
    }
}

/// One value for each thread, which ends with the thread.
package struct ThreadLocal<Value>: Sendable {
    private final class Box {
        var value: Value?

        init(_ value: Value?) {
            self.value = value
        }
    }

    /// nil if the process has no key for thread-specific data left.
    private let key: pthread_key_t?

    /// Makes a place in which every thread finds nil. It lives as long as the process.
    package init() {
        var key = pthread_key_t()
        let code = unsafe pthread_key_create(&key) { box in
            if let box = unsafe box { unsafe Unmanaged<AnyObject>.fromOpaque(box).release() }
        }
        self.key = code == 0 ? key : nil
    }

    /// The value of the thread that asks.
    package var value: Value? {
        get { box?.value }
        nonmutating set {
            if let box { return box.value = newValue }
            guard let key else { return }
            let box = unsafe Unmanaged.passRetained(Box(newValue))
            if unsafe pthread_setspecific(key, box.toOpaque()) != 0 { unsafe box.release() }
        }
    }

    private var box: Box? {
        guard let key, let address = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<Box>.fromOpaque(address).takeUnretainedValue()
    }
}
