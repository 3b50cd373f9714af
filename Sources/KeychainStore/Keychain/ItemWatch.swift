// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSystem

/// Waits until something may have been written to a keychain, by whatever process.
package final class ItemWatch: Sendable {
    private let folders: FolderWatch

    /// - Throws: ``KeychainFailure`` if the process can open nothing more.
    package init() throws(KeychainFailure) {
        folders = try translating("watch the keychain") { try FolderWatch(includingWrites: true) }
    }

    /// Has ``wait(atMost:)`` tell of these keychains from now on, and of no others. To be called
    /// before each look at them, as folders come and go.
    ///
    /// - Returns: Whether it can; else they have to be looked at more often.
    package func attend(to stores: [ItemStore]) -> Bool {
        folders.watch(
            stores.map { store in
                FolderWatch.Place(
                    store.location.folder,
                    [
                        KeychainFile.database, KeychainFile.database + "-wal",
                        KeychainFile.state,
                    ])
            })
    }

    /// Waits on the calling thread: for a write, for ``wake()``, or for `duration`.
    package func wait(atMost duration: Duration) {
        _ = folders.wait(until: Deadline(after: duration))
    }

    /// Lets `duration` pass, so that many writes are one look.
    package func gather(for duration: Duration) {
        _ = Deadline(after: duration).sleep(atMost: .max)
    }

    /// Ends the wait that is under way, or else the next one.
    package func wake() { folders.wake() }
}
