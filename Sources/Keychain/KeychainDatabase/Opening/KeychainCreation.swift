// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Opens the keychain in a folder, or creates it: docs/FORMAT.md §2.1. ``SharedKeychain`` uses this
/// for the first call of a process.
struct KeychainCreation {
    private static let opening = "open the keychain"
    private static let creating = "create the keychain"

    private let location: KeychainLocation
    private let deadline: Deadline
    private let source: DeviceSecretSource

    init(_ location: KeychainLocation, _ deadline: Deadline) {
        self.location = location
        self.deadline = deadline
        source = DeviceSecretSource(location: location)
    }

    /// Opens the keychain at `location`; nil if it does not exist.
    ///
    /// - Throws: ``KeychainFailure``: `incomplete` if the database is missing and anything else of
    ///   a keychain is there; `insecureFiles`, `unsupportedFileSystem`, `inputOutput`.
    func open() throws(KeychainFailure) -> OpenKeychain? {
        var known = try folder()
        if known == nil { known = try folderBehindKey() }
        guard let directory = known else { return nil }
        if let keychain = try existing(directory, lock: nil) { return keychain }
        guard try source.hasKey() else { return nil }
        let lock = FileLock(KeychainFile.lock, in: directory)
        return try underLock(lock) { () throws(KeychainFailure) -> OpenKeychain in
            if let keychain = try existing(directory, lock: lock) { return keychain }
            return try resume(directory, lock)
        }
    }

    /// Opens the keychain at `location`, or creates it.
    func openOrCreate() throws(KeychainFailure) -> OpenKeychain? {
        if let keychain = try open() { return keychain }
        let directory = try translating(Self.creating) { () throws(SystemError) in
            try PrivateDirectory.open(location.folder, creating: true)
        }
        let lock = FileLock(KeychainFile.lock, in: directory)
        return try underLock(lock) { () throws(KeychainFailure) -> OpenKeychain in
            if let keychain = try existing(directory, lock: lock) { return keychain }
            if try source.hasKey() {
                return try resume(directory, lock)
            }
            return try create(directory, lock)
        }
    }

    private func folder() throws(KeychainFailure) -> PrivateDirectory? {
        do {
            return try PrivateDirectory.open(location.folder, creating: false)
        } catch {
            if error.code == .missing { return nil }
            throw KeychainFailure(error, during: Self.opening)
        }
    }

    private func underLock<R>(
        _ lock: FileLock, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let held = try translating(lock.acquire(before: deadline), during: Self.opening)
        let result = try body()
        _ = consume held
        return result
    }

    /// The keychain whose database is in the folder; nil if there is nothing of a keychain in it.
    private func existing(
        _ directory: PrivateDirectory, lock: FileLock?
    ) throws(KeychainFailure) -> OpenKeychain? {
        if let keychain = try named(directory, lock: lock) { return keychain }
        let remains = try translating(remains(of: directory), during: Self.opening)
        guard !remains.isEmpty else { return nil }
        // Another process gives its new database the name before it makes any of these files.
        if let keychain = try named(directory, lock: lock) { return keychain }
        throw KeychainFailure(
            .incomplete, during: Self.opening,
            message: "the keychain's database is missing, but there is "
                + remains.joined(separator: ", "),
            path: location.folder + "/" + KeychainFile.database,
            hint: "put keychain.db back from a copy, or move what is left away to start again")
    }

    /// The files that only a keychain has, although its database may be away, perhaps only while
    /// the folder is copied. A creation that was killed leaves none of them.
    private func remains(of directory: PrivateDirectory) throws(SystemError) -> [String] {
        let certain = [KeychainFile.database, KeychainFile.state, OldKeyErasure.markerName]
        var remains: [String] = []
        for name in try directory.names() {
            let isOfKeychain =
                name == KeychainFile.lock
                // With the page of locks.
                ? try directory.identity(of: name).map { $0.byteCount > 0 } ?? false
                : certain.contains(name) || name.hasPrefix(KeychainFile.database + "-")
            if isOfKeychain { remains.append(name) }
        }
        return remains
    }

    /// The keychain whose database is in the folder; nil if no file has that name.
    private func named(
        _ directory: PrivateDirectory, lock: FileLock?
    ) throws(KeychainFailure) -> OpenKeychain? {
        let found = try translating(Self.opening) { () throws(SystemError) in
            try directory.check(file: KeychainFile.database)
        }
        guard let found else { return nil }
        guard found.byteCount > 0 else {
            throw KeychainFailure(
                .incomplete, during: Self.opening, message: "the keychain's database is empty",
                path: directory.path(of: KeychainFile.database),
                hint: "put the database back from a copy, or remove this file")
        }
        return OpenKeychain(
            location,
            ConnectionPool(
                location.folder, directory, found,
                lock ?? FileLock(KeychainFile.lock, in: directory)))
    }

    /// The folder of a keychain that another process is creating right now; nil without a device
    /// key.
    ///
    /// The creator makes the folder before the key, so a key without a folder is a lone key.
    private func folderBehindKey() throws(KeychainFailure) -> PrivateDirectory? {
        guard try source.hasKey() else { return nil }
        guard let directory = try folder() else { throw loneKey() }
        return directory
    }

    private func loneKey() -> KeychainFailure {
        KeychainFailure(
            .incomplete, during: Self.opening,
            message: "the device key exists, but the keychain's database is missing",
            path: location.folder + "/" + KeychainFile.database,
            hint: "put keychain.db back from a copy, or move the device key away to start again")
    }

    /// Finishes a creation that wrote the device key, but did not give the database its name.
    private func resume(
        _ directory: PrivateDirectory, _ lock: FileLock
    ) throws(KeychainFailure) -> OpenKeychain {
        let isOurs = try translating(Self.creating) { () throws(SystemError) in
            let name = KeychainFile.newDatabase
            guard try directory.check(file: name) != nil else { return false }
            let connection = try Connection(
                to: name, in: directory, for: .readWrite, deadline: deadline)
            let isOurs = opens(RowConnection(connection))
            try connection.close()
            return isOurs
        }
        guard isOurs else { throw loneKey() }
        return try putInPlace(directory, lock)
    }

    /// Whether the current device secret opens a keychain that has no passcode.
    private func opens(_ store: RowConnection) -> Bool {
        guard let header = try? KeychainHeader.load(from: store, at: location),
            let secret = try? source.secret(of: header, until: .immediately)
        else { return false }
        return (try? header.unlock(with: Protector(secret))) != nil
    }

    private func create(
        _ directory: PrivateDirectory, _ lock: FileLock
    ) throws(KeychainFailure) -> OpenKeychain {
        let source = DeviceSecretSource(location: location)
        let kind = try source.preferred()
        let file =
            kind == .ownFile
            ? DeviceKeyFile(keychainID: .random(), secret: .random())
            : try source.given(by: kind)
        // A device key from the user may name a keychain, and then opens no other.
        let keychainID = file.keychainID ?? .random()
        let encoded = file.encoded
        let keybag = NewKeybag(
            keychainID: keychainID, source: kind, protector: Protector(file.intoSecret()))
        try translating(Self.creating) { () throws(SystemError) in
            try removeLeftovers(directory)
            try build(keybag, directory)
            guard kind == .ownFile else { return try directory.checkPlace() }
            let folder = try location.openDeviceFolder(of: directory, creating: true)
            try encoded.withBytes { (contents: Span<UInt8>) throws(SystemError) in
                try folder.createFile(KeychainFile.deviceKey, contents: contents)
            }
            do throws(SystemError) {
                try directory.checkPlace()
            } catch {
                // A device key without a database prevents that another keychain is made.
                try? folder.overwriteAndRemove(KeychainFile.deviceKey)
                throw error
            }
        }
        return try putInPlace(directory, lock)
    }

    private func removeLeftovers(_ directory: PrivateDirectory) throws(SystemError) {
        for name in try directory.names() where name.hasPrefix(KeychainFile.newDatabase) {
            try directory.remove(name)
        }
    }

    private func build(
        _ keybag: NewKeybag, _ directory: PrivateDirectory
    ) throws(SystemError) {
        let connection = try Connection(
            to: KeychainFile.newDatabase, in: directory, for: .create, deadline: deadline)
        let transaction = try Transaction(on: connection)
        for statement in Schema.statements + Schema.marks {
            try Statement(statement, on: connection).execute()
        }
        try keybag.settings.insert(into: connection)
        try keybag.locked.insert(into: connection)
        try transaction.commit()
        try connection.checkpoint(.truncate)
        try connection.close()
    }

    private func putInPlace(
        _ directory: PrivateDirectory, _ lock: FileLock
    ) throws(KeychainFailure) -> OpenKeychain {
        try translating(Self.creating) { () throws(SystemError) in
            // The checkpoint has emptied the new database's log and index, and SQLite would not
            // find them under the new name.
            for name in ["-wal", "-shm"].map({ KeychainFile.newDatabase + $0 })
            where try directory.check(file: name) != nil { try directory.remove(name) }
            try directory.rename(
                KeychainFile.newDatabase, to: KeychainFile.database,
                replacing: false)
        }
        guard let keychain = try existing(directory, lock: lock) else {
            throw KeychainFailure(.inputOutput, during: Self.creating)
        }
        KeychainWatch.wakeAll()
        return keychain
    }
}

/// Settings and keybag of a keychain that is being created.
struct NewKeybag {
    package let settings: KeychainSettings
    let locked: LockedKeybag

    init(
        keychainID: KeychainID, source: DeviceKeySource, protector: borrowing Protector
    ) {
        settings = KeychainSettings(
            stamp: .random(in: .min ... .max), keychainID: keychainID, epoch: Epoch(1))
        locked = LockedKeybag(
            keychainID: keychainID, epoch: settings.epoch, deviceSource: source,
            protector: protector, settings: settings.authenticatedBytes)
    }
}
