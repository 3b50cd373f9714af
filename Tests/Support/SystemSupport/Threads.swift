// SPDX-License-Identifier: Apache-2.0

package import Foundation
import Synchronization

@_silgen_name("unshare") private func unshare(_ flags: Int32) -> Int32

/// Something that several threads put together.
package final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    /// Begins with `value`.
    package init(_ value: Value) { self.value = Mutex(value) }

    /// Changes it, and returns what `body` returns.
    package func change<R: Sendable>(_ body: (inout Value) throws -> R) rethrows -> R {
        try value.withLock { value in
            var copy = value
            defer { value = copy }
            return try body(&copy)
        }
    }
}

/// Runs `body` on `count` threads at once, each with its number, and waits for all.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let start = DispatchSemaphore(value: 0)
    let end = DispatchSemaphore(value: 0)
    for number in 0..<count {
        Thread.detachNewThread {
            start.wait()
            body(number)
            end.signal()
        }
    }
    for _ in 0..<count { start.signal() }
    for _ in 0..<count { end.wait() }
}

/// Runs `body` on a thread with a umask of its own: that of the process is every test's.
package func withUmask(_ mask: mode_t, _ body: @escaping @Sendable () throws -> Void) throws {
    let failure = Shared<(any Error)?>(nil)
    onThreads(1) { _ in
        let cloneFileSystemAttributes: Int32 = 0x200
        guard unshare(cloneFileSystemAttributes) == 0 else {
            failure.change { $0 = POSIXError(.EPERM) }
            return
        }
        umask(mask)
        do { try body() } catch { failure.change { $0 = error } }
    }
    if let error = failure.change({ $0 }) { throw error }
}

/// How long `body` takes, and the error that it throws.
///
/// The shortest of up to five times that take longer than `limit`: where many tests share few
/// processors, a thread may have to wait for its turn.
package func timed(within limit: Duration = .zero, _ body: () throws -> Void) -> (
    Duration, (any Error)?
) {
    let clock = ContinuousClock()
    var shortest: (Duration, (any Error)?) = (.seconds(1_000), nil)
    for _ in 0..<5 where shortest.0 > limit {
        let start = clock.now
        var failure: (any Error)?
        do { try body() } catch { failure = error }
        if clock.now - start < shortest.0 { shortest = (clock.now - start, failure) }
        if limit == .zero { break }
    }
    return shortest
}
