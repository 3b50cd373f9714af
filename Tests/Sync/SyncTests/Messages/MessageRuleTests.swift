// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// Each rule of docs/SYNC.md §3, broken by an author that signs what it wrote.
@Suite struct `Messages that break a rule` {
    /// A change, and the rule that it breaks.
    struct Case<Raw>: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rule: SyncError.Rule
        let change: @Sendable (inout Raw) -> Void

        init(
            _ name: String, _ rule: SyncError.Rule,
            _ change: @escaping @Sendable (inout Raw) -> Void
        ) {
            testDescription = name
            self.rule = rule
            self.change = change
        }
    }

    static let batches: [Case<RawBatch>] = [
        Case("reads 0", .reads) { $0.reads = 0 },
        Case("no own log", .table) {
            $0.table.logs.removeFirst()
            $0.covers = []
        },
        Case("own log with another hash", .table) {
            $0.table.logs[0].1 = LogPosition(number: 3, hash: SyncHash(1, 2, 3, 5))
        },
        Case("own log not below the message", .table) {
            $0.table.logs[0].1 = LogPosition(number: 5, hash: TestAuthor.before.hash)
        },
        Case("logs in other order", .order) { $0.table.logs.reverse() },
        Case("a log twice", .order) { $0.table.logs.append($0.table.logs[1]) },
        Case("number 0 with a hash", .position) {
            $0.table.logs[1].1 = LogPosition(number: 0, hash: SyncHash(1, 1, 1, 1))
        },
        Case("a number with hash 0", .position) {
            $0.table.logs[1].1 = LogPosition(number: 1, hash: .zero)
        },
        Case("1,025 logs", .limit) {
            $0.table.logs += (0..<1023).map { (LogID(high: 0xf0, low: UInt64($0)), .start) }
        },
        Case("more logs than there are", .form) { $0.table.count = 1024 },
        Case("a cover of number 0", .dot) { $0.covers[0].number = 0 },
        Case("a cover in no log", .dot) { $0.covers[0].index = 2 },
        Case("a cover above the table", .dot) { $0.covers[0] = RawDot(index: 1, number: 1) },
        Case("a cover twice", .order) { $0.covers.append($0.covers[0]) },
        Case("covers that fall", .order) { $0.covers = [RawDot(tag: 2), RawDot(tag: 1)] },
        Case("8,193 covers", .limit) {
            $0.covers = (1...8193).map { RawDot(tag: UInt64($0)) }
        },
        Case("more covers than there are", .form) {
            $0.coverCount = 2
            $0.records = []
        },
        Case("a record twice", .order) { $0.records.append($0.records[0]) },
        Case("records that fall", .order) {
            $0.records.insert(RawRecord(time: 2).bytes, at: 0)
        },
        Case("4,097 records", .limit) {
            $0.records = (1...4097).map { RawRecord(time: UInt64($0)).bytes }
            $0.recordCount = 4097
        },
        Case("more records than there are", .form) { $0.recordCount = 4096 },
        Case("a time above 2^62", .time) {
            $0.records = [RawRecord(time: 1 << 62 + 1).bytes]
        },
        Case("a record of 4 GiB", .limit) {
            $0.records = [RawRecord(byteCount: .max).bytes]
        },
        Case("a record longer than the batch", .form) {
            $0.records = [RawRecord(byteCount: 4000).bytes]
        },
        Case("a record of 192 KiB and a byte", .limit) {
            let value = [UInt8](repeating: 1, count: 192 << 10)
            $0.records = [
                RawRecord(content: RawContent(kind: 1, rest: RawContent.value(value)).bytes).bytes
            ]
        },
        Case("a class of the other scope", .protection) {
            $0.records = [RawRecord(content: RawContent(protectionClass: 1).bytes).bytes]
        },
        Case("a byte after the end", .form) { $0.end = [0] },
        Case("padding twice", .form) { $0.end = [0x80] },
    ]

    @Test(arguments: batches)
    func `Batches that break a rule are invalid`(_ broken: Case<RawBatch>) throws {
        let author = TestAuthor()
        var raw = RawBatch()
        _ = try author.batch(raw)
        broken.change(&raw)
        let error = #expect(throws: SyncError.self) { _ = try author.batch(raw) }
        #expect(error?.code == .invalid)
        #expect(error?.rule == broken.rule)
    }

    static let bases: [Case<RawBase>] = [
        Case("reads 0", .reads) { $0.reads = 0 },
        Case("no own log", .table) { $0.table.logs.removeFirst() },
        Case("own messages that fall", .order) { $0.own = [(2, 9), (1, 9), (3, 1)] },
        Case("an own message of number 0", .order) { $0.own = [(0, 9), (3, 1)] },
        Case("own messages without the last", .own) { $0.own = [(1, 9)] },
        Case("no own messages", .own) { $0.own = [] },
        Case("own messages with another hash", .own) { $0.own = [(3, 2)] },
        Case("own messages after the last", .own) { $0.own = [(3, 1), (4, 1)] },
        Case("4,097 own messages", .limit) { $0.own = (1...4097).map { ($0, 1) } },
        Case("more own messages than there are", .form) {
            $0.ownCount = 3
            $0.parts = []
        },
        Case("dots without parts", .count) { $0.parts = [] },
        Case("parts without dots", .count) { $0.dots = 0 },
        Case("fewer dots than parts", .count) {
            $0.dots = 1
            $0.parts.append($0.parts[0])
        },
        Case("2,049 parts", .limit) {
            $0.dots = 3000
            $0.parts = [SyncHash](repeating: .zero, count: 2049)
        },
        Case("more parts than there are", .count) { $0.partCount = 2048 },
        Case("a part less than it says", .form) {
            $0.dots = 3000
            $0.partCount = 2
        },
        Case("a byte after the end", .form) { $0.end = [0] },
    ]

    @Test(arguments: bases)
    func `Bases that break a rule are invalid`(_ broken: Case<RawBase>) throws {
        let author = TestAuthor()
        var raw = RawBase()
        _ = try author.base(raw)
        broken.change(&raw)
        let error = #expect(throws: SyncError.self) { _ = try author.base(raw) }
        #expect(error?.code == .invalid)
        #expect(error?.rule == broken.rule)
    }

    static let contents: [Case<RawContent>] = [
        Case("class 0", .content) { $0.itemClass = 0 },
        Case("class 3", .content) { $0.itemClass = 3 },
        Case("protection class 0", .content) { $0.protectionClass = 0 },
        Case("protection class 8", .content) { $0.protectionClass = 8 },
        Case("this device only", .protection) { $0.protectionClass = 5 },
        Case("with a passcode", .protection) { $0.protectionClass = 7 },
        Case("of the other scope", .protection) { $0.protectionClass = 1 },
        Case("kind 3", .content) { $0.kind = 3 },
        Case("no group", .content) {
            $0.attributes = RawContent.list([.account: .text("me")])
        },
        Case("a group of data", .content) {
            $0.attributes = RawContent.list([.accessGroup: .bytes([1])])
        },
        Case("an attribute of the other class", .content) {
            $0.attributes = RawContent.list([
                .accessGroup: .text("g"), .server: .text("s"),
            ])
        },
        Case("the flag of synchronizable items", .content) {
            $0.attributes = RawContent.list([
                .accessGroup: .text("g"), .synchronizable: .number(1),
            ])
        },
        Case("a protection class as an attribute", .content) {
            $0.attributes = RawContent.list([.accessGroup: .text("g"), .accessible: .text("ck")])
        },
        Case("an access control", .content) {
            $0.attributes = RawContent.list([
                .accessGroup: .text("g"), .accessControl: .accessControl([1]),
            ])
        },
        Case("an access control elsewhere", .content) {
            $0.attributes = RawContent.list([
                .accessGroup: .text("g"), .label: .accessControl([1]),
            ])
        },
        Case("an unknown attribute", .content) { $0.attributes += [64, 3, 0, 0, 0, 0] },
        Case("attributes in other order", .content) {
            $0.attributes =
                RawContent.list([.accessGroup: .text("g")])
                + RawContent.list([.account: .text("me")])
        },
        Case("attributes cut", .content) { $0.attributes.removeLast() },
        Case("attributes of 4 GiB", .limit) { $0.attributesByteCount = .max },
        Case("attributes longer than the content", .form) { $0.attributesByteCount = 100 },
        Case("a value of the kind that has no value", .form) { $0.rest = RawContent.value([]) },
        Case("no value where there is one", .form) { $0.kind = 1 },
        Case("a value of 4 GiB", .limit) {
            $0.kind = 1
            $0.rest = RawContent.value([1], byteCount: .max)
        },
        Case("a value longer than the content", .form) {
            $0.kind = 1
            $0.rest = RawContent.value([1], byteCount: 2)
        },
        Case("a byte after the value", .form) {
            $0.kind = 1
            $0.rest = RawContent.value([1]) + [0]
        },
        Case("fields without a value", .content) {
            $0.attributes += RawContent.list([.fieldCount: .number(1)])
        },
        Case("a value without the fields that it has", .content) {
            ($0.kind, $0.rest) = (1, RawContent.value([1]))
            $0.attributes += RawContent.list([.fieldCount: .number(1)])
        },
        Case("another number of fields", .content) {
            ($0.kind, $0.rest) = (1, RawContent.value(RawContent.oneField))
            $0.attributes += RawContent.list([.fieldCount: .number(2)])
        },
        Case("a number of fields that is text", .content) {
            ($0.kind, $0.rest) = (1, RawContent.value(RawContent.oneField))
            $0.attributes += RawContent.list([.fieldCount: .text("1")])
        },
        Case("moved to the same scope", .protection) {
            $0.kind = 2
            $0.rest = RawContent.message(number: 1)
        },
        Case("moved by number 0", .number) {
            ($0.kind, $0.protectionClass) = (2, 1)
            $0.rest = RawContent.message(number: 0)
        },
        Case("moved with a label", .moved) {
            ($0.kind, $0.protectionClass) = (2, 1)
            $0.attributes += RawContent.list([.label: .text("a")])
            $0.rest = RawContent.message(number: 1)
        },
        Case("moved with a date", .moved) {
            ($0.kind, $0.protectionClass) = (2, 1)
            $0.attributes += RawContent.list([.creationDate: .date(1)])
            $0.rest = RawContent.message(number: 1)
        },
        Case("moved without its message", .form) { ($0.kind, $0.protectionClass) = (2, 1) },
    ]

    @Test(arguments: contents)
    func `Contents that break a rule are invalid`(_ broken: Case<RawContent>) throws {
        var raw = RawContent()
        try Self.parse(raw)
        broken.change(&raw)
        let error = #expect(throws: SyncError.self) { try Self.parse(raw) }
        #expect(error?.code == .invalid)
        #expect(error?.rule == broken.rule)
    }

    private static func parse(_ raw: RawContent) throws {
        let bytes = raw.bytes
        _ = try RecordContent(
            parsing: SecretValue(copying: bytes.span), in: .afterFirstUnlock)
    }

    @Test func `A value with fields that break no rule is valid`() throws {
        var raw = RawContent(kind: 1, rest: RawContent.value(RawContent.oneField))
        raw.attributes += RawContent.list([.fieldCount: .number(1)])
        try Self.parse(raw)
    }

    @Test(arguments: [1, 2] as [UInt8])
    func `Contents that break no rule move to the other scope`(_ protectionClass: UInt8) throws {
        let raw = RawContent(
            protectionClass: protectionClass, kind: 2, rest: RawContent.message(number: 1))
        let bytes = raw.bytes
        let scope: KeyScope = protectionClass == 1 ? .afterFirstUnlock : .whileUnlocked
        let content = try RecordContent(parsing: SecretValue(copying: bytes.span), in: scope)
        #expect(content.encoded.array == bytes)
    }
}
