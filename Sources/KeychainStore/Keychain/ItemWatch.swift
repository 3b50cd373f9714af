// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSystem

/// Waits until any process may have written to a keychain. `ItemWatcher` compares the items after
/// each wait.
package final class ItemWatch: Sendable {
    private let folders: FolderWatch

    /// - Throws: ``KeychainFailure`` if the process can open no more files.
    package init() throws(KeychainFailure) {
        folders = try translating("watch the keychain") { try FolderWatch(includingWrites: true) }
    }

    /// Watches these keychains from now on, and no others. Call it before each reading, because
    /// folders can appear and disappear.
    ///
    /// - Returns: Whether all are watched; if not, poll more often.
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

    /// Sleeps for `duration`, so that one reading covers many writes.
    package func gather(for duration: Duration) {
        _ = Deadline(after: duration).sleep(atMost: .max)
    }

    /// Ends the current wait, or else the next one.
    package func wake() { folders.wake() }
}
