// SPDX-License-Identifier: Apache-2.0

// The parts of a replica as the bytes in which a keychain keeps them: docs/FORMAT.md §12.3.
// `ReplicaEntries` says which entry holds what.

internal import ValetKeychainModel
internal import ValetSealing

typealias EntryReader = ByteReader<SyncError>

extension EntryReader {
    init(_ bytes: [UInt8]) {
        self.init(bytes, malformed: SyncError(.malformed, .form, in: .keptReplica))
    }

    /// Requires that every byte was taken.
    func finish() throws(SyncError) {
        guard isAtEnd else { throw malformed }
    }

    mutating func flag() throws(SyncError) -> Bool {
        switch try integer(UInt8.self) {
        case 0: false
        case 1: true
        default: throw malformed
        }
    }

    mutating func scope() throws(SyncError) -> KeyScope {
        guard let scope = KeyScope(rawValue: try integer()) else { throw malformed }
        return scope
    }

    mutating func dot() throws(SyncError) -> Dot {
        Dot(log: try LogID(from: &self), number: try integer(), tag: try integer())
    }

    mutating func name() throws(SyncError) -> MessageName {
        MessageName(log: try LogID(from: &self), number: try integer())
    }

    mutating func optional<T>(
        _ read: (inout EntryReader) throws(SyncError) -> T
    ) throws(SyncError) -> T? {
        try flag() ? try read(&self) : nil
    }

    mutating func list<T>(
        _ read: (inout EntryReader) throws(SyncError) -> T
    ) throws(SyncError) -> [T] {
        var list: [T] = []
        for _ in 0..<(try integer(UInt32.self)) { list.append(try read(&self)) }
        return list
    }

    mutating func table<Key: Hashable, Value>(
        _ read: (inout EntryReader) throws(SyncError) -> (Key, Value)
    ) throws(SyncError) -> [Key: Value] {
        var table: [Key: Value] = [:]
        for (key, value) in try list(read) { table[key] = value }
        return table
    }
}

extension [UInt8] {
    mutating func append(_ flag: Bool) { append(flag ? 1 : 0) }

    mutating func append(_ dot: Dot) {
        append(dot.message)
        append(bigEndian: dot.tag)
    }

    mutating func append(_ name: MessageName) {
        self += name.log.bytes
        append(bigEndian: name.number)
    }

    mutating func append<T>(_ value: T?, _ write: (inout [UInt8], T) -> Void) {
        append(value != nil)
        if let value { write(&self, value) }
    }

    mutating func append<T>(list: some Collection<T>, _ write: (inout [UInt8], T) -> Void) {
        append(bigEndian: UInt32(list.count))
        for element in list { write(&self, element) }
    }

    mutating func append(dots: some Collection<Dot>) {
        append(list: dots) { $0.append($1) }
    }
}

// MARK: Logs

extension LogTable {
    func write(to bytes: inout [UInt8]) {
        bytes.append(list: self) {
            $0 += $1.key.bytes
            $0.append(bigEndian: $1.value.number)
            $0 += $1.value.hash.bytes
        }
    }

    static func read(_ reader: inout EntryReader) throws(SyncError) -> LogTable {
        try reader.table { reader throws(SyncError) in
            let log = try LogID(from: &reader)
            let number = try reader.integer(UInt64.self)
            return (log, LogPosition(number: number, hash: try SyncHash(from: &reader)))
        }
    }
}

extension OwnLog {
    /// Everything except the messages and the unconfirmed one, which have entries of their own.
    func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: next)
        bytes.append(openBase) { $0.append(bigEndian: $1) }
        bytes.append(list: attempts) {
            $0.append(bigEndian: $1.key)
            $0 += $1.value.bytes
        }
        announced.write(to: &bytes)
        bytes.append(list: awaited) {
            $0.append(bigEndian: $1.key.number)
            $0.append($1.value)
        }
        bytes.append(list: named) {
            $0.append(bigEndian: $1.key)
            $0.append(bigEndian: $1.value)
        }
        bytes.append(owesBatch)
        bytes.append(owesBase)
        for count in [batchesSinceBase, batchByteCount, baseByteCount] {
            bytes.append(bigEndian: UInt64(count))
        }
    }

    mutating func read(_ reader: inout EntryReader) throws(SyncError) {
        next = try reader.integer()
        openBase = try reader.optional { reader throws(SyncError) in try reader.integer() }
        attempts = try reader.table { reader throws(SyncError) in
            (try reader.integer(), try SyncHash(from: &reader))
        }
        announced = try LogTable.read(&reader)
        awaited = try reader.table { reader throws(SyncError) in
            (SyncItemID(try reader.integer()), try reader.name())
        }
        named = try reader.table { reader throws(SyncError) in
            (try reader.integer(), try reader.integer())
        }
        owesBatch = try reader.flag()
        owesBase = try reader.flag()
        batchesSinceBase = try reader.count()
        batchByteCount = try reader.count()
        baseByteCount = try reader.count()
    }
}

extension EntryReader {
    fileprivate mutating func count() throws(SyncError) -> Int {
        guard let count = Int(exactly: try integer(UInt64.self)) else { throw malformed }
        return count
    }
}

extension RetiredLog {
    func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: firstNotCommon)
        bytes.append(renews)
        bytes.append(list: read) { $0.append(bigEndian: $1) }
    }

    init(_ own: OwnLog, from reader: inout EntryReader) throws(SyncError) {
        let first = try reader.integer(UInt64.self)
        let renews = try reader.flag()
        let read = try reader.list { reader throws(SyncError) in try reader.integer(UInt64.self) }
        self.init(own: own, firstNotCommon: first, renews: renews, read: Set(read))
    }
}

extension OwnLog.Unconfirmed {
    func write(to bytes: inout [UInt8]) {
        bytes.append(name)
        bytes += hash.bytes
        bytes.append(list: entries) { bytes, entry in
            bytes.append(bigEndian: entry.key.number)
            bytes.append(entry.source) { $1.write(to: &$0) }
            bytes.append(dots: entry.covers)
            bytes.append(entry.dot) { $0.append($1) }
            bytes.append(entry.summary) { $1.write(to: &$0) }
        }
    }

    init(from reader: inout EntryReader) throws(SyncError) {
        name = try reader.name()
        hash = try SyncHash(from: &reader)
        entries = try reader.list { reader throws(SyncError) in
            let key = SyncItemID(try reader.integer())
            let source = try reader.optional(PendingSource.init)
            let covers = try reader.list { reader throws(SyncError) in try reader.dot() }
            var entry = BatchDraft.Entry(key: key, source: source, covers: Set(covers))
            entry.dot = try reader.optional { reader throws(SyncError) in try reader.dot() }
            entry.summary = try reader.optional { reader throws(SyncError) in
                try RecordSummary(of: key, from: &reader)
            }
            return entry
        }
    }
}

extension PendingSource {
    fileprivate func write(to bytes: inout [UInt8]) {
        switch self {
        case .row(let key):
            bytes.append(0)
            bytes.append(bigEndian: key.number)
        case .aside(let key):
            bytes.append(1)
            bytes.append(bigEndian: key.number)
        case .moved(let key, let time, let message):
            bytes.append(2)
            bytes.append(bigEndian: key.number)
            bytes.append(bigEndian: time)
            bytes.append(message)
        case .dot(let dot):
            bytes.append(3)
            bytes.append(dot)
        }
    }

    fileprivate init(from reader: inout EntryReader) throws(SyncError) {
        switch try reader.integer(UInt8.self) {
        case 0: self = .row(SyncItemID(try reader.integer()))
        case 1: self = .aside(SyncItemID(try reader.integer()))
        case 2:
            let key = SyncItemID(try reader.integer())
            self = .moved(key, time: try reader.integer(), to: try reader.name())
        case 3: self = .dot(try reader.dot())
        default: throw reader.malformed
        }
    }
}

// MARK: Items

extension RecordSummary {
    /// time:8 · whether the record is *moved*:1 · the message that it then names.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: time)
        bytes.append(moved) { $0.append($1) }
    }

    init(of key: SyncItemID, from reader: inout EntryReader) throws(SyncError) {
        let time = try reader.integer(UInt64.self)
        self.init(
            key: key, time: time,
            moved: try reader.optional { reader throws(SyncError) in try reader.name() })
    }

    /// Reads ``encoded``.
    ///
    /// - Throws: ``SyncError/Rule/form``.
    package init(of key: SyncItemID, parsing bytes: [UInt8]) throws(SyncError) {
        var reader = EntryReader(bytes)
        try self.init(of: key, from: &reader)
        try reader.finish()
    }
}

extension PendingChange {
    func write(to bytes: inout [UInt8]) {
        switch record {
        case nil: bytes.append(0)
        case .row(let time): bytes += [1] + time.bytes
        case .aside(let time): bytes += [2] + time.bytes
        case .moved(let time, nil): bytes += [3] + time.bytes
        case .moved(let time, let message?):
            bytes += [4] + time.bytes
            bytes.append(message)
        }
        bytes.append(dots: covers)
        bytes.append(coversItem)
    }

    init(from reader: inout EntryReader) throws(SyncError) {
        self.init()
        switch try reader.integer(UInt8.self) {
        case 0: record = nil
        case 1: record = .row(time: try reader.integer())
        case 2: record = .aside(time: try reader.integer())
        case 3: record = .moved(time: try reader.integer(), to: nil)
        case 4: record = .moved(time: try reader.integer(), to: try reader.name())
        default: throw reader.malformed
        }
        covers = Set(try reader.list { reader throws(SyncError) in try reader.dot() })
        coversItem = try reader.flag()
    }
}

extension Renewal {
    func write(to bytes: inout [UInt8]) {
        bytes.append(source)
        summary.write(to: &bytes)
        bytes.append(dots: covers)
    }

    init(of key: SyncItemID, from reader: inout EntryReader) throws(SyncError) {
        let source = try reader.dot()
        let summary = try RecordSummary(of: key, from: &reader)
        let covers = try reader.list { reader throws(SyncError) in try reader.dot() }
        self.init(source: source, summary: summary, covers: Set(covers))
    }
}

extension Replica.Shown {
    func write(to bytes: inout [UInt8]) {
        bytes.append(scope.rawValue)
        switch source {
        case .row: bytes.append(0)
        case .aside: bytes.append(1)
        case .dot(let dot):
            bytes.append(2)
            bytes.append(dot)
        }
    }

    init(from reader: inout EntryReader) throws(SyncError) {
        scope = try reader.scope()
        switch try reader.integer(UInt8.self) {
        case 0: source = .row
        case 1: source = .aside
        case 2: source = .dot(try reader.dot())
        default: throw reader.malformed
        }
    }
}

extension UInt64 {
    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self)
        return bytes
    }
}
