// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// A store in an etcd cluster, version 3.4 or newer, through its JSON gateway: docs/SYNC.md §7.
///
/// Every transaction has the mark of the circle as a condition. Reads are linearizable.
package final class EtcdStore: SyncStore {
    let address: EtcdAddress
    let watching: Lock<Watching>
    private let client: Lock<EtcdClient>

    /// How many keys each page of a listing has. A key takes some 300 bytes of JSON.
    private static let pageCount = 2000
    /// etcd permits 128 operations and 1.5 MiB.
    private static let operationCount = 100
    private static let transactionByteCount = 1 << 20
    private static let overheadOfFile = 512

    /// The store at an address. Loads libcurl and connects to nothing yet.
    ///
    /// - Throws: `unavailable` if libcurl is not installed.
    package init(at address: EtcdAddress) throws(KeychainFailure) {
        self.address = address
        client = Lock(try EtcdClient(address))
        watching = Lock(Watching())
    }

    package var guarantee: StoreGuarantee { .inTheStore }

    package func create(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        let mark = EtcdKeys.mark(circle)
        let transaction = EtcdTransaction(
            compare: [.isAbsent(mark)],
            success: [.put(mark, StoreNames.markBytes(of: circle))])
        _ = try perform(transaction, "create the circle", by: deadline)
    }

    package func check(_ circle: CircleID, by deadline: Deadline) throws(KeychainFailure) {
        _ = try perform([], in: circle, "open the circle", by: deadline)
    }

    package func logs(
        of devices: [DeviceID], in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) -> [LogPlace] {
        var logs: [LogPlace] = []
        // One device after the other: keys that somebody adds beside them hide none.
        for device in devices.sorted() {
            var count = 0
            try forEachKey(EtcdKeys.heads(circle, of: device), in: circle, by: deadline) { key in
                if case .log(let log) = EtcdKeys.place(ofHead: key, in: circle) { logs.append(log) }
                count += 1
                return count < StoreLimits.logCount * KeyScope.allCases.count
            }
        }
        return logs
    }

    package func list(
        _ place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> StoreListing {
        var (listing, count) = (StoreListing(), 0)
        let prefix = EtcdKeys.prefix(place)
        try forEachKey(prefix, in: place.circle, by: deadline) { key in
            count += 1
            let text = key.span.extracting(droppingFirst: prefix.utf8.count)
            if let name = StoreNames.name(text, hasHash: place.hasHashes), place.mayHold(name) {
                listing.names.append(name)
            } else {
                listing.addForeign(text)
            }
            listing.isTooLong = count > StoreLimits.nameCount
            return !listing.isTooLong
        }
        if listing.isTooLong { listing.names = [] }
        listing.names.sort()
        return listing
    }

    /// Reads values in one transaction, or one by one if one of them is too large.
    package func read(
        _ names: [StoredName], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredBytes] {
        precondition(names.count <= StoreLimits.readCount, "as many names as may be read at once")
        return try read(
            names, of: EtcdKeys.prefix(place), in: place.circle,
            maxByteCount: place.maximalByteCount, by: deadline)
    }

    /// Appends in one transaction, on the condition that the log's head is still `head`. If the
    /// outcome is unknown, the client sends the same transaction again until the deadline. If an
    /// earlier attempt was committed, the next one finds the new head.
    package func append(
        _ bytes: [UInt8], at position: LogPosition, to place: StorePlace, after head: LogPosition?,
        by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        precondition(position.number > 0, "numbers begin at 1")
        let file = StoreFile(number: position.number, bytes: bytes)
        let key = EtcdKeys.file(place.name(of: file), in: place)
        let (mark, headKey) = (EtcdKeys.mark(place.circle), EtcdKeys.head(place))
        var transaction = EtcdTransaction()
        transaction.compare = [
            .exists(mark),
            head.map { .has(headKey, EtcdKeys.value(ofHead: $0)) } ?? .isAbsent(headKey),
        ]
        if !place.hasHashes { transaction.compare.append(.isAbsent(key)) }
        transaction.success = [
            .put(key, bytes), .put(headKey, EtcdKeys.value(ofHead: position)),
        ]
        transaction.failure = [.get(mark, keyOnly: true), .get(headKey)]
        let operation = "append to \(place.text)"
        let answer = try perform(transaction, operation, by: deadline, persists: true)
        if answer.isSuccess { return .stored }
        guard !answer.found(0).isEmpty else { throw Self.withoutMark(operation) }
        var found: LogPosition?
        if let value = answer.found(1).first?.value {
            found = EtcdKeys.head(value)
            guard found != nil else {
                throw KeychainFailure.store(
                    .storeMalformed, during: operation, reason: "not a head")
            }
        }
        if found == position { return .stored }
        return found == head ? .taken : .otherHead(found)
    }

    /// Writes in transactions that hold as much as etcd permits.
    package func put(
        _ files: [StoreFile], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        var rest = files[...]
        while !rest.isEmpty {
            var (chunk, byteCount) = ([StoreFile](), 0)
            while let file = rest.first, chunk.count < Self.operationCount - 1,
                chunk.isEmpty
                    || byteCount + file.bytes.count + Self.overheadOfFile
                        <= Self.transactionByteCount
            {
                chunk.append(file)
                byteCount += file.bytes.count + Self.overheadOfFile
                rest.removeFirst()
            }
            if try put(together: chunk, in: place, by: deadline) { continue }
            for file in chunk where !(try put(together: [file], in: place, by: deadline)) {
                let found = try read([place.name(of: file)], in: place, by: deadline)
                guard found == [.bytes(file.bytes)] else { return .taken }
            }
        }
        return .stored
    }

    package func delete(
        _ names: [StoredName], in log: LogPlace, by deadline: Deadline
    ) throws(KeychainFailure) {
        let keys = names.map { EtcdKeys.file($0, in: .log(log)) }
        for start in stride(from: 0, to: max(1, keys.count), by: Self.operationCount - 1) {
            let chunk = keys[start..<min(keys.count, start + Self.operationCount - 1)]
            _ = try perform(
                chunk.map { .delete($0) }, in: log.circle, "delete messages", by: deadline)
        }
    }

    package func deleteLogs(
        of device: DeviceID, in circle: CircleID, by deadline: Deadline
    ) throws(KeychainFailure) {
        let prefixes = [EtcdKeys.circle(circle), EtcdKeys.heads(circle)].map {
            $0 + StoreNames.text(device) + "/"
        }
        _ = try perform(
            prefixes.map { .delete(from: $0, below: EtcdKeys.end(of: $0)) }, in: circle,
            "delete the logs of a device", by: deadline)
    }
}

/// Mails. They belong to no circle, and so need no mark.
extension EtcdStore {
    package func post(
        _ mail: StoredMail, to mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        precondition(mail.bytes.count <= Mail.maximalByteCount, "bytes within the limit")
        let operation = "post a mail"
        let lease = try client.withLock { (client) throws(KeychainFailure) in
            try client.lease(
                StoreLimits.mailLifetime, operation, within: WaitLimit(until: deadline))
        }
        let key = EtcdKeys.mailbox(mailbox) + StoreNames.text(StoreNames.name(of: mail))
        _ = try perform(
            EtcdTransaction(success: [.put(key, mail.bytes, lease: lease)]), operation,
            by: deadline)
    }

    /// Lists the mailbox, and reads the first mails of each step.
    package func mails(
        in mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredMail] {
        let prefix = EtcdKeys.mailbox(mailbox)
        var names: [StoredName] = []
        try forEachKey(prefix, in: nil, by: deadline) { key in
            let text = key.span.extracting(droppingFirst: prefix.utf8.count)
            if let name = StoreNames.name(text, hasHash: true), name.part == nil {
                names.append(name)
            }
            return names.count < StoreLimits.nameCount
        }
        var mails: [StoredMail] = []
        for step in Mail.Step.allCases {
            let ofStep = names.filter { $0.number == UInt64(step.rawValue) }
            var some = StoreLimits.chosen(of: ofStep)[...]
            while !some.isEmpty {
                let found = try read(
                    Array(some.prefix(StoreLimits.readCount)), of: prefix, in: nil,
                    maxByteCount: Mail.maximalByteCount, by: deadline)
                for case .bytes(let bytes) in found { mails.append(StoredMail(step, bytes)) }
                some = some.dropFirst(StoreLimits.readCount)
            }
        }
        return mails
    }

    package func delete(
        _ mail: StoredMail, from mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        let key = EtcdKeys.mailbox(mailbox) + StoreNames.text(StoreNames.name(of: mail))
        _ = try perform(EtcdTransaction(success: [.delete(key)]), "delete a mail", by: deadline)
    }

    /// Does nothing: transactions leave nothing behind, and mails have leases.
    package func removeLeftovers(by deadline: Deadline) throws(KeychainFailure) {}
}

extension EtcdStore {
    static func withoutMark(_ operation: String) -> KeychainFailure {
        KeychainFailure.store(
            .storeUnavailable, during: operation, reason: "the cluster has no such circle",
            hint: "check the address; a cluster that lost its data needs a circle anew")
    }

    private func perform(
        _ transaction: EtcdTransaction, _ operation: String, by deadline: Deadline,
        maxByteCount: Int = 1 << 20, persists: Bool = false
    ) throws(KeychainFailure) -> EtcdAnswer {
        try client.withLock { (client) throws(KeychainFailure) in
            try client.transact(
                transaction, operation, within: WaitLimit(until: deadline),
                maxByteCount: maxByteCount, persists: persists)
        }
    }

    /// Does all of `operations` if the store has the circle.
    private func perform(
        _ operations: [EtcdOperation], in circle: CircleID?, _ operation: String,
        by deadline: Deadline, maxByteCount: Int = 1 << 20
    ) throws(KeychainFailure) -> EtcdAnswer {
        let transaction = EtcdTransaction(
            compare: circle.map { [.exists(EtcdKeys.mark($0))] } ?? [], success: operations)
        let answer = try perform(transaction, operation, by: deadline, maxByteCount: maxByteCount)
        guard answer.isSuccess else { throw Self.withoutMark(operation) }
        return answer
    }

    /// Lends all keys with a prefix, page by page, until `body` returns false.
    private func forEachKey(
        _ prefix: String, in circle: CircleID?, by deadline: Deadline, _ body: ([UInt8]) -> Bool
    ) throws(KeychainFailure) {
        let operation = "list what is in the store"
        var start = Array(prefix.utf8)
        while true {
            let page = EtcdOperation.list(
                from: start, below: EtcdKeys.end(of: prefix), limit: Self.pageCount)
            let answer = try perform(
                [page], in: circle, operation, by: deadline, maxByteCount: 8 << 20)
            let keys = answer.found(0).map(\.key)
            let hasPrefix = keys.allSatisfy { $0.starts(with: prefix.utf8) }
            guard hasPrefix, keys.count <= Self.pageCount else {
                throw KeychainFailure.store(
                    .storeMalformed, during: operation, reason: "keys that are not listed")
            }
            for key in keys where !body(key) { return }
            guard answer.hasMore, let last = keys.last else { return }
            start = last + [0]
        }
    }

    private func read(
        _ names: [StoredName], of prefix: String, in circle: CircleID?, maxByteCount: Int,
        by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredBytes] {
        guard !names.isEmpty else {
            if let circle { try check(circle, by: deadline) }
            return []
        }
        let operations = names.map { EtcdOperation.get(prefix + StoreNames.text($0)) }
        // Base64 has four characters for three bytes.
        let limit = names.count * (maxByteCount * 4 / 3 + 2048) + 4096
        let answer: EtcdAnswer
        do {
            answer = try perform(
                operations, in: circle, "read values", by: deadline, maxByteCount: limit)
        } catch {
            guard error.code == .storeMalformed else { throw error }
            // One of the values has more bytes than any that belongs here.
            guard names.count > 1 else { return [.foreign] }
            var all: [StoredBytes] = []
            for name in names {
                all += try read(
                    [name], of: prefix, in: circle, maxByteCount: maxByteCount, by: deadline)
            }
            return all
        }
        return names.indices.map { index in
            guard let value = answer.found(index).first else { return .missing }
            let bytes = value.value ?? []
            guard bytes.count <= maxByteCount else { return .foreign }
            let fits = names[index].hash.map { $0 == StoreNames.hash(of: bytes) } ?? true
            return fits ? .bytes(bytes) : .partial
        }
    }

    /// - Returns: Whether none of the names was taken.
    private func put(
        together files: [StoreFile], in place: StorePlace, by deadline: Deadline
    ) throws(KeychainFailure) -> Bool {
        let mark = EtcdKeys.mark(place.circle)
        var transaction = EtcdTransaction(
            compare: [.exists(mark)], failure: [.get(mark, keyOnly: true)])
        for file in files {
            precondition(file.number > 0, "numbers begin at 1")
            let key = EtcdKeys.file(place.name(of: file), in: place)
            if !place.hasHashes { transaction.compare.append(.isAbsent(key)) }
            transaction.success.append(.put(key, file.bytes))
        }
        let operation = "write \(place.text)"
        let answer = try perform(transaction, operation, by: deadline)
        guard answer.isSuccess || !answer.found(0).isEmpty else {
            throw Self.withoutMark(operation)
        }
        return answer.isSuccess
    }
}

/// Waiting for changes: a watch on the heads of a circle and on its roster.
extension EtcdStore {
    struct Watching {
        /// Made for the first wait, which may run beside other calls.
        var client: EtcdClient?
        var circle: CircleID?
        var clusterID: String?
        /// The newest revision that an answer had.
        var revision: Int64 = 0
        /// From where the next watch begins; nil if everything must be listed first.
        var start: Int64?
        /// When the circle is to be listed next, whatever the watch says.
        var nextScan = Deadline.immediately
    }

    private enum Found {
        case changes
        /// The server has ended the watch, or was set back.
        case canceled
        case broken
        case limit
    }

    private static let scanInterval = Duration.seconds(600)
    /// How often the cluster is asked for its revision while nothing changes: a server that is cut
    /// off from the others does not end its watches.
    private static let checkInterval = Duration.seconds(60)
    private static let pauseLength = Duration.seconds(1)

    /// Watches from the revision after the one at which the circle was to be listed last.
    package func waitForChange(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        do {
            return try change(in: circle, within: limit)
        } catch {
            guard error.code == .storeTimedOut, Self.hasEnded(limit) else { throw error }
            return false
        }
    }

    private static func hasEnded(_ limit: WaitLimit) -> Bool {
        limit.ending(at: .immediately).wait(for: -1) != .deadline || limit.deadline.hasPassed
    }

    private func change(
        in circle: CircleID, within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        try watching.withLock { (watching) throws(KeychainFailure) -> Bool in
            let client = try Self.client(of: &watching, address)
            while true {
                let isCanceled = watching.start == nil && watching.circle == circle
                guard try continues(circle, client, &watching, within: limit) else {
                    // A server that cancels each watch must not keep the caller busy.
                    if isCanceled { Self.pause(limit) }
                    return true
                }
                let end = min(
                    limit.deadline, watching.nextScan, Deadline(after: Self.checkInterval))
                switch Self.watch(circle, client, &watching, within: limit.ending(at: end)) {
                case .changes: return true
                case .canceled: watching.start = nil
                case .broken: Self.pause(limit)
                case .limit: break
                }
                if Self.hasEnded(limit) { return false }
            }
        }
    }

    private static func pause(_ limit: WaitLimit) {
        let end = min(limit.deadline, Deadline(after: pauseLength))
        _ = limit.ending(at: end).wait(for: -1)
    }

    private static func client(
        of watching: inout Watching, _ address: EtcdAddress
    ) throws(KeychainFailure) -> EtcdClient {
        if let client = watching.client { return client }
        let client = try EtcdClient(address)
        watching.client = client
        return client
    }

    /// Asks the cluster for its revision.
    ///
    /// - Returns: Whether a watch can go on from the last one. If not, everything must be listed.
    private func continues(
        _ circle: CircleID, _ client: EtcdClient, _ watching: inout Watching,
        within limit: WaitLimit
    ) throws(KeychainFailure) -> Bool {
        let operation = "watch the circle"
        let mark = EtcdTransaction(compare: [.exists(EtcdKeys.mark(circle))])
        let answer = try client.transact(mark, operation, within: limit)
        guard answer.isSuccess else { throw Self.withoutMark(operation) }
        guard let revision = etcdRevision(answer.revision) else {
            throw KeychainFailure.store(.storeMalformed, during: operation, reason: "no revision")
        }
        let isSame =
            watching.circle == circle && watching.clusterID == answer.clusterID
            && watching.revision <= revision && !watching.nextScan.hasPassed
        watching.circle = circle
        watching.clusterID = answer.clusterID
        watching.revision = revision
        if isSame, watching.start != nil { return true }
        watching.start = revision + 1
        watching.nextScan = Deadline(after: Self.scanInterval)
        return false
    }

    private static func watch(
        _ circle: CircleID, _ client: EtcdClient, _ watching: inout Watching,
        within limit: WaitLimit
    ) -> Found {
        guard let start = watching.start else { return .canceled }
        let body = etcdWatch(circle, since: start)
        var (found, newest) = (Found.broken, start)
        let ending = client.stream("/v3/watch", body, within: limit) { line in
            guard let line = EtcdWatchLine(line) else { return false }
            let next = etcdRevision(line.revision).map { $0 + 1 } ?? 0
            if line.isCanceled || (line.isCreated && next < start) {
                found = .canceled
                return false
            }
            guard !line.events.isEmpty else { return true }
            // The header may name a later revision, some of whose events are still to come.
            let revisions = line.events.compactMap { etcdRevision($0.modRevision) }
            newest = max(start, revisions.max() ?? start)
            found = .changes
            return false
        }
        switch ending {
        case .stopped:
            if case .changes = found {
                watching.start = newest < .max ? newest + 1 : nil
                watching.revision = max(watching.revision, newest)
            }
            return found
        case .limit: return .limit
        // So much has changed that listing is cheaper.
        case .tooLarge: return .canceled
        case .done, .failed: return .broken
        }
    }
}
