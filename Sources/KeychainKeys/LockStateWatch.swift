// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSecretMemory
internal import ValetSystem

/// Waits until any process may have changed the lock state of a keychain. `AvailabilityWatcher`
/// then reads the state.
///
/// Each change touches `keychain.state` (docs/FORMAT.md §2). This watches that file, the database
/// and the device key. The kernel drops keys without notice, so callers also poll.
package final class LockStateWatch: Sendable {
    private struct Entry {
        weak var watch: LockStateWatch?
    }

    private final class Entries: Sendable {
        let list = Mutex<[Entry]>([])
    }

    /// The watches of this process. Its own changes wake them directly, because a read-only folder
    /// has no file to touch.
    private static let entries = ProcessLocal<Entries> { _ in Entries() }

    private let folders: FolderWatch

    /// - Throws: ``KeychainFailure`` if the process can open no more files.
    package init() throws(KeychainFailure) {
        folders = try translating("watch the keychain") { try FolderWatch() }
        Self.entries.value.list.withLock { entries in
            entries.removeAll { $0.watch == nil }
            entries.append(Entry(watch: self))
        }
    }

    /// Watches these keychains from now on, and no others. Call it before each reading of their
    /// state, because folders can appear and disappear.
    ///
    /// - Returns: Whether all are watched; if not, poll more often.
    package func attend(to locations: [KeychainLocation]) -> Bool {
        folders.watch(
            locations.flatMap { location in
                [
                    FolderWatch.Place(
                        location.folder,
                        [KeychainFile.state, KeychainFile.database]),
                    FolderWatch.Place(location.deviceFolder, [KeychainFile.deviceKey]),
                ]
            })
    }

    /// Waits on the calling thread: for a change, for ``wake()``, or for `duration`.
    package func wait(atMost duration: Duration) {
        _ = folders.wait(until: Deadline(after: duration))
    }

    /// Ends the current wait, or else the next one.
    package func wake() { folders.wake() }

    /// Wakes all watches of this process.
    package static func wakeAll() {
        let watches = entries.value.list.withLock { entries in entries.compactMap(\.watch) }
        for watch in watches { watch.wake() }
    }
}
