// SPDX-License-Identifier: Apache-2.0

// The JSON that etcd's gateway speaks: requests and answers of etcd 3.4. Bytes are base64, numbers
// are strings, and zero and false are left out. Property names are those of etcd in camel case.

internal import FoundationEssentials
internal import ValetSyncStores

/// A condition of a transaction.
struct EtcdCompare: Encodable {
    private let key: Data
    private let target: String
    private let result: String
    private var version: String?
    private var createRevision: String?
    private var value: Data?

    private init(_ key: String, target: String, result: String) {
        self.key = Data(key.utf8)
        self.target = target
        self.result = result
    }

    /// There is such a key.
    static func exists(_ key: String) -> EtcdCompare {
        var compare = EtcdCompare(key, target: "VERSION", result: "GREATER")
        compare.version = "0"
        return compare
    }

    /// There is no such key.
    static func isAbsent(_ key: String) -> EtcdCompare {
        var compare = EtcdCompare(key, target: "CREATE", result: "EQUAL")
        compare.createRevision = "0"
        return compare
    }

    /// The key has that value.
    static func has(_ key: String, _ value: [UInt8]) -> EtcdCompare {
        var compare = EtcdCompare(key, target: "VALUE", result: "EQUAL")
        compare.value = Data(value)
        return compare
    }
}

/// One operation of a transaction.
struct EtcdOperation: Encodable {
    private struct Put: Encodable {
        let key: Data
        let value: Data
        let lease: String?
    }

    private struct Range: Encodable {
        let key: Data
        var rangeEnd: Data?
        var limit: String?
        var keysOnly: Bool?
    }

    private struct Delete: Encodable {
        let key: Data
        let rangeEnd: Data?
    }

    private var requestPut: Put?
    private var requestRange: Range?
    private var requestDeleteRange: Delete?

    static func put(_ key: String, _ value: [UInt8], lease: String? = nil) -> EtcdOperation {
        EtcdOperation(requestPut: Put(key: Data(key.utf8), value: Data(value), lease: lease))
    }

    /// Reads a key, with its value or without.
    static func get(_ key: String, keyOnly: Bool = false) -> EtcdOperation {
        EtcdOperation(
            requestRange: Range(key: Data(key.utf8), keysOnly: keyOnly ? true : nil))
    }

    /// Lists keys from `start` on that are below `end`.
    static func list(from start: [UInt8], below end: String, limit: Int) -> EtcdOperation {
        EtcdOperation(
            requestRange: Range(
                key: Data(start), rangeEnd: Data(end.utf8), limit: String(limit),
                keysOnly: true))
    }

    static func delete(_ key: String) -> EtcdOperation {
        EtcdOperation(requestDeleteRange: Delete(key: Data(key.utf8), rangeEnd: nil))
    }

    static func delete(from start: String, below end: String) -> EtcdOperation {
        EtcdOperation(
            requestDeleteRange: Delete(key: Data(start.utf8), rangeEnd: Data(end.utf8)))
    }
}

/// All operations of one branch, if all conditions hold, or those of the other.
struct EtcdTransaction: Encodable {
    var compare: [EtcdCompare] = []
    var success: [EtcdOperation] = []
    var failure: [EtcdOperation] = []
}

/// Where an answer comes from.
struct EtcdHeader: Decodable {
    let clusterId: String?
    let revision: String?
}

/// A revision as a server says it. The next one is a number, too: no server has seen so many.
package struct EtcdRevision {
    /// The revision.
    package let number: Int64
    /// The one after it.
    package let next: Int64

    /// Nil for one that is negative, or the greatest of all numbers.
    package init?(_ number: Int64) {
        let (next, overflows) = number.addingReportingOverflow(1)
        guard number >= 0, !overflows else { return nil }
        (self.number, self.next) = (number, next)
    }

    /// Nil also for a text that is no number.
    package init?(_ text: String?) {
        guard let number = text.flatMap(Int64.init) else { return nil }
        self.init(number)
    }
}

/// The answer to a transaction.
struct EtcdAnswer: Decodable {
    struct Response: Decodable {
        let responseRange: Keys?
    }

    struct Keys: Decodable {
        let kvs: [Pair]?
        let more: Bool?
    }

    struct Pair: Decodable {
        let key: Data
        let value: Data?
        let modRevision: String?
    }

    let header: EtcdHeader?
    let succeeded: Bool?
    let responses: [Response]?

    /// Whether the conditions held.
    var isSuccess: Bool { succeeded == true }

    /// What the operation `index` has found; nothing for other operations.
    func found(_ index: Int) -> [Pair] {
        guard let responses, responses.indices.contains(index) else { return [] }
        return responses[index].responseRange?.kvs ?? []
    }

    /// Whether the first operation has left keys out.
    var hasMore: Bool { responses?.first?.responseRange?.more == true }
}

/// The answer to a request for a lease.
struct EtcdLease: Decodable {
    let ID: String
}

/// The answer to a request for a token.
struct EtcdToken: Decodable {
    let token: String
}

/// Why a request was refused: a text, and a code of gRPC.
struct EtcdRefusal: Decodable {
    let error: String?
    let message: String?
    let code: Int?
}

/// A line of a watch.
struct EtcdWatchLine: Decodable {
    struct Result: Decodable {
        let header: EtcdHeader?
        let created: Bool?
        let canceled: Bool?
        let events: [Event]?
    }

    struct Event: Decodable {
        let kv: EtcdAnswer.Pair?
    }

    let result: Result?
}

/// Keys to watch, from a revision on.
struct EtcdWatchRequest: Encodable {
    struct Create: Encodable {
        let key: Data
        let rangeEnd: Data
        let startRevision: String
    }

    let createRequest: Create

    init(from first: String, below end: String, since revision: Int64) {
        createRequest = Create(
            key: Data(first.utf8), rangeEnd: Data(end.utf8), startRevision: String(revision))
    }
}

/// Makes and reads JSON.
enum EtcdJSON {
    static func bytes(_ request: some Encodable) throws(StoreError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .withoutEscapingSlashes
        do {
            return Array(try encoder.encode(request))
        } catch {
            throw StoreError(.malformed, during: "write a request to etcd")
        }
    }

    /// - Returns: Nil if the bytes are not such a value.
    static func read<T: Decodable>(_ bytes: [UInt8], as type: T.Type) -> T? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try? decoder.decode(type, from: Data(bytes))
    }
}
