// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reports in which of many folders something has changed: inotify(7). The folder store of sync
/// waits with it; ``FolderWatch`` waits for known names.
///
/// Changes of names that begin with a dot are ignored, because tools write under such names first.
package final class FolderEvents: Sendable {
    package enum Outcome: Hashable, Sendable {
        /// These of the watched paths have changed.
        case changed(Set<String>)
        /// Events were lost, or folders were moved: look everywhere.
        case lost
        case limit
    }

    private struct State: ~Copyable {
        let descriptor: HeldDescriptor
        var paths: [Int32: String] = [:]
    }

    private let state: Lock<State>

    private static let events = UInt32(
        IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW)
    private static let eventsOfFolder =
        IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED

    /// - Throws: ``SystemError`` if the user has no inotify instance left.
    package init() throws(SystemError) {
        let descriptor = Inotify.open()
        guard descriptor.number >= 0 else {
            throw SystemError(errno: errno, during: "watch folders", path: nil)
        }
        state = Lock(State(descriptor: descriptor))
    }

    /// Watches these folders, by absolute paths, and no others.
    ///
    /// - Returns: Those that are watched only from now on. They may have changed before. Nil if
    ///   other code has closed the descriptor.
    package func watch(_ folders: Set<String>) -> Set<String>? {
        state.withLock { state in
            guard state.descriptor.isSound else { return nil }
            for (number, path) in state.paths where !folders.contains(path) {
                inotify_rm_watch(state.descriptor.number, number)
                state.paths[number] = nil
            }
            var fresh: Set<String> = []
            for folder in folders.subtracting(state.paths.values) {
                let number = unsafe inotify_add_watch(
                    state.descriptor.number, folder, Self.events)
                // The user has a limited number of watches; callers also list the folders from time
                // to time.
                guard number >= 0 else { continue }
                state.paths[number] = folder
                fresh.insert(folder)
            }
            return fresh
        }
    }

    /// Waits for a change on the calling thread. One thread waits at a time.
    package func wait(within limit: WaitLimit) -> Outcome {
        while true {
            let descriptor = state.withLock { $0.descriptor.isSound ? $0.descriptor.number : -1 }
            guard descriptor >= 0 else { return .lost }
            guard limit.wait(for: descriptor) == .ready else { return .limit }
            switch takeEvents() {
            case .changed(let folders) where folders.isEmpty: continue
            case let outcome: return outcome
            }
        }
    }

    private func takeEvents() -> Outcome {
        state.withLock { state in
            guard state.descriptor.isSound else { return .lost }
            guard let events = Inotify.takeEvents(from: state.descriptor.number) else {
                return .lost
            }
            var changed: Set<String> = []
            var isLost = false
            for event in events {
                let path = state.paths[event.watch]
                if event.isAny(of: Self.eventsOfFolder) {
                    // A watch that this module has removed has a last event, too: its path is
                    // unknown by then.
                    if event.isAny(of: IN_IGNORED) { state.paths[event.watch] = nil }
                    if path != nil || event.isAny(of: IN_Q_OVERFLOW) { isLost = true }
                } else if let path, event.name.utf8.first != UInt8(ascii: ".") {
                    changed.insert(path)
                }
            }
            return isLost ? .lost : .changed(changed)
        }
    }
}
