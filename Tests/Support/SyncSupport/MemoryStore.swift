// SPDX-License-Identifier: Apache-2.0

// A store in memory that several devices of one test share. It keeps the rules of docs/SYNC.md §7,
// does to its contents what bad stores do, and fails where a test says so.

internal import Synchronization
package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// What the devices of a test share. Each has a ``Client`` of it.
package final class MemoryStore: Sendable {
    /// Which real store it is like.
    package enum Kind: Hashable, Sendable {
        /// All names have hashes, and there are no heads.
        case folder
        /// Messages have no hashes in their names, and appends are conditional on the head.
        case etcd
    }

    /// All that is in the store at a moment.
    package struct Contents: Sendable {
        fileprivate var circles: Set<CircleID> = []
        fileprivate var files: [StorePlace: [StoredName: [UInt8]]] = [:]
        fileprivate var heads: [StorePlace: LogPosition] = [:]
        fileprivate var mails: [MailboxID: [StoredMail]] = [:]
    }

    private struct State {
        var contents = Contents()
        var version = 1
        var versions: [StorePlace: Int] = [:]
        /// When anything may have changed last.
        var everywhere = 1
    }

    fileprivate let kind: Kind
    private let state = Mutex(State())

    /// An empty store.
    package init(_ kind: Kind = .etcd) {
        self.kind = kind
    }

    /// What is in the store now.
    package var contents: Contents { state.withLock { $0.contents } }

    /// Sets the store back to what was in it before.
    package func setBack(to contents: Contents) {
        changeEverywhere { $0.contents = contents }
    }

    /// Loses everything, the marks of circles too.
    package func loseAll() { setBack(to: Contents()) }

    /// Loses files, as a store does that is not honest: heads stay.
    package func lose(_ names: [StoredName], in place: StorePlace) {
        changeEverywhere { state in
            for name in names { state.contents.files[place]?[name] = nil }
        }
    }

    /// Replaces the bytes of a file, or adds a file.
    package func plant(_ bytes: [UInt8], as name: StoredName, in place: StorePlace) {
        changeEverywhere { $0.contents.files[place, default: [:]][name] = bytes }
    }

    private func changeEverywhere(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.version += 1
            state.everywhere = state.version
        }
    }

    fileprivate func change<R>(_ place: StorePlace?, _ body: (inout Contents) -> R) -> R {
        state.withLock { state in
            let result = body(&state.contents)
            guard let place else { return result }
            state.version += 1
            state.versions[place] = state.version
            return result
        }
    }

    /// What changed after `version`, and the version of now.
    fileprivate func changes(
        after version: Int, in circle: CircleID
    ) -> (isChanged: Bool, version: Int) {
        state.withLock { state in
            let isChanged =
                state.everywhere > version
                || state.versions.contains { $0.value > version && $0.key.circle == circle }
            return (isChanged, state.version)
        }
    }
}

extension MemoryStore {
    /// What a device uses. A test may make its calls fail, and hide files from it.
    package final class Client: SyncStore {
        /// Which function of ``SyncStore`` was called.
        package enum Call: String, Hashable, Sendable, CaseIterable {
            case create, check, logs, list, read, append, put, delete, deleteLogs
            case post, mails, deleteMail, removeLeftovers, waitForChange
        }

        /// What goes wrong with a call.
        package enum Fault: Hashable, Sendable {
            /// The answer comes late; after the deadline it does not come.
            case delay(Duration)
            /// The store does what it is asked, and the answer is lost.
            case lostAnswer
            /// The store does nothing and fails.
            case failure(KeychainFailure.Code)
        }

        private struct State: Sendable {
            var fault: @Sendable (Call) -> Fault? = { _ in nil }
            var isHidden: @Sendable (StorePlace, StoredName) -> Bool = { _, _ in false }
            var calls: [Call] = []
            var version = 0
        }

        private let store: MemoryStore
        private let state = Mutex(State())

        /// A client of `store` to which nothing happens.
        package init(of store: MemoryStore) {
            self.store = store
        }

        /// Asks `body` before each call from now on. It may count calls.
        package func interfere(_ body: @escaping @Sendable (Call) -> Fault?) {
            state.withLock { $0.fault = body }
        }

        /// Shows everything but what `body` picks: another roster than other clients see, or no
        /// messages of a device.
        package func hide(_ body: @escaping @Sendable (StorePlace, StoredName) -> Bool) {
            state.withLock { state in
                state.isHidden = body
                state.version = 0
            }
        }

        /// The calls so far.
        package var calls: [Call] { state.withLock { $0.calls } }
    }
}

extension MemoryStore.Client {
    package var guarantee: StoreGuarantee { store.kind == .folder ? .onThisDisk : .inTheStore }

    private func perform<R>(
        _ call: Call, in circle: CircleID?, by deadline: Deadline, _ body: () -> R
    ) throws(KeychainFailure) -> R {
        let fault = state.withLock { state in
            state.calls.append(call)
            return state.fault
        }(call)
        let operation = "do what the test asks (\(call.rawValue))"
        switch fault {
        case .delay(let delay):
            let end = Deadline(after: delay)
            while min(end, deadline).sleep(atMost: 1_000_000_000) {}
            if deadline.hasPassed, !end.hasPassed {
                throw KeychainFailure.store(.storeTimedOut, during: operation)
            }
        case .failure(let code): throw KeychainFailure.store(code, during: operation)
        case .lostAnswer, nil: break
        }
        if let circle, call != .create, !store.contents.circles.contains(circle) {
            throw KeychainFailure.store(.storeUnavailable, during: operation)
        }
        let result = body()
        if fault == .lostAnswer {
            throw KeychainFailure.store(
                call == .append ? .storeOutcomeUnknown : .storeTimedOut, during: operation)
        }
        return result
    }

    package func create(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        try perform(.create, in: circle, by: deadline) {
            store.change(.roster(circle)) { _ = $0.circles.insert(circle) }
        }
    }

    package func check(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        try perform(.check, in: circle, by: deadline) {}
    }

    package func logs(
        of devices: [DeviceID], in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) -> [LogPlace] {
        try perform(.logs, in: circle, by: deadline) {
            store.contents.files.keys.compactMap { place in
                guard case .log(let log) = place, log.circle == circle,
                    devices.contains(log.device),
                    !names(in: place).isEmpty
                else { return nil }
                return log
            }.sorted { ($0.device, $0.log) < ($1.device, $1.log) }
        }
    }

    package func list(
        _ place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> StoreListing {
        try perform(.list, in: place.circle, by: deadline) {
            var listing = StoreListing()
            listing.names = names(in: place)
            return listing
        }
    }

    private func names(in place: StorePlace) -> [StoredName] {
        let isHidden = state.withLock { $0.isHidden }
        return (store.contents.files[place] ?? [:]).keys.filter { !isHidden(place, $0) }.sorted()
    }

    package func read(
        _ names: [StoredName], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredBytes] {
        precondition(names.count <= StoreLimits.readCount, "as many names as may be read at once")
        return try perform(.read, in: place.circle, by: deadline) {
            let seen = Set(self.names(in: place))
            let files = store.contents.files[place] ?? [:]
            return names.map { name in
                guard seen.contains(name), let bytes = files[name] else { return .missing }
                let fits = name.hash.map { $0 == StoreNames.hash(of: bytes) } ?? true
                return fits ? .bytes(bytes) : .partial
            }
        }
    }

    package func append(
        _ bytes: [UInt8], at position: LogPosition, to place: StorePlace, after head: LogPosition?,
        by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        try perform(.append, in: place.circle, by: deadline) {
            store.change(place) { contents in
                let name = name(of: StoreFile(number: position.number, bytes: bytes), in: place)
                if store.kind == .etcd {
                    let found = contents.heads[place]
                    if found == position { return .stored }
                    guard found == head else { return .otherHead(found) }
                    guard name.hash != nil || contents.files[place]?[name] == nil else {
                        return .taken
                    }
                    contents.heads[place] = position
                }
                contents.files[place, default: [:]][name] = bytes
                return .stored
            }
        }
    }

    package func put(
        _ files: [StoreFile], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        try perform(.put, in: place.circle, by: deadline) {
            store.change(place) { contents in
                for file in files {
                    let name = name(of: file, in: place)
                    let other = contents.files[place]?[name]
                    guard name.hash != nil || other == nil || other == file.bytes else {
                        return .taken
                    }
                    contents.files[place, default: [:]][name] = file.bytes
                }
                return .stored
            }
        }
    }

    private func name(of file: StoreFile, in place: StorePlace) -> StoredName {
        var hash: FileHash? = StoreNames.hash(of: file.bytes)
        if case .log = place, store.kind == .etcd { hash = nil }
        return StoredName(number: file.number, part: file.part, hash: hash)
    }

    package func delete(
        _ names: [StoredName], in log: LogPlace, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform(.delete, in: log.circle, by: deadline) {
            store.change(.log(log)) { contents in
                for name in names { contents.files[.log(log)]?[name] = nil }
            }
        }
    }

    package func deleteLogs(
        of device: DeviceID, in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform(.deleteLogs, in: circle, by: deadline) {
            for case .log(let log) in store.contents.files.keys
            where log.circle == circle && log.device == device {
                store.change(.log(log)) { contents in
                    contents.files[.log(log)] = nil
                    contents.heads[.log(log)] = nil
                }
            }
        }
    }

    package func post(
        _ mail: StoredMail, to mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform(.post, in: nil, by: deadline) {
            store.change(nil) { contents in
                let mails = contents.mails[mailbox] ?? []
                if !mails.contains(mail) { contents.mails[mailbox] = mails + [mail] }
            }
        }
    }

    package func mails(
        in mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredMail] {
        try perform(.mails, in: nil, by: deadline) {
            let mails = store.contents.mails[mailbox] ?? []
            return Mail.Step.allCases.flatMap { step in
                mails.filter { $0.step == step }.prefix(StoreLimits.mailCount)
            }
        }
    }

    package func delete(
        _ mail: StoredMail, from mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform(.deleteMail, in: nil, by: deadline) {
            store.change(nil) { $0.mails[mailbox]?.removeAll { $0 == mail } }
        }
    }

    package func removeLeftovers(by deadline: Deadline) throws(KeychainFailure) {
        try perform(.removeLeftovers, in: nil, by: deadline) {}
    }

    package func waitForChange(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        try perform(.waitForChange, in: circle, by: limit.deadline) {
            while true {
                let seen = state.withLock { $0.version }
                let (isChanged, version) = store.changes(after: seen, in: circle)
                state.withLock { $0.version = version }
                if isChanged { return true }
                // Nothing wakes the waiting client but its cancellation.
                let pause = limit.ending(at: min(limit.deadline, Deadline(after: .milliseconds(2))))
                guard pause.wait(for: -1) == .deadline, !limit.deadline.hasPassed else {
                    return false
                }
            }
        }
    }
}
