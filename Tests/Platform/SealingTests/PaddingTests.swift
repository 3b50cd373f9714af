// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem

@testable import ValetSealing

@Suite struct `Padded plaintext` {
    // Promise: 1.11
    @Test(arguments: [(0, 16), (1, 16), (15, 16), (16, 32), (17, 32), (64, 80)])
    func `Padded plaintext is longer, up to the next multiple`(byteCount: Int, expected: Int) {
        let plaintext = [UInt8](repeating: 7, count: byteCount)
        let padded = Padding.padded(plaintext.span, toMultipleOf: 16)
        #expect(padded.byteCount == expected)
    }

    @Test(arguments: 0...70)
    func `Padded plaintext is found again`(byteCount: Int) throws {
        let plaintext = (0..<byteCount).map { _ in UInt8(0x80) }
        let padded = Padding.padded(plaintext.span, toMultipleOf: 32)
        let unpadded = try padded.withBytes { bytes in
            try Padding.unpaddedByteCount(bytes, step: 32)
        }
        #expect(unpadded == byteCount)
        #expect(Array(padded.array.prefix(byteCount)) == plaintext)
    }

    @Test(arguments: [0, 5, 8])
    func `Padded plaintext is the same in an array`(byteCount: Int) {
        var plaintext = [UInt8](repeating: 3, count: byteCount)
        let padded = Padding.padded(plaintext.span, toMultipleOf: 8).array
        Padding.pad(&plaintext, toMultipleOf: 8)
        #expect(plaintext == padded)
    }

    @Test(arguments: [
        [], [0x80], [1, 2, 3, 4], [0, 0, 0, 0], [0x80, 0, 0, 1], [0x80, 0, 0, 0, 0, 0, 0, 0],
    ])
    func `Padded plaintext is refused with wrong padding`(padded: [UInt8]) {
        let error = #expect(throws: SystemError.self) {
            try Padding.unpaddedByteCount(padded.span, step: 4)
        }
        #expect(error == SystemError.sealing(.malformed, during: .unpad, of: "plaintext"))
    }
}
