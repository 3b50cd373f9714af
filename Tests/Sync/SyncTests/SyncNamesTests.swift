// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@testable import ValetSync

@Suite struct `Names of sync` {
    @Test func `Ids are ordered by their bytes`() {
        let ids = [LogID(high: 1, low: 2), LogID(high: 0, low: 3), LogID(high: 1, low: 0)]
        #expect(ids.sorted() == [ids[1], ids[2], ids[0]])
        let byBytes = ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        #expect(ids.sorted() == byBytes)
    }

    @Test func `A hash keeps the bytes of its digest`() throws {
        let digest = Digest(of: [UInt8]("abc".utf8).span)
        #expect(SyncHash(digest).bytes == digest.bytes)
        var reader = ByteReader(digest.bytes, malformed: Misfit())
        #expect(try SyncHash(from: &reader) == SyncHash(digest))
        #expect(SyncHash(digest).half(as: DeviceID.self).bytes == Array(digest.bytes[..<16]))
    }

    @Test func `Dots are ordered by log, number and tag`() {
        let logs = [LogID(high: 1, low: 1), LogID(high: 1, low: 2)]
        let sorted = [
            Dot(log: logs[0], number: 1, tag: 9), Dot(log: logs[0], number: 2, tag: 0),
            Dot(log: logs[0], number: 2, tag: 1), Dot(log: logs[1], number: 1, tag: 0),
        ]
        #expect(Array(sorted.reversed()).sorted() == sorted)
    }

    @Test func `The tag of a record depends on its time, its salt and its content`() {
        func tag(_ time: UInt64, _ salt: UInt64, _ content: String) -> UInt64 {
            let content = SecretValue(copying: [UInt8](content.utf8).span)
            let salt = RecordSalt(high: 0, low: salt)
            return SyncRecord(time: time, salt: salt, content: content).tag
        }
        #expect(tag(1, 2, "a") == tag(1, 2, "a"))
        #expect(Set([tag(1, 2, "a"), tag(2, 2, "a"), tag(1, 3, "a"), tag(1, 2, "b")]).count == 4)
    }
}

private struct Misfit: Error {}
