// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `A stretched passphrase` {
    @Test(arguments: try Vector.sealing("argon2id"))
    func `A stretched passphrase is what Argon2id gives`(_ vector: Vector) throws {
        let cost = Argon2Cost(
            uncheckedMemoryKiB: try vector.number("memory_kib"),
            passes: try vector.number("passes"))
        let bytes = try vector.bytes("passphrase")
        let passphrase = SecretBytes(copying: bytes.span)
        let key = try PassphraseKDF.stretch(
            passphrase, salt: Salt(vector.bytes("salt")), cost: cost)
        #expect(try key.array == vector.bytes("key"))
    }

    @Test func `A stretched passphrase at the lowest real cost depends on the salt`() throws {
        let cost = try Argon2Cost(memoryKiB: 64 << 10, passes: 3)
        let passphrase = SecretBytes(copying: [1, 2, 3].span)
        let first = try PassphraseKDF.stretch(passphrase, salt: .random(), cost: cost)
        let second = try PassphraseKDF.stretch(passphrase, salt: .random(), cost: cost)
        #expect(first.array != second.array)
    }

    @Test(arguments: [(65_535, 3), (65_536, 2), (1 << 20 + 1, 3), (65_536, 65), (0, 0)])
    func `A stretched passphrase is refused at a cost out of bounds`(
        memoryKiB: UInt32, passes: UInt32
    ) {
        let error = #expect(throws: SystemError.self) {
            try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
        }
        #expect(
            error == SystemError.sealing(.malformed, during: .parse, of: "cost of a passphrase"))
    }

    @Test func `A stretched passphrase may cost from 64 MiB to 1 GiB`() throws {
        #expect(try Argon2Cost(memoryKiB: 65_536, passes: 3).memoryKiB == 65_536)
        #expect(try Argon2Cost(memoryKiB: 1 << 20, passes: 64).passes == 64)
    }
}
