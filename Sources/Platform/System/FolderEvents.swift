// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Reports in which of many folders something has changed: inotify(7). The folder store of sync
/// waits with it; ``FolderWatch`` waits for known names.
///
/// Names that begin with a dot do not count, since tools write under such names first.
package final class FolderEvents: Sendable {
    /// How a wait ended.
    package enum Outcome: Hashable, Sendable {
        /// These of the watched paths have changed.
        case changed(Set<String>)
        /// Events were lost, or folders were moved: look everywhere.
        case lost
        /// The limit ended the wait.
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
    private static let eventsOfFolder = UInt32(
        IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)
    private static let headerByteCount = 16
    /// Room for many events; one takes at most 16 bytes and a name of 256.
    private static let bufferByteCount = 16 << 10

    /// - Throws: ``SystemError`` if the user has no inotify instance left.
    package init() throws(SystemError) {
        let descriptor = HeldDescriptor(
            holding: FileDescriptor(
                owning: valet_above_streams(inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)))))
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
                // The user has a limited number of watches; callers look at times anyway.
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
            var changed: Set<String> = []
            var isLost = false
            var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
            while true {
                let count = unsafe read(state.descriptor.number, &buffer, buffer.count)
                guard count > 0 else { break }
                unsafe buffer.withUnsafeBytes { bytes in
                    let events = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<count])
                    unsafe Self.take(events, &state.paths, &changed, &isLost)
                }
            }
            return isLost ? .lost : .changed(changed)
        }
    }

    /// `struct inotify_event`: watch, mask, cookie and length of the name, 4 bytes each; then the
    /// name, padded with zeros. Without a name it is about the folder itself.
    private static func take(
        _ events: UnsafeRawBufferPointer, _ paths: inout [Int32: String],
        _ changed: inout Set<String>, _ isLost: inout Bool
    ) {
        var offset = 0
        while offset + headerByteCount <= events.count {
            let watch = unsafe events.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = unsafe events.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = unsafe Int(
                events.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            let start = offset + headerByteCount
            offset = start + length
            if mask & eventsOfFolder != 0 {
                // The last event of a watch that this module has removed, too, which is unknown.
                let wasWatched = paths[watch] != nil
                if mask & UInt32(IN_IGNORED) != 0 { paths[watch] = nil }
                if wasWatched || mask & UInt32(IN_Q_OVERFLOW) != 0 { isLost = true }
                continue
            }
            let isHidden =
                unsafe length > 0 && offset <= events.count
                && events[start] == UInt8(ascii: ".")
            if !isHidden, let path = paths[watch] { changed.insert(path) }
        }
    }
}
