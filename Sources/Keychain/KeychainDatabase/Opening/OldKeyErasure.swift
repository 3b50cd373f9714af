// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Erases the remains of former keys after a key change: in the lock state, in the log, in the
/// database, and among the device keys (docs/FORMAT.md §4.4, step 5). The call that changes the
/// keys does it. If a reader prevents it, or the program is killed, later writes do it.
///
/// The file ``markerName`` says that something may be left, and names the device keys to erase:
/// others may be those of a newer copy of the keychain.
struct OldKeyErasure {
    /// The name of ``erase(_:)`` in failures.
    static let erasing = "erase old keys"
    /// The file that says that old keys may still be on the disk. It has the ids of device keys.
    static let markerName = "erase.pending"
    /// A longer file is not one of this library.
    private static let markerByteLimit = 1 << 16
    /// The largest database that is rewritten: in a larger one, other writers would wait for it.
    /// There SQLite has overwritten the deleted rows with zeros.
    private static let largestRewrite = 64 << 20
    private static let patience = Duration.seconds(1)
    private static let rewritePatience = Duration.seconds(30)
    /// In nanoseconds.
    private static let interval: Int64 = 60_000_000_000

    private let keychain: OpenKeychain

    init(_ keychain: OpenKeychain) { self.keychain = keychain }

    private var pool: ConnectionPool { keychain.pool }

    /// Notes that old keys will have to be erased, before they are replaced.
    ///
    /// - Parameter deviceKeys: The device key that will be replaced, and the new one: it is the one
    ///   to erase if the change is not committed.
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, `readOnly`.
    func prepare(_ deviceKeys: [KeyID] = []) throws(SystemError) {
        keychain.nextErasure = 0
        let noted = try noted()
        var added: [UInt8] = []
        for keyID in deviceKeys where noted?.contains(keyID) != true { added += keyID.bytes }
        guard let noted else {
            return try pool.directory.createFile(Self.markerName, contents: added.span)
        }
        if !added.isEmpty {
            try append(added, at: noted.count * KeyID.byteCount)
        }
        // The process that made the file may have been killed before it was durable.
        try pool.directory.sync()
    }

    /// - Parameter offset: Where whole ids end: a killed process may have written another in part.
    private func append(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let file = try OpenFile.open(Self.markerName, in: pool.directory, for: .changing)
        guard let file else { throw SystemError(.missing, during: Self.erasing) }
        try file.write(bytes.span, at: offset)
        try file.sync()
    }

    /// The ids of the device keys that have to be erased; nil if no old keys may be on the disk.
    func noted() throws(SystemError) -> [KeyID]? {
        guard let bytes = try markerBytes() else { return nil }
        var keyIDs: [KeyID] = []
        var end = KeyID.byteCount
        while end <= bytes.count {
            keyIDs.append(try KeyID([UInt8](bytes[(end - KeyID.byteCount)..<end])))
            end += KeyID.byteCount
        }
        return keyIDs
    }

    private func markerBytes() throws(SystemError) -> [UInt8]? {
        do {
            return try pool.directory.withContents(
                of: Self.markerName, maxByteCount: Self.markerByteLimit
            ) { bytes in bytes.indices.map { bytes[$0] } }
        } catch {
            if error.code == .missing { return nil }
            guard error.code == .tooLarge else { throw error }
            return []
        }
    }

    // Erasing, in a session of the writers' lock that has no other purpose.

    /// Erases the former keys after a key change.
    ///
    /// - Returns: Why some may be left; nil if they are erased. A later write tries again.
    func eraseAfterChange(_ deadline: Deadline) -> KeychainFailure? {
        do throws(KeychainFailure) {
            try holdingLock(until: deadline) { (writer) throws(KeychainFailure) in
                try erase(writer)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Like ``eraseIfDue(_:)``, for a caller without the lock. Does nothing if it is taken.
    func eraseIfDue(_ deadline: Deadline) {
        guard isDue, !pool.directory.isReadOnly else { return }
        try? holdingLock(until: .immediately) { writer in
            writer.connection.deadline = deadline
            eraseIfDue(writer)
        }
    }

    private func holdingLock(
        until deadline: Deadline, _ body: (RowWriter) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        let held = try translating(pool.lockForWriting(deadline), during: Self.erasing)
        try body(pool.writer(deadline, for: Self.erasing))
        _ = consume held
    }

    // Erasing. The caller holds the writers' lock.

    /// Erases old keys at the first write of a process, and at most once a minute while a reader
    /// prevents it. If this fails, the write still succeeds, and a later write tries again.
    func eraseIfDue(_ writer: RowWriter) {
        guard isDue else { return }
        let (later, isNever) = Self.now.addingReportingOverflow(Self.interval)
        keychain.nextErasure = isNever ? .max : later
        // If the marker cannot be checked now, a later write checks again.
        guard let isPending = try? keychain.isErasePending() else { return }
        guard isPending else { return keychain.nextErasure = .max }
        // A write of an item keeps nobody waiting beyond its own deadline. If this fails, the
        // marker stays, which `valet status` shows.
        try? erase(writer, before: writer.connection.deadline)
    }

    private var isDue: Bool {
        let next = keychain.nextErasure
        return next < .max && Self.now >= next
    }

    private static var now: Int64 { Deadline(after: .zero).nanoseconds }

    /// Erases the former keys.
    ///
    /// - Parameter end: When to give up waiting for readers, if that is earlier than usual.
    /// - Throws: ``KeychainFailure``: `timedOut` while a reader still uses the old rows;
    ///   `diskFull`, `inputOutput`; `incomplete` if the device key in use is missing, and then
    ///   nothing is erased.
    private func erase(
        _ writer: RowWriter, before end: Deadline = .never
    ) throws(KeychainFailure) {
        let header = try header(writer)
        guard header.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: Self.erasing, hint: "update this program")
        }
        header.openedKeys.endKeys(unlessOf: header.mark)
        guard try translating(cutLog(writer, end), during: Self.erasing) else {
            throw KeychainFailure(
                .timedOut, during: Self.erasing,
                message: "another program is reading the keychain", path: pool.directory.path,
                hint: "`valet doctor` names the program: end it, and then change an item")
        }
        try eraseFormerDeviceKeys(header)
        try translating(Self.erasing) { () throws(SystemError) in
            try pool.directory.remove(Self.markerName)
            try pool.directory.sync()
        }
    }

    private func header(_ writer: RowWriter) throws(KeychainFailure) -> KeychainHeader {
        let transaction = try translating(
            ReadTransaction(on: writer.connection), during: Self.erasing)
        let header = try keychain.currentHeader(writer.reading, for: Self.erasing)
        _ = consume transaction
        return header
    }

    /// - Returns: false if a process still reads from the log.
    private func cutLog(_ writer: RowWriter, _ end: Deadline) throws(SystemError) -> Bool {
        let connection = writer.connection
        let deadline = connection.deadline
        connection.deadline = min(end, Deadline(after: Self.patience))
        defer { connection.deadline = deadline }
        do {
            try connection.checkpoint(.truncate)
            let size = try pool.directory.check(file: KeychainFile.database)?.byteCount ?? 0
            if size <= Self.largestRewrite {
                connection.deadline = min(end, Deadline(after: Self.rewritePatience))
                try connection.vacuum()
                connection.deadline = min(end, Deadline(after: Self.patience))
                try connection.checkpoint(.truncate)
            }
            writer.hasRoomInLog = false
            writer.hasReserveInLog = false
            return true
        } catch {
            guard error.code == .busy else { throw error }
            return false
        }
    }

    /// Gives the device key in use its usual name, and erases those that it has replaced.
    private func eraseFormerDeviceKeys(_ header: KeychainHeader) throws(KeychainFailure) {
        let found = try translating(Self.erasing) { () throws(SystemError) in
            // Rewriting took long. A copy at the path may need the keys in a folder elsewhere.
            try pool.checkPlace()
            return try DeviceKeyFolder(keychain, header)
        }
        if let folder = found {
            let noted = try translating(noted(), during: Self.erasing)
            try folder.eraseFormer(noted ?? [], under: header.keybag)
        } else if header.keybag.deviceSource == .ownFile {
            throw DeviceKeyFolder.notSeen(keychain.location.deviceFolder)
        }
    }
}
