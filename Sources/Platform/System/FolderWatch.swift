// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Waits with inotify(7) until names in some folders appear, disappear or are touched. An
/// eventfd(2) lets this process end the wait.
///
/// It reports that something may have changed, not what. By default it does not report changed
/// bytes, so that the writes of a busy keychain wake no watcher.
package final class FolderWatch: Sendable {
    /// A folder and the names in it that matter.
    package struct Place: Hashable, Sendable {
        /// The absolute path of the folder, which need not exist.
        package let folder: String
        /// The names of files in it that matter.
        package let names: Set<String>

        package init(_ folder: String, _ names: Set<String>) {
            self.folder = folder
            self.names = names
        }
    }

    private struct Descriptors: ~Copyable {
        let bell: HeldDescriptor
        /// Negative if the user has no inotify instance left: then only the bell wakes the waiter.
        let notifications: HeldDescriptor

        /// Closes nothing but the bell.
        consuming func abandon() { notifications.abandon() }

        init() throws(SystemError) {
            bell = HeldDescriptor.bell()
            guard bell.number >= 0 else {
                throw SystemError(errno: errno, during: "watch folders", path: nil)
            }
            notifications = Inotify.open()
        }

        /// Whether both are still open: other code may have closed them.
        var areSound: Bool {
            bell.isSound && (notifications.number < 0 || notifications.isSound)
        }
    }

    private let descriptors: Lock<Descriptors>
    /// The names that matter, by the number of the watch on their folder.
    private let watches = Lock<[Int32: Set<String>]>([:])

    private let events: UInt32

    private static let eventsOfNames = UInt32(
        IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR)
    /// How many times to try again when a missing folder appears during the search.
    private static let attemptCount = 16
    /// In nanoseconds: the pause before the next look, if no descriptor can be opened.
    private static let pause: Int64 = 1_000_000_000

    /// - Parameter includingWrites: Whether to wake up when bytes are written to the files, too.
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput` if the process can open no more
    ///   files. Too many inotify instances are no error.
    package init(includingWrites: Bool = false) throws(SystemError) {
        events = Self.eventsOfNames | (includingWrites ? UInt32(IN_MODIFY) : 0)
        descriptors = Lock(try Descriptors())
    }

    /// The numbers of bell and notifications. If other code has closed them, they are opened again,
    /// and no folder is watched. Nil if the process can open nothing more.
    private func numbers() -> (bell: Int32, notifications: Int32)? {
        descriptors.withLock { current in
            if !current.areSound {
                guard let fresh = try? Descriptors() else { return nil }
                current = fresh
                watches.withLock { $0 = [:] }
            }
            return (current.bell.number, current.notifications.number)
        }
    }

    /// Watches these places and no others. For a missing folder, this watches the nearest existing
    /// folder above it.
    ///
    /// - Returns: Whether all of them are watched; if not, the caller must poll them.
    package func watch(_ places: [Place]) -> Bool {
        guard let notifications = numbers()?.notifications, notifications >= 0 else {
            return false
        }
        var fresh: [Int32: Set<String>] = [:]
        var isComplete = true
        for place in places {
            if let (watch, names) = add(place, to: notifications) {
                fresh[watch, default: []].formUnion(names)
            } else {
                isComplete = false
            }
        }
        let old = watches.withLock { watches in
            defer { watches = fresh }
            return watches
        }
        // The kernel has already removed the watch of a removed folder.
        for watch in old.keys where fresh[watch] == nil {
            inotify_rm_watch(notifications, watch)
        }
        return isComplete
    }

    /// Ends the current wait, or else the next one.
    package func wake() {
        // Fails only after 2^64 calls that no waiter has noticed.
        if let bell = numbers()?.bell { _ = eventfd_write(bell, 1) }
    }

    /// Waits on the calling thread.
    ///
    /// - Returns: true after something that may be a change, and after a wake-up; false at the
    ///   deadline.
    package func wait(until deadline: Deadline) -> Bool {
        while !deadline.hasPassed {
            guard let (bell, notifications) = numbers() else {
                return deadline.sleep(atMost: Self.pause)
            }
            var requests = [
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
            ]
            guard Poll.wait(for: &requests, until: deadline) else { return false }
            let isRung = requests[0].revents != 0
            let isNotified = requests[1].revents != 0
            // If other code has closed the descriptors, each waiter must check its folders and
            // call `watch` again.
            guard descriptors.withLock({ $0.areSound }) else { return true }
            var value: eventfd_t = 0
            if isRung { _ = unsafe eventfd_read(bell, &value) }
            guard let isRelevant = isNotified ? hasRelevantEvent(notifications) : false else {
                abandon()
                return true
            }
            if isRung || isRelevant { return true }
        }
        return false
    }

    private func add(
        _ place: Place, to notifications: Int32
    ) -> (watch: Int32, names: Set<String>)? {
        for _ in 0..<Self.attemptCount {
            var (folder, names, missing) = (place.folder, place.names, String?.none)
            while true {
                let watch = unsafe inotify_add_watch(notifications, folder, events)
                if watch >= 0 {
                    // The folder was made before the watch, so no event reports it.
                    if let missing, unsafe access(missing, F_OK) == 0 { break }
                    return (watch, names)
                }
                guard errno == ENOENT || errno == ENOTDIR,
                    let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")), folder != "/"
                else { return nil }
                names = [String(folder[folder.utf8.index(after: slash)...])]
                missing = folder
                folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            }
        }
        return nil
    }

    /// Leaves the descriptors to the code that has their numbers now. The next wait opens others.
    private func abandon() {
        descriptors.withLock { current in
            guard var fresh = try? Descriptors() else { return }
            swap(&current, &fresh)
            fresh.abandon()
            watches.withLock { $0 = [:] }
        }
    }

    /// - Returns: nil if other code has closed the descriptor.
    private func hasRelevantEvent(_ notifications: Int32) -> Bool? {
        guard let events = Inotify.takeEvents(from: notifications) else { return nil }
        let watches = watches.withLock { $0 }
        return events.contains { event in
            // Events were lost.
            if event.isAny(of: IN_Q_OVERFLOW) { return true }
            guard let names = watches[event.watch] else { return false }
            return event.name.isEmpty || names.contains(event.name)
        }
    }
}
