// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// Waits until any process may have changed the lock state of a keychain, or its items. The threads
/// of `Subscriptions` wait for it.
///
/// Each change of the lock state touches `keychain.state` (docs/FORMAT.md §2). The kernel drops
/// keys without notice, so callers also poll.
package final class KeychainWatch: Sendable {
    /// The kind of change to wait for.
    package enum Subject: Sendable {
        case lockState, items
    }

    private struct Entry {
        weak var watch: KeychainWatch?
    }

    private final class Entries: Sendable {
        let list = Lock<[Entry]>([])
    }

    /// The watches of this process. Its own changes wake them directly, because a read-only folder
    /// has no file to touch.
    private static let entries = ProcessLocal<Entries> { _ in Entries() }

    private let folders: FolderWatch
    private let subject: Subject

    /// - Throws: ``KeychainFailure`` if the process can open no more files.
    package init(for subject: Subject) throws(KeychainFailure) {
        self.subject = subject
        folders = try translating("watch the keychain") { () throws(SystemError) in
            try FolderWatch(includingWrites: subject == .items)
        }
        Self.entries.value.list.withLock { entries in
            entries.removeAll { $0.watch == nil }
            entries.append(Entry(watch: self))
        }
    }

    /// Watches these keychains from now on, and no others. Call it before each reading, because
    /// folders can appear and disappear.
    ///
    /// - Returns: Whether all the keychains are watched; if not, the caller should poll more often.
    package func attend(to locations: [KeychainLocation]) -> Bool {
        folders.watch(locations.flatMap(places))
    }

    private func places(_ location: KeychainLocation) -> [FolderWatch.Place] {
        let names: Set = [KeychainFile.state, KeychainFile.database]
        return switch subject {
        case .lockState:
            [
                FolderWatch.Place(location.folder, names),
                FolderWatch.Place(location.deviceFolder, [KeychainFile.deviceKey]),
            ]
        case .items:
            [FolderWatch.Place(location.folder, names.union([KeychainFile.database + "-wal"]))]
        }
    }

    /// Waits on the calling thread: for a change, for ``wake()``, or for `duration` unless it is
    /// nil.
    package func wait(atMost duration: Duration?) {
        _ = folders.wait(until: duration.map { Deadline(after: $0) } ?? .never)
    }

    /// Ends the current wait, or else the next one.
    package func wake() { folders.wake() }

    /// Wakes all watches of this process.
    package static func wakeAll() {
        let watches = entries.value.list.withLock { entries in entries.compactMap(\.watch) }
        for watch in watches { watch.wake() }
    }
}
