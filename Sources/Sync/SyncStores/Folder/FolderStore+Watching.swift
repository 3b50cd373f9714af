// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// Waiting for changes: inotify(7), and a hint to look everywhere each minute, because some file
/// systems report no changes that other machines make.
extension FolderStore {
    /// The state between two waits.
    struct Watching {
        var events: FolderEvents?
        /// The circle that is watched.
        var circle: CircleID?
        /// When the circle is to be listed next, whatever inotify says.
        var nextScan = Deadline.immediately
    }

    /// The most folders that are watched. The scans find what changes in others.
    private static let folderCount = 4096
    private static let scanInterval = Duration.seconds(60)

    /// Waits for inotify(7). The first wait, and one each minute, ends at once.
    package func waitForChange(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        let folders = try perform("watch the circle", by: .never) { () throws(SystemError) in
            try watchedFolders(of: circle)
        }
        var watching = watching.withLock { $0 }
        defer { self.watching.withLock { $0 = watching } }
        let fresh = watch(folders, of: circle, &watching)
        guard let fresh, !watching.nextScan.hasPassed else {
            watching.nextScan = Deadline(after: Self.scanInterval)
            return true
        }
        // They may have changed between the last list and the beginning of the watch.
        guard fresh.isEmpty else { return true }
        let limit = limit.ending(at: min(limit.deadline, watching.nextScan))
        switch watching.events?.wait(within: limit) {
        case .changed, .lost: return true
        case nil: _ = limit.wait(for: -1)
        case .limit: break
        }
        guard watching.nextScan.hasPassed else { return false }
        watching.nextScan = Deadline(after: Self.scanInterval)
        return true
    }

    /// Watches these folders.
    ///
    /// - Returns: Those that were not watched before; nil if nothing of the circle was.
    private func watch(
        _ folders: Set<String>, of circle: CircleID, _ watching: inout Watching
    ) -> Set<String>? {
        let isNew = watching.circle != circle
        watching.circle = circle
        if watching.events == nil { watching.events = try? FolderEvents() }
        guard let fresh = watching.events?.watch(folders) else {
            // Other code has closed the descriptor, or the user has no more of them.
            let hadEvents = watching.events != nil
            watching.events = nil
            return isNew || hadEvents ? nil : []
        }
        return isNew ? nil : fresh
    }

    /// The paths of a circle's folders.
    private func watchedFolders(of circle: CircleID) throws(SystemError) -> Set<String> {
        let folder = try circleFolder(circle)
        let top = folder.path
        var paths: Set = [top, top + "/" + StoreNames.roster]
        for device in try ids(in: folder, as: DeviceID.self) {
            let path = top + "/" + StoreNames.text(device)
            paths.insert(path)
            paths.formUnion(KeyScope.allCases.map { path + "/" + StoreNames.text($0) })
            guard paths.count < Self.folderCount else { break }
            for log in try logs(of: device, in: circle, folder) {
                let folders = StoreNames.folders(of: .log(log)).dropFirst()
                paths.insert(top + "/" + folders.joined(separator: "/"))
            }
        }
        return paths
    }
}
