// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// A store in a folder that a tool such as Syncthing copies between machines, that is mounted from
/// a server, or that a person carries on a stick: docs/SYNC.md §7.
///
/// Each call opens the folders anew, from the given path down, and checks the mark of the circle.
/// So it notices that the folder was unmounted, replaced or mounted again. A system call on a
/// network file system can hang as long as the kernel waits. Deadlines are checked between such
/// calls.
package final class FolderStore: SyncStore {
    package let path: String
    let watching = Lock(Watching())
    private let nameCount: Int

    static let top = "valet-1"

    /// The store in the folder at the absolute `path`. Looks at nothing.
    ///
    /// - Parameter nameCount: Tests lower it.
    package init(at path: String, nameCount: Int = StoreLimits.nameCount) {
        (self.path, self.nameCount) = (path, nameCount)
    }

    /// The bytes are on this disk. Only the tables of other machines show what those machines have.
    package var guarantee: StoreGuarantee { .onThisDisk }

    /// Makes `valet-1`, the folder of the circle and its mark. The folder itself must exist.
    package func create(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        try perform("create the circle", by: deadline) { () throws(SystemError) in
            let folder = try SharedFolder.open(path).makeFolder(Self.top)
                .makeFolder(StoreNames.text(circle))
            let mark = StoreNames.markBytes(of: circle)
            if try folder.read(StoreNames.mark, maxByteCount: mark.count) != .bytes(mark) {
                try write(mark, as: StoreNames.mark, in: folder)
            }
            try folder.makeFolder(StoreNames.roster).sync()
            try folder.sync()
        }
    }

    package func check(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        try perform("open the circle", by: deadline) { () throws(SystemError) in
            _ = try circleFolder(circle)
        }
    }

    /// The logs that have a folder, even an empty one.
    package func logs(
        of devices: [DeviceID], in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) -> [LogPlace] {
        try perform("list the logs", by: deadline) { () throws(SystemError) in
            var logs: [LogPlace] = []
            let folder = try circleFolder(circle)
            for device in devices.sorted() {
                try deadline.check()
                logs += try self.logs(of: device, in: circle, folder)
            }
            return logs
        }
    }

    package func list(
        _ place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> StoreListing {
        try perform("list \(place.text)", by: deadline) { () throws(SystemError) in
            var (listing, count) = (StoreListing(), 0)
            guard let folder = try existingFolder(of: place) else { return listing }
            try folder.forEachName { text in
                if StoreNames.isTemporary(text) { return true }
                count += 1
                let name = StoreNames.name(text, hasHash: true)
                if let name, place.mayHold(name) {
                    listing.names.append(name)
                } else {
                    listing.addForeign(text)
                }
                listing.isTooLong = count > nameCount
                return !listing.isTooLong
            }
            if listing.isTooLong { listing.names = [] }
            listing.names.sort()
            return listing
        }
    }

    /// Reads regular files within the limit, and compares the hash in the name.
    package func read(
        _ names: [StoredName], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredBytes] {
        precondition(names.count <= StoreLimits.readCount, "as many names as may be read at once")
        return try perform("read \(place.text)", by: deadline) { () throws(SystemError) in
            guard let folder = try existingFolder(of: place) else {
                return names.map { _ in .missing }
            }
            var all: [StoredBytes] = []
            for name in names {
                try deadline.check()
                all.append(try read(name, in: folder, maxByteCount: place.maximalByteCount))
            }
            return all
        }
    }

    /// Writes a file, and ignores `head`. Files with the same number differ in their hashes.
    package func append(
        _ bytes: [UInt8], at position: LogPosition, to place: StorePlace, after head: LogPosition?,
        by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        try put([StoreFile(number: position.number, bytes: bytes)], in: place, by: deadline)
    }

    /// Writes files, each under a temporary name first. All names are on disk when this returns.
    package func put(
        _ files: [StoreFile], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        try perform("write \(place.text)", by: deadline) { () throws(SystemError) in
            var folder = try circleFolder(place.circle)
            for name in StoreNames.folders(of: place).dropFirst() {
                folder = try folder.makeFolder(name)
            }
            for file in files {
                precondition(file.number > 0, "numbers begin at 1")
                precondition(file.bytes.count <= place.maximalByteCount, "bytes within the limit")
                try deadline.check()
                try write(file.bytes, as: StoreNames.text(file.name), in: folder)
            }
            try folder.sync()
            // The folder may have been unmounted or replaced while it was written to.
            if let last = files.last {
                guard let again = try existingFolder(of: place),
                    again.hasFile(StoreNames.text(last.name), byteCount: last.bytes.count)
                else { throw SystemError(.replaced, during: "find the file", path: folder.path) }
            }
            return .stored
        }
    }

    package func delete(
        _ names: [StoredName], in log: LogPlace, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform("delete messages", by: deadline) { () throws(SystemError) in
            guard let folder = try existingFolder(of: .log(log)) else { return }
            for name in names {
                try deadline.check()
                try folder.remove(StoreNames.text(name))
            }
        }
    }

    /// Removes temporary files and files with valid names, and the folders if that leaves them
    /// empty.
    package func deleteLogs(
        of device: DeviceID, in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform("delete the logs of a device", by: deadline) { () throws(SystemError) in
            let folder = try circleFolder(circle)
            for log in try logs(of: device, in: circle, folder) {
                guard let files = try existingFolder(of: .log(log)) else { continue }
                try removeFiles(in: files, by: deadline) {
                    StoreNames.isTemporary($0) || StoreNames.name($0, hasHash: true) != nil
                }
                let scope = try folder.folder(StoreNames.text(device))
                    .folder(StoreNames.text(log.scope))
                scope.removeFolderIfEmpty(StoreNames.text(log.log))
            }
            guard let own = try folder.existing(StoreNames.text(device)) else { return }
            for scope in KeyScope.allCases { own.removeFolderIfEmpty(StoreNames.text(scope)) }
            folder.removeFolderIfEmpty(StoreNames.text(device))
        }
    }
}

/// How all calls of this store find their folders. The functions throw ``SystemError``, which
/// ``perform(_:by:_:)`` translates.
extension FolderStore {
    func perform<R>(
        _ operation: String, by deadline: Deadline, _ body: () throws(SystemError) -> R
    ) throws(KeychainFailure) -> R {
        do {
            try deadline.check()
            return try body()
        } catch {
            throw KeychainFailure.store(error, during: operation)
        }
    }

    /// The folder of a circle, if its mark is there.
    func circleFolder(_ circle: CircleID) throws(SystemError) -> SharedFolder {
        let mark = StoreNames.markBytes(of: circle)
        let folder = try SharedFolder.open(path).folder(Self.top).folder(StoreNames.text(circle))
        guard try folder.read(StoreNames.mark, maxByteCount: mark.count) == .bytes(mark) else {
            throw SystemError(
                .missing, during: "find the mark of the circle",
                path: folder.path + "/" + StoreNames.mark)
        }
        return folder
    }

    /// The folder of a place; nil if nothing was written there yet.
    func existingFolder(of place: StorePlace) throws(SystemError) -> SharedFolder? {
        var folder = try circleFolder(place.circle)
        for name in StoreNames.folders(of: place).dropFirst() {
            guard let next = try folder.existing(name) else { return nil }
            folder = next
        }
        return folder
    }

    /// The ids that are names in a folder, sorted; at most ``StoreLimits/logCount`` of them.
    func ids<Name>(
        in folder: borrowing SharedFolder, as kind: SyncBytes<Name>.Type
    ) throws(SystemError) -> [SyncBytes<Name>] {
        var ids: [SyncBytes<Name>] = []
        try folder.forEachName { text in
            if let id = StoreNames.id(text, as: kind) { ids.append(id) }
            return ids.count < StoreLimits.logCount
        }
        return ids.sorted()
    }

    func logs(
        of device: DeviceID, in circle: CircleID, _ folder: borrowing SharedFolder
    ) throws(SystemError) -> [LogPlace] {
        guard let own = try folder.existing(StoreNames.text(device)) else { return [] }
        var logs: [LogPlace] = []
        for scope in KeyScope.allCases {
            guard let inner = try own.existing(StoreNames.text(scope)) else { continue }
            for log in try ids(in: inner, as: LogID.self) {
                logs.append(LogPlace(circle, device, scope, log))
            }
        }
        return logs
    }

    func read(
        _ name: StoredName, in folder: borrowing SharedFolder, maxByteCount: Int
    ) throws(SystemError) -> StoredBytes {
        switch try folder.read(StoreNames.text(name), maxByteCount: maxByteCount) {
        case .bytes(let bytes): StoreNames.hash(of: bytes) == name.hash ? .bytes(bytes) : .partial
        case .missing: .missing
        case .unfit: .foreign
        }
    }

    /// Replaces a file of that name: one with other bytes is damaged.
    func write(
        _ bytes: [UInt8], as name: String, in folder: borrowing SharedFolder
    ) throws(SystemError) {
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        try folder.write(bytes.span, as: name, temporary: ".valet-\(random).tmp")
    }

    /// Removes the files whose names `isMeant` picks; with `age`, only those that are older.
    func removeFiles(
        in folder: borrowing SharedFolder, by deadline: Deadline, olderThan age: Duration? = nil,
        _ isMeant: (Span<UInt8>) -> Bool
    ) throws(SystemError) {
        var names: [String] = []
        try folder.forEachName { text in
            if isMeant(text) { names.append(String(copying: text)) }
            return true
        }
        for name in names {
            try deadline.check()
            // The clock of another machine may be far ahead.
            if let age, folder.age(of: name).map({ max($0, .zero - $0) <= age }) ?? true {
                continue
            }
            try folder.remove(name)
        }
    }
}

extension SharedFolder {
    /// A folder in this one; nil if the name is free, or leads to a link or a file.
    func existing(_ name: String) throws(SystemError) -> SharedFolder? {
        do {
            return try folder(name)
        } catch {
            guard [.missing, .notADirectory].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension Deadline {
    /// Throws ``SystemError/Code/busy`` once the deadline has passed.
    func check() throws(SystemError) {
        if hasPassed { throw SystemError(.busy, during: "go on before the deadline") }
    }
}

extension String {
    /// A name that holds nothing but what ``StoreNames`` reads: ASCII.
    fileprivate init(copying text: Span<UInt8>) {
        self.init(decoding: text.indices.map { text[$0] }, as: UTF8.self)
    }
}

extension StorePlace {
    package var text: String {
        switch self {
        case .roster: "the roster"
        case .log: "a log"
        }
    }

    /// Whether a file of that name may be in this place: a roster has no parts, and its numbers are
    /// limited.
    package func mayHold(_ name: StoredName) -> Bool {
        switch self {
        case .roster: name.part == nil && name.number <= UInt64(RosterEntry.maximalNumber)
        case .log: true
        }
    }
}

extension KeychainFailure {
    fileprivate static func store(_ error: SystemError, during operation: String) -> KeychainFailure
    {
        let code: Code =
            switch error.code {
            case .missing, .notADirectory, .replaced, .inputOutput, .outOfMemory,
                .descriptorsClosed:
                .storeUnavailable
            case .cannotOpen where [EMFILE, ENFILE].contains(error.systemError): .storeUnavailable
            case .other where error.systemError != nil: .storeUnavailable
            case .cannotOpen, .wrongOwner, .wrongMode, .readOnly: .storeDenied
            case .diskFull: .storeFull
            case .busy: .storeTimedOut
            case .misuse: .badStoreAddress
            default: .storeMalformed
            }
        return .store(code, during: operation, reason: String(describing: error), hint: error.hint)
    }
}

/// Waits for changes with inotify(7). Also reports a change each minute, because some file systems
/// do not report the changes of other machines.
extension FolderStore {
    /// The state between two waits.
    struct Watching {
        var events: FolderEvents?
        var circle: CircleID?
        /// When the circle is to be listed next, whatever inotify says.
        var nextScan = Deadline.immediately
    }

    /// Once this many folders are watched, those of further devices are not. The scans find what
    /// changes in them.
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
        // The new folders may have changed between the last listing and the start of the watch.
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
    /// - Returns: The folders that were not watched before; nil if none of the circle was.
    private func watch(
        _ folders: Set<String>, of circle: CircleID, _ watching: inout Watching
    ) -> Set<String>? {
        let isNew = watching.circle != circle
        watching.circle = circle
        if watching.events == nil { watching.events = try? FolderEvents() }
        guard let fresh = watching.events?.watch(folders) else {
            // Other code has closed the descriptor, or the user has no inotify instance left.
            let hadEvents = watching.events != nil
            watching.events = nil
            return isNew || hadEvents ? nil : []
        }
        return isNew ? nil : fresh
    }

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

/// Mails, which belong to no circle, and the removal of leftovers.
extension FolderStore {
    private static let day = Duration.seconds(24 * 60 * 60)

    /// Writes a file into the folder of the mailbox. Creates that folder only in an existing
    /// `valet-1`.
    package func post(
        _ mail: StoredMail, to mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        precondition(mail.bytes.count <= Mail.maximalByteCount, "bytes within the limit")
        try perform("post a mail", by: deadline) { () throws(SystemError) in
            let folder = try SharedFolder.open(path).folder(Self.top)
                .makeFolder(StoreNames.mailboxes).makeFolder(StoreNames.text(mailbox))
            try write(mail.bytes, as: StoreNames.text(StoreNames.name(of: mail)), in: folder)
            try folder.sync()
        }
    }

    package func mails(
        in mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredMail] {
        try perform("read mails", by: deadline) { () throws(SystemError) in
            guard let folder = try mailboxes()?.existing(StoreNames.text(mailbox)) else {
                return []
            }
            var names: [StoredName] = []
            try folder.forEachName { text in
                if let name = StoreNames.name(text, hasHash: true), name.part == nil {
                    names.append(name)
                }
                return names.count < StoreLimits.nameCount
            }
            var mails: [StoredMail] = []
            for step in Mail.Step.allCases {
                let ofStep = names.filter { $0.number == UInt64(step.rawValue) }
                for name in StoreLimits.chosen(of: ofStep) {
                    try deadline.check()
                    let found = try read(name, in: folder, maxByteCount: Mail.maximalByteCount)
                    if case .bytes(let bytes) = found { mails.append(StoredMail(step, bytes)) }
                }
            }
            return mails
        }
    }

    package func delete(
        _ mail: StoredMail, from mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform("delete a mail", by: deadline) { () throws(SystemError) in
            guard let mailboxes = try mailboxes(),
                let folder = try mailboxes.existing(StoreNames.text(mailbox))
            else { return }
            try folder.remove(StoreNames.text(StoreNames.name(of: mail)))
            mailboxes.removeFolderIfEmpty(StoreNames.text(mailbox))
        }
    }

    /// Removes mails and temporary files that are older than a day.
    package func removeLeftovers(by deadline: Deadline) throws(KeychainFailure) {
        try perform("remove leftovers", by: deadline) { () throws(SystemError) in
            if let mailboxes = try mailboxes() {
                for mailbox in try ids(in: mailboxes, as: MailboxID.self).map(StoreNames.text) {
                    guard let mails = try mailboxes.existing(mailbox) else { continue }
                    try removeFiles(in: mails, by: deadline, olderThan: Self.day) {
                        StoreNames.isTemporary($0) || StoreNames.name($0, hasHash: true) != nil
                    }
                    mailboxes.removeFolderIfEmpty(mailbox)
                }
            }
            guard let top = try SharedFolder.open(path).existing(Self.top) else { return }
            for circle in try ids(in: top, as: CircleID.self) {
                guard let folder = try top.existing(StoreNames.text(circle)) else { continue }
                try removeTemporaries(in: folder, of: circle, by: deadline)
            }
        }
    }

    private func removeTemporaries(
        in folder: borrowing SharedFolder, of circle: CircleID, by deadline: Deadline
    ) throws(SystemError) {
        let isTemporary = { (name: Span<UInt8>) in StoreNames.isTemporary(name) }
        try removeFiles(in: folder, by: deadline, olderThan: Self.day, isTemporary)
        var places = [StorePlace.roster(circle)]
        for device in try ids(in: folder, as: DeviceID.self) {
            places += try logs(of: device, in: circle, folder).map { .log($0) }
        }
        for place in places {
            // A circle without its mark is left alone.
            guard let files = try? existingFolder(of: place) else { continue }
            try removeFiles(in: files, by: deadline, olderThan: Self.day, isTemporary)
        }
    }

    private func mailboxes() throws(SystemError) -> SharedFolder? {
        guard let top = try SharedFolder.open(path).existing(Self.top) else {
            throw SystemError(.missing, during: "find the folder of circles", path: path)
        }
        return try top.existing(StoreNames.mailboxes)
    }
}
