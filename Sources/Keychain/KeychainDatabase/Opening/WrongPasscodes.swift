// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetSystem

/// Slows down guessing: after each wrong passcode for a keychain the process waits, longer each
/// time, up to three seconds. ``KeychainPasscodes`` runs every try in ``counting(_:)``.
final class WrongPasscodes: Sendable {
    /// The number of wrong passcodes in a row.
    let count = Atomic<Int>(0)
    private static let first: Int64 = 100_000_000
    private static let longest: Int64 = 3_000_000_000

    /// Runs `body`. Waits before it throws `authenticationFailed`.
    func counting<R: ~Copyable>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do {
            let result = try body()
            count.store(0, ordering: .relaxed)
            return result
        } catch {
            if error.code == .authenticationFailed { wait() }
            throw error
        }
    }

    /// The wait in nanoseconds after `count` wrong passcodes in a row. `count` is at least 1.
    static func pause(after count: Int) -> Int64 {
        min(longest, first << Int64(min(count, 6) - 1))
    }

    private func wait() {
        let (_, attempts) = count.add(1, ordering: .relaxed)
        _ = Deadline.never.sleep(atMost: Self.pause(after: attempts))
    }
}
