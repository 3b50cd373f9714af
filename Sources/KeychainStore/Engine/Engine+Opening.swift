// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Coming into being: docs/FORMAT.md §2.1.
extension Engine {
    private static let creating = "create the keychain"

    /// Opens the keychain at `location`; nil if there is none.
    ///
    /// - Throws: ``KeychainFailure``: `incomplete` if one of the two files is there alone,
    ///   `insecureFiles`, `unsupportedFileSystem`, `inputOutput`.
    static func open(
        _ location: KeychainLocation, _ deadline: Deadline
    ) throws(KeychainFailure) -> Engine? {
        var known = try folder(location)
        if known == nil { known = try folderBehindKey(location) }
        guard let directory = known else { return nil }
        if let engine = try existing(location, directory, lock: nil) { return engine }
        guard try DeviceSecretSource(location: location).hasFile() else { return nil }
        let lock = LockFile(KeychainLocation.lockName, in: directory)
        return try underLock(lock, directory, deadline) { () throws(KeychainFailure) -> Engine in
            if let engine = try existing(location, directory, lock: lock) { return engine }
            return try resume(location, directory, lock, deadline)
        }
    }

    /// Opens the keychain at `location`, which is created if there is none.
    static func openOrCreate(
        _ location: KeychainLocation, _ deadline: Deadline
    ) throws(KeychainFailure) -> Engine {
        if let engine = try open(location, deadline) { return engine }
        let directory = try translating(creating) {
            try PrivateDirectory.open(location.folder, creating: true)
        }
        let lock = LockFile(KeychainLocation.lockName, in: directory)
        return try underLock(lock, directory, deadline) { () throws(KeychainFailure) -> Engine in
            if let engine = try existing(location, directory, lock: lock) { return engine }
            if try DeviceSecretSource(location: location).hasFile() {
                return try resume(location, directory, lock, deadline)
            }
            return try create(location, directory, lock, deadline)
        }
    }

    private static func folder(
        _ location: KeychainLocation
    ) throws(KeychainFailure) -> PrivateDirectory? {
        do throws(SystemError) {
            return try PrivateDirectory.open(location.folder, creating: false)
        } catch {
            if error.code == .missing { return nil }
            throw KeychainFailure(error, during: opening)
        }
    }

    private static func underLock<R>(
        _ lock: LockFile, _ directory: PrivateDirectory, _ deadline: Deadline,
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let held = try translating(opening) { try lock.acquire(before: deadline) }
        let result = try body()
        _ = consume held
        return result
    }

    private static func existing(
        _ location: KeychainLocation, _ directory: PrivateDirectory, lock: LockFile?
    ) throws(KeychainFailure) -> Engine? {
        let found = try translating(opening) {
            try directory.check(file: KeychainLocation.databaseName)
        }
        guard let found else { return nil }
        guard found.byteCount > 0 else {
            throw KeychainFailure(
                .incomplete, during: opening, message: "the keychain's database is empty",
                path: directory.path(of: KeychainLocation.databaseName),
                hint: "put the database back from a copy, or remove this file")
        }
        return Engine(
            location, directory, found,
            lock ?? LockFile(KeychainLocation.lockName, in: directory))
    }

    /// The folder of a keychain that comes into being right now; nil without a device key.
    ///
    /// It is made before the key: a program that finds a key finds the folder, or the key is alone.
    private static func folderBehindKey(
        _ location: KeychainLocation
    ) throws(KeychainFailure) -> PrivateDirectory? {
        guard try DeviceSecretSource(location: location).hasFile() else { return nil }
        guard let directory = try folder(location) else { throw loneKey(location) }
        return directory
    }

    private static func loneKey(_ location: KeychainLocation) -> KeychainFailure {
        KeychainFailure(
            .incomplete, during: opening,
            message: "the device key is there, the keychain's database is not",
            path: location.folder + "/" + KeychainLocation.databaseName,
            hint: "put keychain.db back from a copy, or move the device key away to start anew")
    }

    /// Finishes a creation that ended between the device key and the database.
    private static func resume(
        _ location: KeychainLocation, _ directory: PrivateDirectory, _ lock: LockFile,
        _ deadline: Deadline
    ) throws(KeychainFailure) -> Engine {
        try translating(creating) {
            let name = KeychainLocation.newDatabaseName
            guard try directory.check(file: name) != nil else { throw loneKey(location) }
            let connection = try Connection(
                to: name, in: directory, for: .readWrite, deadline: deadline)
            let isOurs = opens(StoreConnection(connection), DeviceSecretSource(location: location))
            try connection.close()
            guard isOurs else { throw loneKey(location) }
            return try putInPlace(location, directory, lock)
        }
    }

    /// Whether the device secret at hand opens a keychain that has no passcode.
    private static func opens(_ store: StoreConnection, _ source: DeviceSecretSource) -> Bool {
        guard let facts = try? KeychainFacts.load(from: store, at: source.location),
            let secret = try? source.secret(of: facts, until: .immediately)
        else { return false }
        return (try? facts.unlock(with: Protector(secret))) != nil
    }

    private static func create(
        _ location: KeychainLocation, _ directory: PrivateDirectory, _ lock: LockFile,
        _ deadline: Deadline
    ) throws(KeychainFailure) -> Engine {
        let source = DeviceSecretSource(location: location)
        let kind = source.preferred
        let file =
            kind == .ownFile
            ? DeviceKeyFile(keychainID: .random(), secret: .random())
            : try source.given(by: kind)
        // A given device key may say which keychain it is for, and then opens no other.
        let keychainID = file.keychainID ?? .random()
        let encoded = file.encoded
        let keybag = NewKeybag(
            keychainID: keychainID, source: kind, protector: Protector(file.intoSecret()))
        return try translating(creating) {
            try removeLeftovers(directory)
            try build(keybag, directory, deadline)
            if kind == .ownFile {
                let folder = try PrivateDirectory.open(location.deviceFolder, creating: true)
                try encoded.withBytes { (contents: Span<UInt8>) throws(SystemError) in
                    try folder.createFile(KeychainLocation.deviceKeyName, contents: contents)
                }
            }
            return try putInPlace(location, directory, lock)
        }
    }

    private static func removeLeftovers(_ directory: PrivateDirectory) throws(SystemError) {
        for name in try directory.names() where name.hasPrefix(KeychainLocation.newDatabaseName) {
            try directory.remove(name)
        }
    }

    private static func build(
        _ keybag: NewKeybag, _ directory: PrivateDirectory, _ deadline: Deadline
    ) throws {
        let connection = try Connection(
            to: KeychainLocation.newDatabaseName, in: directory, for: .create, deadline: deadline)
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

    private static func putInPlace(
        _ location: KeychainLocation, _ directory: PrivateDirectory, _ lock: LockFile
    ) throws(KeychainFailure) -> Engine {
        try translating(creating) {
            // Empty since the log was taken over; they would be strangers to the new name. And a
            // log that an earlier database left behind would be taken for this one's.
            for database in [KeychainLocation.newDatabaseName, KeychainLocation.databaseName] {
                for name in [database + "-wal", database + "-shm"]
                where try directory.check(file: name) != nil { try directory.remove(name) }
            }
            try directory.rename(
                KeychainLocation.newDatabaseName, to: KeychainLocation.databaseName,
                replacing: false)
            guard let engine = try existing(location, directory, lock: lock) else {
                throw KeychainFailure(.inputOutput, during: creating)
            }
            LockStateWatch.wakeAll()
            return engine
        }
    }
}
