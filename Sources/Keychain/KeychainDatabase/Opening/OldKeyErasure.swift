// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Erases the remains of former keys after a change of keys: in the lock state, in the log, in the
/// database, and among the device keys (docs/FORMAT.md §4.4, step 4). The call that changes the
/// keys does it. If a reader prevents it, or the program is killed, later writes do it.
///
/// The file ``markerName`` says that something may be left.
struct OldKeyErasure {
    /// The name of ``erase(_:)`` in failures.
    static let erasing = "erase old keys"
    /// The empty file that says that old keys may still be on the disk.
    static let markerName = "erase.pending"
    /// The empty file that says that a change of keys is under way, for programs that wait for it.
    private static let changeName = "keys.changing"
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

    // The two files.

    /// Notes that a change of keys is under way.
    ///
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, `readOnly`.
    func beginChange() throws(SystemError) { try make(Self.changeName) }

    /// Notes that no change is under way any more.
    func endChange() { try? keychain.directory.remove(Self.changeName) }

    /// Notes that old keys will have to be erased, before they are replaced.
    ///
    /// - Throws: As ``beginChange()``.
    func prepare() throws(SystemError) {
        keychain.nextErasure = 0
        try make(Self.markerName)
    }

    private func make(_ name: String) throws(SystemError) {
        guard try keychain.directory.check(file: name) == nil else { return }
        let nothing: [UInt8] = []
        try keychain.directory.createFile(name, contents: nothing.span)
    }

    /// Whether a change of keys is under way. After a kill this stays true until the next write.
    var isChangeUnderWay: Bool {
        (try? keychain.directory.check(file: Self.changeName)) != nil
    }

    // Erasing. The caller holds the lock of writers.

    /// Erases old keys at the first write of a process, and at most once a minute while a reader
    /// prevents it. If this fails, the write still succeeds, and a later write tries again.
    func eraseIfDue(_ writer: RowWriter) {
        let next = keychain.nextErasure
        guard next < .max else { return }
        let now = Deadline(after: .zero).nanoseconds
        guard now >= next else { return }
        let (later, isNever) = now.addingReportingOverflow(Self.interval)
        keychain.nextErasure = isNever ? .max : later
        // This process holds the lock and is not changing keys, so a killed program has left the
        // file.
        if isChangeUnderWay { endChange() }
        // If the marker cannot be checked now, a later write checks again.
        guard let isPending = try? keychain.isErasePending() else { return }
        guard isPending else { return keychain.nextErasure = .max }
        // A write of an item keeps nobody waiting beyond its own deadline. If this fails, the
        // marker stays, which `valet status` shows.
        try? erase(writer, before: writer.connection.deadline)
    }

    /// Erases the former keys.
    ///
    /// - Parameter end: When to give up waiting for readers, if that is earlier than usual.
    /// - Throws: ``KeychainFailure``: `timedOut` while a reader still uses the old rows;
    ///   `diskFull`, `inputOutput`; `incomplete` if the device key in use is missing, and then
    ///   nothing is erased.
    func erase(
        _ writer: RowWriter, before end: Deadline = .never
    ) throws(KeychainFailure) {
        let header = try header(writer)
        guard header.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: Self.erasing, hint: "update this program")
        }
        try publishCurrent(header)
        guard try translating(cutLog(writer, end), during: Self.erasing) else {
            throw KeychainFailure(
                .timedOut, during: Self.erasing,
                message: "another program is reading the keychain", path: pool.directory.path,
                hint: "`valet doctor` names the program: end it, and then change an item")
        }
        try tidyDeviceKeys(header)
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

    /// Removes the keys of other epochs from the lock state. No process can change keys now, so
    /// these are useless.
    private func publishCurrent(_ header: KeychainHeader) throws(KeychainFailure) {
        defer { keychain.announceLockState() }
        guard let lockState = header.lockState else {
            return try header.sharedLockState.lock(all: true)
        }
        switch lockState.current(expecting: header.mark) {
        case .beforeFirstUnlock(.otherEpoch): try lockState.lock(all: true)
        case .locked(_, .otherEpoch): try lockState.lock(all: false)
        case .unlocked, .locked, .beforeFirstUnlock, .unknown: break
        }
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

    /// Gives the device key in use its usual name, and erases the outdated ones.
    private func tidyDeviceKeys(_ header: KeychainHeader) throws(KeychainFailure) {
        let found = try translating(
            DeviceKeyFolder(keychain.location, header), during: Self.erasing)
        if let folder = found {
            try folder.tidy(header.keybag)
        } else if header.keybag.deviceSource == .ownFile {
            throw DeviceKeyFolder.notSeen(keychain.location.deviceFolder)
        }
    }
}
