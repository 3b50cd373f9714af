// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSystem

/// Tells a loop when to look at a keychain again, because any process may have changed its items:
///
///     while true {
///         watch.beginLook()
///         …
///         watch.wait(until: deadline)
///     }
package struct ItemWatch: Sendable {
    private let store: ItemStore
    private let watch: KeychainWatch
    private var canHear = false
    private var begin = Deadline.now

    /// How long to wait before looking again where the system announces no changes.
    private static let pause = Duration.seconds(2)
    /// The shortest time for which changes are gathered, in nanoseconds.
    private static let gathering: Int64 = 50_000_000

    /// - Throws: ``KeychainFailure`` if the process can open no more files.
    package init(_ store: ItemStore) throws(KeychainFailure) {
        self.store = store
        watch = try KeychainWatch(for: .items)
    }

    /// Ends the wait of another thread, or else the next one.
    package func wake() { watch.wake() }

    /// Watches from now on. The system announces a write before it is complete, so this call waits
    /// until writers are done, for a second at most.
    package mutating func beginLook() {
        canHear = watch.attend(to: [store.location])
        store.keychain.awaitWriters(atMost: .seconds(1))
        begin = Deadline.now
    }

    /// Waits for a change.
    ///
    /// - Parameter remaining: When the keychain locks by itself.
    /// - Returns: Whether to look once more: false if `end` passed before it began to wait.
    @discardableResult
    package func wait(atMost remaining: Duration?, until end: Deadline = .never) -> Bool {
        // Sleeps nine times as long as the look took, so that looks take at most a tenth of the
        // time, even in a large keychain that changes all the time.
        _ = end.sleep(atMost: max(Self.gathering, (Deadline.now &- begin) &* 9))
        guard !end.hasPassed else { return false }
        let waits = [canHear ? nil : Self.pause, remaining, end == .never ? nil : end.remaining]
        watch.wait(atMost: waits.compactMap(\.self).min())
        return true
    }
}
