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
        /// When everything is named next.
        var nextScan = Deadline.immediately
    }

    /// The most folders that are watched. The scans find what changes in others.
    private static let folderCount = 4096
    private static let scanInterval = Duration.seconds(60)

    /// Waits for inotify(7). The first wait, and one each minute, names everything.
    package func waitForChange(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> StoreChange {
        let (places, others) = try perform("watch the circle", by: .never) {
            () throws(SystemError) in
            try watchedFolders(of: circle)
        }
        var watching = watching.withLock { $0 }
        defer { self.watching.withLock { $0 = watching } }
        let fresh = watch(others.union(places.keys), of: circle, &watching)
        guard let fresh, !watching.nextScan.hasPassed else {
            watching.nextScan = Deadline(after: Self.scanInterval)
            return .everything
        }
        // Changes between the last list and the beginning of the watch.
        if let change = Self.change(of: fresh, in: places) { return change }
        let limit = limit.ending(at: min(limit.deadline, watching.nextScan))
        let outcome = watching.events?.wait(within: limit) ?? Self.waitBlindly(within: limit)
        switch outcome {
        case .changed(let folders): return Self.change(of: folders, in: places) ?? .everything
        case .lost: return .everything
        case .limit:
            guard watching.nextScan.hasPassed else { return .nothing }
            watching.nextScan = Deadline(after: Self.scanInterval)
            return .everything
        }
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

    private static func waitBlindly(within limit: WaitLimit) -> FolderEvents.Outcome {
        _ = limit.wait(for: -1)
        return .limit
    }

    /// The paths of a circle's folders: those that hold files, with their places, and the others.
    private func watchedFolders(
        of circle: CircleID
    ) throws(SystemError) -> (places: [String: StorePlace], others: Set<String>) {
        let folder = try circleFolder(circle)
        let top = folder.path
        var places = [top + "/" + StoreNames.roster: StorePlace.roster(circle)]
        var others: Set = [top]
        for device in try ids(in: folder, as: DeviceID.self) {
            let path = top + "/" + StoreNames.text(device)
            others.insert(path)
            others.formUnion(KeyScope.allCases.map { path + "/" + StoreNames.text($0) })
            guard others.count + places.count < Self.folderCount else { break }
            for log in try logs(of: device, in: circle, folder) {
                let folders = StoreNames.folders(of: .log(log)).dropFirst()
                places[top + "/" + folders.joined(separator: "/")] = .log(log)
            }
        }
        return (places, others)
    }

    /// - Returns: Nil if nothing has changed.
    private static func change(
        of folders: Set<String>, in places: [String: StorePlace]
    ) -> StoreChange? {
        guard !folders.isEmpty else { return nil }
        let changed = Set(folders.compactMap { places[$0] })
        // A new device or log.
        return changed.count < folders.count ? .everything : .places(changed)
    }
}
