// SPDX-License-Identifier: Apache-2.0

/// What ends an unlock besides a lock: each limit may be there or not, and the earlier one counts.
package struct UnlockLimits: Hashable, Sendable {
    /// Nothing but a lock.
    package static let none = UnlockLimits()

    /// When it ends however much the keychain is used; nil for never.
    package let end: BootTime?
    /// After how many milliseconds without use it ends, 1 at least; nil for never.
    let idleMilliseconds: UInt64?

    /// - Parameter idle: After how long without use it ends; taken as a millisecond if it is less.
    package init(end: BootTime? = nil, idle: Duration? = nil) {
        self.init(
            end: end,
            idleMilliseconds: idle.map { idle in
                max(1, BootTime(milliseconds: 0).advanced(by: idle).milliseconds)
            })
    }

    init(end: BootTime?, idleMilliseconds: UInt64?) {
        // What is 0 in a payload is none there.
        self.end = end.map { max($0, BootTime(milliseconds: 1)) }
        self.idleMilliseconds = idleMilliseconds
    }

    /// After how long without use it ends; nil for never.
    package var idle: Duration? { idleMilliseconds.map { .milliseconds($0) } }

    /// How long it is until the end; nil for no end.
    package var remaining: Duration? { end?.remaining }

    /// When an unlock that is used now, and never again, ends.
    func deadline(from now: BootTime) -> BootTime? {
        let idleEnd = idleMilliseconds.map { now.advanced(byMilliseconds: $0) }
        return [end, idleEnd].compactMap { $0 }.min()
    }
}
