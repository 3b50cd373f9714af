// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeychainStore

@Suite struct `Any bytes` {
    @Test func `Any bytes are refused as a header, or give the same bytes again`() throws {
        var random = SplitMix(seed: 1)
        let seeds = try Vector.backup("header").map { try $0.bytes("header") }
        var accepted = 0
        for _ in 0..<20_000 {
            let seed = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            var bytes = random.mutation(of: seed)
            // Beyond the checksum lies what there is to be found.
            if bytes.count == 236, Bool.random(using: &random) {
                let body = Array(bytes.prefix(204))
                bytes = body + Digest(of: body.span).bytes
            }
            guard let header = try? BackupHeader(parsing: bytes, path: "-", costs: .format) else {
                continue
            }
            accepted += 1
            let body =
                header.preamble.bytes + header.wrappedKey.bytes + header.stream.bytes
            #expect(body + Digest(of: body.span).bytes == bytes)
        }
        #expect(accepted > 100)
    }

    @Test func `Any bytes are refused as attributes, or give the same bytes again`() throws {
        var random = SplitMix(seed: 2)
        let seeds = try Vector.backup("content").map { try $0.bytes("content").dropFirst(20) }
        var accepted = 0
        for _ in 0..<50_000 {
            let seed = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            // Up to the end of an attribute, so that some are taken.
            let length = seed.count > 21 ? Int.random(in: 21...seed.count, using: &random) : 0
            let bytes =
                Bool.random(using: &random)
                ? random.mutation(of: Array(seed.prefix(length))) : Array(seed.prefix(length))
            guard let list = BackupAttributes(encoded: bytes)?.list else { continue }
            accepted += 1
            #expect(list.encoded == bytes)
            #expect(list.encodedByteCount == bytes.count)
        }
        #expect(accepted > 100)
    }

    @Test func `Any bytes are refused as content, or give the same records again`() throws {
        let folder = try TestFolder()
        var random = SplitMix(seed: 3)
        let seeds = try Vector.backup("content").map { try $0.bytes("content") }
        var accepted = 0
        for _ in 0..<3_000 {
            let seed = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            var content = random.mutation(of: seed)
            if Int.random(in: 0..<4, using: &random) == 0 { content = seed }
            try TestBackup.write(content: content, to: folder.backup)
            let reader = try TestBackup.open(folder.backup)
            do {
                let (items, _) = try reader.all()
                accepted += 1
                let records = items.flatMap(\.record)
                #expect(content.starts(with: records))
            } catch let error as KeychainFailure {
                #expect(error.fault == .damaged)
            }
        }
        #expect(accepted > 30)
    }

    @Test func `Any bytes are no backup`() throws {
        let folder = try TestFolder()
        var random = SplitMix(seed: 4)
        for count in [0, 1, 7, 8, 100, 236, 70_000] {
            try folder.write((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
            let error = #expect(throws: KeychainFailure.self) { try LockedBackup(folder.backup) }
            #expect(error?.fault == .notABackup)
        }
    }
}
