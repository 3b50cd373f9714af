// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

// The JSON that etcd's gateway speaks: requests and answers of etcd 3.4. Bytes are base64, numbers
// are strings, and zero and false are left out. Nothing in a request has to be escaped.

struct EtcdCompare {
    fileprivate let json: String

    private init(_ key: String, _ target: String, _ result: String, _ member: String) {
        json = #"{"key":\#(quoted(key)),"target":"\#(target)","result":"\#(result)",\#(member)}"#
    }

    static func exists(_ key: String) -> EtcdCompare {
        EtcdCompare(key, "VERSION", "GREATER", #""version":"0""#)
    }

    static func isAbsent(_ key: String) -> EtcdCompare {
        EtcdCompare(key, "CREATE", "EQUAL", #""create_revision":"0""#)
    }

    static func has(_ key: String, _ value: [UInt8]) -> EtcdCompare {
        EtcdCompare(key, "VALUE", "EQUAL", #""value":\#(quoted(value))"#)
    }
}

struct EtcdOperation {
    fileprivate let json: String

    private init(_ name: String, _ members: String) {
        json = #"{"request_\#(name)":{\#(members)}}"#
    }

    static func put(_ key: String, _ value: [UInt8], lease: String? = nil) -> EtcdOperation {
        let lease = lease.map { #","lease":"\#($0)""# } ?? ""
        return EtcdOperation("put", #""key":\#(quoted(key)),"value":\#(quoted(value))\#(lease)"#)
    }

    static func get(_ key: String, keyOnly: Bool = false) -> EtcdOperation {
        let part = keyOnly ? #","keys_only":true"# : ""
        return EtcdOperation("range", #""key":\#(quoted(key))\#(part)"#)
    }

    /// Lists keys from `start` on that are below `end`.
    static func list(from start: [UInt8], below end: String, limit: Int) -> EtcdOperation {
        let range = #""key":\#(quoted(start)),"range_end":\#(quoted(end))"#
        return EtcdOperation("range", range + #","limit":"\#(limit)","keys_only":true"#)
    }

    static func delete(_ key: String) -> EtcdOperation {
        EtcdOperation("delete_range", #""key":\#(quoted(key))"#)
    }

    static func delete(from start: String, below end: String) -> EtcdOperation {
        EtcdOperation("delete_range", #""key":\#(quoted(start)),"range_end":\#(quoted(end))"#)
    }
}

/// Runs the operations of `success` if all conditions of `compare` hold, else those of `failure`.
struct EtcdTransaction {
    var compare: [EtcdCompare] = []
    var success: [EtcdOperation] = []
    var failure: [EtcdOperation] = []

    var json: [UInt8] {
        let parts = [
            #"{"compare":["#, compare.map(\.json).joined(separator: ","),
            #"],"success":["#, success.map(\.json).joined(separator: ","),
            #"],"failure":["#, failure.map(\.json).joined(separator: ","), "]}",
        ]
        return parts.flatMap { Array($0.utf8) }
    }
}

/// The body of a request to watch all heads and all roster entries of a circle, from a revision on.
/// No other key is in that range: ids begin with digits and letters up to "f".
func etcdWatch(_ circle: CircleID, since revision: Int64) -> [UInt8] {
    let (first, end) = (EtcdKeys.heads(circle), EtcdKeys.end(of: EtcdKeys.prefix(.roster(circle))))
    let members = #""key":\#(quoted(first)),"range_end":\#(quoted(end))"#
    return Array(#"{"create_request":{\#(members),"start_revision":"\#(revision)"}}"#.utf8)
}

private func quoted(_ text: String) -> String { quoted(Array(text.utf8)) }

private func quoted(_ bytes: [UInt8]) -> String { "\"" + Base64.text(bytes) + "\"" }

/// Parses a server's revision; nil unless it is a number from 0 to below `Int64.max`, so that the
/// next revision fits in an `Int64`, too.
package func etcdRevision(_ text: String?) -> Int64? {
    text.flatMap(Int64.init).flatMap { (0..<Int64.max).contains($0) ? $0 : nil }
}

struct EtcdPair {
    let key: [UInt8]
    /// nil where only keys were asked for, and for empty values.
    let value: [UInt8]?
    let modRevision: String?
}

/// The answer to a transaction.
struct EtcdAnswer {
    let clusterID: String?
    let revision: String?
    let isSuccess: Bool
    /// Whether the first operation has left keys out.
    let hasMore: Bool
    private let pairs: [[EtcdPair]]

    /// - Returns: nil if the bytes are not such an answer.
    init?(_ bytes: [UInt8]) {
        let answer = EtcdText(bytes)
        guard let answer,
            let members = answer.row(
                """
                SELECT json_extract(text, '$.header.cluster_id'),
                    json_extract(text, '$.header.revision'),
                    json_type(text, '$.succeeded') = 'true',
                    json_type(text, '$.responses[0].response_range.more') = 'true'
                FROM document
                """, columnCount: 4)
        else { return nil }
        clusterID = members[0]
        revision = members[1]
        isSuccess = members[2] == "1"
        hasMore = members[3] == "1"
        let pairs = answer.pairs(
            """
            SELECT response.key, json_extract(pair.value, '$.key'),
                json_extract(pair.value, '$.value'), json_extract(pair.value, '$.mod_revision')
            FROM document, json_each(text, '$.responses') AS response,
                json_each(response.value, '$.response_range.kvs') AS pair
            """)
        guard let pairs else { return nil }
        var sorted: [[EtcdPair]] = []
        for (index, pair) in pairs {
            // Operations before this one that found nothing get an empty list.
            while sorted.count <= index { sorted.append([]) }
            sorted[index].append(pair)
        }
        self.pairs = sorted
    }

    /// The pairs that the operation `index` has found; empty for operations that find nothing.
    func found(_ index: Int) -> [EtcdPair] { pairs.indices.contains(index) ? pairs[index] : [] }
}

struct EtcdWatchLine {
    let revision: String?
    let isCreated: Bool
    let isCanceled: Bool
    let events: [EtcdPair]

    /// - Returns: nil if the bytes are not such a line.
    init?(_ bytes: [UInt8]) {
        let line = EtcdText(bytes)
        guard let line,
            let members = line.row(
                """
                SELECT json_extract(text, '$.result.header.revision'),
                    json_type(text, '$.result.created') = 'true',
                    json_type(text, '$.result.canceled') = 'true',
                    json_type(text, '$.result') = 'object'
                FROM document
                """, columnCount: 4),
            members[3] == "1"
        else { return nil }
        revision = members[0]
        isCreated = members[1] == "1"
        isCanceled = members[2] == "1"
        let pairs = line.pairs(
            """
            SELECT 0, ifnull(json_extract(event.value, '$.kv.key'), ''), NULL,
                json_extract(event.value, '$.kv.mod_revision')
            FROM document, json_each(text, '$.result.events') AS event
            """)
        guard let pairs else { return nil }
        events = pairs.map(\.pair)
    }
}

/// Why a request was refused: a text, and a code of gRPC.
struct EtcdRefusal {
    let text: String?
    let code: Int?

    init(_ bytes: [UInt8]) {
        let members = EtcdText(bytes)?.row(
            """
            SELECT ifnull(json_extract(text, '$.error'), json_extract(text, '$.message')),
                json_extract(text, '$.code')
            FROM document
            """, columnCount: 2)
        text = members?[0] ?? nil
        code = members?[1].flatMap(Int.init)
    }
}

/// The member of an answer that `query` selects; nil if there is none.
func etcdMember(_ query: StaticString, of bytes: [UInt8]) -> String? {
    EtcdText(bytes)?.row(query, columnCount: 1)?[0]
}

/// An answer of etcd as SQLite reads it.
private struct EtcdText {
    private let document: JSONText

    /// - Returns: nil if the bytes are not a JSON object.
    init?(_ bytes: [UInt8]) {
        let document = try? JSONText(bytes.span)
        guard let document else { return nil }
        self.document = document
        let kind = row("SELECT json_type(text) FROM document", columnCount: 1)?[0]
        guard kind == "object" else { return nil }
    }

    /// The columns of the only row; nil if SQLite cannot make it.
    func row(_ query: StaticString, columnCount: Int32) -> [String?]? {
        do {
            let run = try document.start(query)
            guard try run.step() else { return nil }
            var columns: [String?] = []
            for column in 0..<columnCount { columns.append(text(column, of: run)) }
            try run.finish()
            return columns
        } catch {
            return nil
        }
    }

    /// Pairs of keys and values, each with the index in the first column; nil if an index is out of
    /// range, or a key or value is not base64.
    func pairs(_ query: StaticString) -> [(index: Int, pair: EtcdPair)]? {
        do {
            let run = try document.start(query)
            var pairs: [(index: Int, pair: EtcdPair)] = []
            while try run.step() {
                let index = Int(run.int64(0))
                guard (0..<Self.largestCount).contains(index),
                    let key = run.withBytes(of: 1, { Base64.bytes($0) })
                else { return nil }
                let value = run.isNull(2) ? [] : run.withBytes(of: 2) { Base64.bytes($0) }
                guard let value, !run.isNull(1) else { return nil }
                let pair = EtcdPair(
                    key: key, value: run.isNull(2) ? nil : value, modRevision: text(3, of: run))
                pairs.append((index, pair))
            }
            return pairs
        } catch {
            return nil
        }
    }

    private func text(_ column: Int32, of run: borrowing Statement.Run) -> String? {
        guard !run.isNull(column) else { return nil }
        return run.withBytes(of: column) { $0.text }
    }

    /// More operations than any transaction of ours has.
    private static let largestCount = 1024
}

/// The keys of a store in etcd: docs/SYNC.md §7.
///
/// All heads of a circle have one prefix, so that one request lists the logs, and a watch receives
/// heads instead of messages.
enum EtcdKeys {
    private static let top = "valet/1/"

    static func circle(_ circle: CircleID) -> String { top + StoreNames.text(circle) + "/" }

    static func mark(_ circle: CircleID) -> String { self.circle(circle) + StoreNames.mark }

    static func heads(_ circle: CircleID) -> String { self.circle(circle) + "head/" }

    static func heads(_ circle: CircleID, of device: DeviceID) -> String {
        heads(circle) + StoreNames.text(device) + "/"
    }

    static func head(_ place: StorePlace) -> String {
        heads(place.circle) + StoreNames.folders(of: place).dropFirst().joined(separator: "/")
    }

    static func prefix(_ place: StorePlace) -> String {
        top + StoreNames.folders(of: place).joined(separator: "/") + "/"
    }

    static func file(_ name: StoredName, in place: StorePlace) -> String {
        prefix(place) + StoreNames.text(name)
    }

    static func mailbox(_ mailbox: MailboxID) -> String {
        top + StoreNames.mailboxes + "/" + StoreNames.text(mailbox) + "/"
    }

    /// The first key after all that begin with `prefix`, which ends with "/".
    static func end(of prefix: String) -> String { prefix.dropLast() + "0" }

    static func place(ofHead key: [UInt8], in circle: CircleID) -> StorePlace? {
        let start = Array(heads(circle).utf8)
        guard key.starts(with: start) else { return nil }
        let parts = key[start.count...].split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { Array($0) }
        if parts == [Array(StoreNames.roster.utf8)] { return .roster(circle) }
        guard parts.count == 3, let device = id(parts[0], as: DeviceID.self),
            let scope = KeyScope.allCases.first(where: {
                parts[1] == Array(StoreNames.text($0).utf8)
            }), let log = id(parts[2], as: LogID.self)
        else { return nil }
        return .log(LogPlace(circle, device, scope, log))
    }

    private static func id<Name>(
        _ text: [UInt8], as kind: SyncBytes<Name>.Type
    ) -> SyncBytes<Name>? {
        StoreNames.id(text.span, as: kind)
    }

    static func value(ofHead position: LogPosition) -> [UInt8] { [UInt8](fields: position) }

    /// Reads a head; nil unless it has 40 bytes.
    static func head(_ value: [UInt8]) -> LogPosition? {
        var reader = ByteReader(value, of: .message)
        guard let position = try? LogPosition(from: &reader), reader.isAtEnd else { return nil }
        return position
    }
}

extension StorePlace {
    /// Whether file names in this place contain a hash. The messages of a log need none: etcd never
    /// overwrites them.
    var hasHashes: Bool {
        switch self {
        case .roster: true
        case .log: false
        }
    }

    func name(of file: StoreFile) -> StoredName {
        StoredName(
            number: file.number, part: file.part,
            hash: hasHashes ? StoreNames.hash(of: file.bytes) : nil)
    }
}
