// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// A keychain that this process has opened: its files, connections and opened keys.
final class Engine: Sendable {
    let location: KeychainLocation
    let directory: PrivateDirectory
    let lock: LockFile
    let source: DeviceSecretSource
    let wrongPasscodes = WrongPasscodes()
    private let identity: FileIdentity
    private let readers = Mutex<[StoreConnection]>([])
    private let writer = Mutex<StoreWriter?>(nil)
    private let facts = Mutex<KeychainFacts?>(nil)
    private let state = Mutex<KeychainState?>(nil)
    /// Up to which row number an epoch change is known to have come.
    private let resealed = Atomic<Int64>(.min)
    private let erasure = Atomic<Int64>(0)
    private let opener = Mutex<PresenceProof?>(nil)
    /// When the database was last seen in its place, on the monotonic clock.
    private let lastLook = Atomic<Int64>(.min)
    /// How often readers have looked for it.
    private let lookCount = Atomic<Int>(0)

    /// Idle connections beyond this number are closed: as many as threads read at once.
    private static let keptReaderCount = 8
    /// The most that a connection keeps of the database in memory; what it has not read costs
    /// nothing.
    static let cacheKibibytes = 32_000
    /// In nanoseconds: so long a read may see what is no longer in its place.
    private static let lookInterval: Int64 = 100_000_000
    static let opening = "open the keychain"
    /// Replaying a log of this size takes about 1 ms.
    private static let longLogByteCount = 1 << 20

    init(
        _ location: KeychainLocation, _ directory: PrivateDirectory, _ identity: FileIdentity,
        _ lock: LockFile
    ) {
        self.location = location
        self.directory = directory
        self.identity = identity
        self.lock = lock
        source = DeviceSecretSource(location: location)
    }

    /// Whether the path of the keychain leads to the database that is open, which it does not
    /// any more once the folder, or something on the way to it, was replaced. If not, the program
    /// that asks next looks as well.
    func isInPlace() throws(SystemError) -> Bool {
        let isInPlace = try directory.isInPlace(KeychainLocation.databaseName, as: identity)
        if !isInPlace { lastLook.store(.min, ordering: .relaxed) }
        return isInPlace
    }

    /// As ``isInPlace()``, but looks at most ten times a second.
    func wasInPlaceRecently() throws(SystemError) -> Bool {
        let (now, last) = (Deadline.now, lastLook.load(ordering: .relaxed))
        guard last == .min || now - last > Self.lookInterval else { return true }
        guard try isInPlace() else { return false }
        lookCount.add(1, ordering: .relaxed)
        // When it was looked for, not when it was found.
        lastLook.store(now, ordering: .relaxed)
        return true
    }

    /// Whether it is known that the keychain of this engine was replaced.
    var isReplaced: Bool { (try? isInPlace()) == false }

    /// Whether `failure` may come from files that somebody in this process has closed.
    func hasLostFiles(_ failure: KeychainFailure) -> Bool {
        switch failure.code {
        case .inputOutput, .timedOut, .damaged, .keychainDamaged, .internalFault: break
        default: return false
        }
        if failure.systemError == EBADF { return true }
        let idle = readers.withLock { $0 } + (writer.withLock { $0 }.map { [$0.reading] } ?? [])
        return !idle.allSatisfy(\.connection.isSound)
    }

    private func checkFiles(of connection: Connection) throws(KeychainFailure) {
        guard !connection.isSound else { return }
        throw KeychainFailure(
            SystemError(
                .replaced, during: Self.opening, path: location.folder, hint: "try again"),
            during: Self.opening)
    }

    /// Refuses to go on where the keychain was replaced.
    func checkPlace(during operation: String) throws(SystemError) {
        guard try !isInPlace() else { return }
        throw SystemError(
            .replaced, during: operation, path: location.folder, hint: "try again")
    }

    // The keys of this process.

    /// What was last read of the keychain itself.
    var lastKnownFacts: KeychainFacts? {
        get { facts.withLock { $0 } }
        set { facts.withLock { $0 = newValue } }
    }

    /// Which keychain it is; nil before anything was read of it.
    var keychainID: KeychainID? { lastKnownFacts?.settings.keychainID }

    /// What was last open.
    var lastKnownState: KeychainState? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Lets go of every opened key that is not of `keys`.
    func forgetKeys(but keys: OpenedKeys?) {
        state.withLock { state in
            if state?.isOpened(by: keys) == false { state = nil }
        }
        readers.withLock { idle in
            for reader in idle where reader.seenState?.isOpened(by: keys) == false {
                reader.forgetWhatWasSeen()
            }
        }
    }

    /// When to look again whether old keys have to be erased, as ``Deadline/nanoseconds``: at the
    /// first write, and after the keys have changed.
    var nextErasure: Int64 {
        get { erasure.load(ordering: .relaxed) }
        set { erasure.store(newValue, ordering: .relaxed) }
    }

    /// What opens values that take a person, from the moment that somebody gave the passcode to
    /// the end of the epoch change which that lets go on.
    func keep(forResealing proof: PresenceProof?) {
        opener.withLock { $0 = proof }
    }

    /// Hands over what was kept.
    func takeProofForResealing() -> PresenceProof? {
        opener.withLock { proof in
            defer { proof = nil }
            return proof
        }
    }

    /// Up to which row number no row of the older epoch is left, as far as this process knows.
    var resealedNumber: Int64 {
        get { resealed.load(ordering: .relaxed) }
        set { resealed.store(newValue, ordering: .relaxed) }
    }

    // Connections.

    /// Lends an idle connection to `body`, or opens one.
    func withReader<R>(
        _ deadline: Deadline, _ body: (StoreConnection) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let idle = readers.withLock { $0.popLast() }
        let reader = if let idle { idle } else { try open(deadline) }
        reader.connection.deadline = deadline
        let look = lookCount.load(ordering: .relaxed)
        if reader.seenLook != look {
            try checkFiles(of: reader.connection)
            reader.seenLook = look
        }
        defer {
            readers.withLock { idle in
                if idle.count < Self.keptReaderCount { idle.append(reader) }
            }
        }
        return try body(reader)
    }

    /// The connection that writes; the caller holds the lock.
    func writer(_ deadline: Deadline) throws(KeychainFailure) -> StoreWriter {
        if let writer = writer.withLock({ $0 }) {
            try checkFiles(of: writer.connection)
            writer.connection.deadline = deadline
            return writer
        }
        let new = StoreWriter(try open(deadline).connection)
        writer.withLock { $0 = new }
        return new
    }

    private func open(_ deadline: Deadline) throws(KeychainFailure) -> StoreConnection {
        try translating(Self.opening) {
            let connection = try Connection(
                to: KeychainLocation.databaseName, in: directory,
                for: directory.isReadOnly ? .readOnly : .readWrite, deadline: deadline,
                cacheKibibytes: Self.cacheKibibytes)
            let store = StoreConnection(connection)
            if lastKnownFacts == nil {
                try Schema.check(connection)
                try checkLog(connection, Self.opening)
            }
            return store
        }
    }

    /// Takes over the log and closes all connections; nobody may be using them. Of a keychain
    /// that was replaced nothing is written any more.
    func close() {
        let idle = readers.withLock { $0.take() }
        if let held = try? lock.acquire(before: .immediately, inPlace: false) {
            let writer = writer.withLock { $0.take() }
            if (try? isInPlace()) == true,
                let last = writer?.connection ?? (hasLongLog ? idle.first?.connection : nil),
                last.isSound
            {
                last.deadline = .immediately
                // If the log is not checkpointed now, the next writer does it.
                if (try? last.checkpoint(.truncate)) != nil {
                    try? last.lengthenLog(to: Connection.reservedLogByteCount)
                }
            }
            try? writer?.connection.close()
            _ = consume held
        }
        for reader in idle { try? reader.connection.close() }
    }

    /// Whether every program that starts has much to read in the log, which one that ended
    /// without closing has left: then also one that has only read takes it over.
    private var hasLongLog: Bool {
        guard !directory.isReadOnly else { return false }
        let log = try? directory.check(file: KeychainLocation.databaseName + "-wal")
        return log.map { $0.byteCount >= Self.longLogByteCount } ?? false
    }

    deinit {
        close()
    }

    /// In a child of `fork`: closes what was inherited, so that SQLite's table of open files is
    /// empty when the child opens them itself. The parent's connections are not affected.
    ///
    /// - Returns: false if a thread of the parent was in the middle of something.
    func closeInherited() -> Bool {
        let writers = writer.withLockIfAvailable { $0.take() }
        let idle = readers.withLockIfAvailable { $0.take() }
        guard let writers, let idle else { return false }
        for store in idle + (writers.map { [$0.reading] } ?? []) {
            do {
                try store.connection.close()
            } catch {
                return false
            }
        }
        return true
    }
}

extension Array {
    /// The elements, leaving none.
    fileprivate mutating func take() -> [Element] {
        defer { self = [] }
        return self
    }
}

extension Schema {
    /// Refuses a database that has other tables than this version makes.
    static func check(_ connection: Connection) throws(SystemError) {
        let expected = statements.map { $0.description }.sorted()
        guard try connection.schema() == expected else {
            throw SystemError(
                .schemaMismatch, during: "open the database", path: connection.path)
        }
    }
}
