// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `A stream of sealed chunks` {
    private func open(
        _ sealed: [UInt8], _ data: [UInt8], with opener: inout StreamOpener
    ) throws -> (plaintext: [UInt8], isLast: Bool) {
        var plaintext = SecretBytes(byteCount: sealed.count - SealedStream.overhead)
        let isLast = try opener.open(sealed.span, associatedData: data.span, into: &plaintext)
        return (plaintext.withBytes { bytes in bytes.indices.map { bytes[$0] } }, isLast)
    }

    @Test(arguments: try Vector.sealing("stream"))
    func `A stream of sealed chunks is what libsodium says it is`(_ vector: Vector) throws {
        let header = try StreamHeader(vector.bytes("header"))
        let key: BackupKey = try vector.key("key")
        var opener = StreamOpener(under: key, header: header)
        let data = try vector.bytes("associated_data")
        let plaintexts = try vector.list("plaintext")
        try vector.check {
            var isLast = false
            for (sealed, plaintext) in zip(try vector.list("sealed"), plaintexts) {
                #expect(!isLast)
                let chunk = try open(sealed, data, with: &opener)
                #expect(chunk.plaintext == plaintext)
                isLast = chunk.isLast
            }
            #expect(try isLast == (vector.number("ends") == 1))
        }
    }

    @Test(arguments: [0, 1, 15, 16, 64, 1_000])
    func `A stream of sealed chunks opens to what was sealed`(_ byteCount: Int) throws {
        let key = BackupKey.random()
        var sealer = StreamSealer(under: key)
        var opener = StreamOpener(under: key, header: sealer.header)
        for isLast in [false, false, true] {
            let plaintext = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0) }
            let data: [UInt8] = [1, 2]
            var sealed = [UInt8](repeating: 0, count: byteCount + SealedStream.overhead)
            sealer.seal(
                plaintext.span, associatedData: data.span, isLast: isLast, into: &sealed)
            let chunk = try open(sealed, data, with: &opener)
            #expect(chunk.plaintext == plaintext && chunk.isLast == isLast)
        }
    }

    @Test func `A stream of sealed chunks has a header of its own each time`() {
        let key = BackupKey.random()
        let headers = (0..<10).map { _ in StreamSealer(under: key).header }
        #expect(Set(headers).count == 10)
    }

    @Test func `A stream of sealed chunks goes on after a chunk that did not open`() throws {
        let key = BackupKey.random()
        var sealer = StreamSealer(under: key)
        var opener = StreamOpener(under: key, header: sealer.header)
        var sealed = [UInt8](repeating: 0, count: 1 + SealedStream.overhead)
        let (plaintext, nothing) = ([7] as [UInt8], [] as [UInt8])
        sealer.seal(
            plaintext.span, associatedData: nothing.span, isLast: true, into: &sealed)
        let error = #expect(throws: SystemError.self) { try open(sealed, [1], with: &opener) }
        #expect(error == SystemError.sealing(.tampered, during: .open, of: "chunk"))
        let chunk = try open(sealed, nothing, with: &opener)
        #expect(chunk.plaintext == plaintext && chunk.isLast)
    }
}
