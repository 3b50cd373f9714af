// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux

/// Waits until names in some folders come, go or are touched: inotify(7), with an eventfd(2) beside
/// it for this process's own reasons to wake up.
///
/// Tells that there may be something to look at, never what. Changes of a file's bytes are not
/// among it unless they are asked for, so that the writes of a busy keychain wake nobody.
package final class FolderWatch: Sendable {
    /// A folder and the names in it that matter.
    package struct Place: Hashable, Sendable {
        /// The absolute path of the folder, which need not exist.
        package let folder: String
        /// Names of files in it.
        package let names: Set<String>

        /// Names a place.
        package init(_ folder: String, _ names: Set<String>) {
            self.folder = folder
            self.names = names
        }
    }

    private struct Descriptors: ~Copyable {
        let bell: HeldDescriptor
        /// Without one (its number is negative) only the bell rings.
        let notifications: HeldDescriptor

        init() throws(SystemError) {
            bell = HeldDescriptor(
                holding: FileDescriptor(owning: eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))))
            guard bell.number >= 0 else { throw FolderWatch.failure() }
            notifications = HeldDescriptor(
                holding: FileDescriptor(
                    owning: inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))))
        }

        /// Whether nobody has closed them.
        var areSound: Bool {
            bell.isSound && (notifications.number < 0 || notifications.isSound)
        }
    }

    private let descriptors: Mutex<Descriptors>
    /// The names that matter, by the number of the watch on their folder.
    private let watches = Mutex<[Int32: Set<String>]>([:])

    private let events: UInt32

    private static let eventsOfNames = UInt32(
        IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR)
    /// A folder that comes into being while it is looked for is looked for again so often.
    private static let attemptCount = 16
    private static let headerByteCount = 16
    /// In nanoseconds: how long nothing can be waited for before it is looked again.
    private static let pause: Int64 = 1_000_000_000
    /// Room for many events; one takes at most 16 bytes and a name of 256.
    private static let bufferByteCount = 8 << 10

    /// - Parameter includingWrites: Whether to wake up when bytes are written to the files, too.
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput` if the process can open nothing
    ///   more. That the user has no room for notifications is no error.
    package init(includingWrites: Bool = false) throws(SystemError) {
        events = Self.eventsOfNames | (includingWrites ? UInt32(IN_MODIFY) : 0)
        descriptors = Mutex(try Descriptors())
    }

    /// The numbers of bell and notifications; anew where somebody has closed them, and then nothing
    /// is watched. Nil if nothing more can be opened.
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

    /// Watches these places, and no others any more. For a folder that is not there the one is
    /// watched in which it, or what leads to it, would have to be made.
    ///
    /// - Returns: Whether all of them are watched; those that are not have to be looked at.
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
        // One that is gone already went with its folder.
        for watch in old.keys where fresh[watch] == nil {
            inotify_rm_watch(notifications, watch)
        }
        return isComplete
    }

    /// Ends the wait that is under way, or else the next one.
    package func wake() {
        // It can only fail when nobody has heard the last 2^64 of them.
        if let bell = numbers()?.bell { _ = eventfd_write(bell, 1) }
    }

    /// Waits on the calling thread.
    ///
    /// - Returns: Whether something may have happened; false at the deadline.
    package func wait(until deadline: Deadline) -> Bool {
        while !deadline.hasPassed {
            guard let (bell, notifications) = numbers() else {
                return deadline.sleep(atMost: Self.pause)
            }
            var requests = [
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
            ]
            let count = unsafe poll(&requests, 2, deadline.pollMilliseconds)
            // For want of memory: a look too many, after a pause, harms nobody.
            if count < 0, errno != EINTR { return deadline.sleep(atMost: Self.pause) }
            // Other code has closed them: each waiter looks, and has them watch again.
            guard descriptors.withLock({ $0.areSound }) else { return true }
            let isRung = count > 0 && requests[0].revents != 0
            var value: eventfd_t = 0
            if isRung { _ = unsafe eventfd_read(bell, &value) }
            let isRelevant =
                count > 0 && requests[1].revents != 0 && hasRelevantEvent(notifications)
            if isRung || isRelevant { return true }
        }
        return false
    }

    private static func failure() -> SystemError {
        SystemError(errno: errno, during: "watch folders", path: nil)
    }

    private func add(
        _ place: Place, to notifications: Int32
    ) -> (watch: Int32, names: Set<String>)? {
        for _ in 0..<Self.attemptCount {
            var (folder, names, missing) = (place.folder, place.names, String?.none)
            while true {
                let watch = unsafe inotify_add_watch(notifications, folder, events)
                if watch >= 0 {
                    // Made before the watch was there: nothing would tell of it.
                    if let missing, unsafe access(missing, F_OK) == 0 { break }
                    return (watch, names)
                }
                guard errno == ENOENT || errno == ENOTDIR, let slash = folder.lastIndex(of: "/"),
                    folder != "/"
                else { return nil }
                names = [String(folder[folder.index(after: slash)...])]
                missing = folder
                folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            }
        }
        return nil
    }

    /// Takes all events that there are.
    private func hasRelevantEvent(_ notifications: Int32) -> Bool {
        var isRelevant = false
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        while true {
            let count = unsafe read(notifications, &buffer, buffer.count)
            guard count > 0 else { return isRelevant }
            let watches = watches.withLock { $0 }
            unsafe buffer.withUnsafeBytes { bytes in
                let events = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<count])
                if unsafe Self.isRelevant(events, watches) { isRelevant = true }
            }
        }
    }

    /// `struct inotify_event`: watch, mask, cookie and length of the name, 4 bytes each; then the
    /// name, with zeros behind it. No name: the folder itself.
    private static func isRelevant(
        _ events: UnsafeRawBufferPointer, _ watches: [Int32: Set<String>]
    ) -> Bool {
        var offset = 0
        while offset + headerByteCount <= events.count {
            let watch = unsafe events.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = unsafe events.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = unsafe Int(
                events.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            let start = offset + headerByteCount
            offset = start + length
            // Events were lost.
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            guard let names = watches[watch] else { continue }
            guard length > 0, offset <= events.count else { return true }
            let name = unsafe String(
                decoding: events[start..<offset].prefix { $0 != 0 }, as: UTF8.self)
            if names.contains(name) { return true }
        }
        return false
    }
}
