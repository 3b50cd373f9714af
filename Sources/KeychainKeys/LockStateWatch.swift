// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSecretMemory
internal import ValetSystem

/// Waits until the lock state of a keychain may have changed, in whatever process.
///
/// Each change touches `keychain.state` (docs/FORMAT.md §2), which is watched, with the files
/// that a keychain is made of. What changes without a word, as keys that the kernel drops, has to
/// be looked at from time to time.
package final class LockStateWatch: Sendable {
    private struct Entry {
        weak var watch: LockStateWatch?
    }

    private final class Entries: Sendable {
        let list = Mutex<[Entry]>([])
    }

    /// The watches of this process, whose own changes reach them even where no file can be touched.
    private static let entries = ProcessLocal<Entries> { _ in Entries() }

    private let folders: FolderWatch

    /// - Throws: ``KeychainFailure`` if the process can open nothing more.
    package init() throws(KeychainFailure) {
        folders = try translating("watch the keychain") { try FolderWatch() }
        Self.entries.value.list.withLock { entries in
            entries.removeAll { $0.watch == nil }
            entries.append(Entry(watch: self))
        }
    }

    /// Has ``wait(atMost:)`` tell of these keychains from now on, and of no others. To be called
    /// before each look at them, as folders come and go.
    ///
    /// - Returns: Whether it can; else they have to be looked at more often.
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

    /// Ends the wait that is under way, or else the next one.
    package func wake() { folders.wake() }

    /// Wakes all watches of this process.
    package static func wakeAll() {
        let watches = entries.value.list.withLock { entries in entries.compactMap(\.watch) }
        for watch in watches { watch.wake() }
    }
}
