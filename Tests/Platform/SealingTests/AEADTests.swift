// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `Sealed data` {
    private let plaintext: [UInt8] = Array("a value that nobody should see".utf8)
    private let data: [UInt8] = [1, 2, 3]

    @Test(arguments: try Vector.sealing("aead"))
    func `Sealed data opens as its vector says`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Value.self)
        let sealed = try vector.bytes("sealed")
        let data = try vector.bytes("associated_data")
        try vector.check {
            let opened = try AEAD.open(sealed.span, associatedData: data.span, under: key)
            #expect(try opened.array == vector.bytes("plaintext"))
        }
    }

    @Test(arguments: try Vector.sealing("aead"))
    func `Sealed data opens into an array as its vector says`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Attributes.self)
        let sealed = try vector.bytes("sealed")
        let data = try vector.bytes("associated_data")
        try vector.check {
            let opened = try AEAD.openIntoArray(sealed.span, associatedData: data.span, under: key)
            #expect(try opened == vector.bytes("plaintext"))
        }
    }

    @Test(arguments: try Vector.sealing("aead").filter { $0.outcome == .success })
    func `Sealed data is what its vector says`(_ vector: Vector) throws {
        let plaintext = try vector.bytes("plaintext")
        let data = try vector.bytes("associated_data")
        let sealed = try AEAD.seal(
            plaintext.span, associatedData: data.span,
            under: vector.key("key", as: Purpose.Value.self), nonce: Nonce(vector.bytes("nonce")))
        #expect(try sealed == vector.bytes("sealed"))
    }

    @Test func `Sealed data is longer by the overhead`() {
        #expect(seal(under: .random()).count == plaintext.count + AEAD.overhead)
        #expect(AEAD.overhead == 40)
    }

    @Test func `Sealed data has another nonce each time`() {
        let key = ValueSubkey.random()
        #expect(seal(under: key).prefix(24) != seal(under: key).prefix(24))
    }

    /// docs/FORMAT.md §5.2: the nonce is kept once, and is not part of the sealed bytes.
    @Test func `Parts of a row open as the part that they are, under their row's nonce`() throws {
        let attributes = AttributesSubkey.random()
        let value = ValueSubkey.random()
        var fields = FixedFields(byteCount: data.count)
        fields.append(data.span)
        let nonce = RowNonce.random()
        let (one, two) = (RowPart(.names, nonce), RowPart(.value, nonce))
        let names = AEAD.seal(plaintext.span, one, associatedData: fields, under: attributes)
        let secret = AEAD.seal(plaintext.span, two, associatedData: fields, under: value)
        #expect(names.count == plaintext.count + 16 && secret.count == plaintext.count + 16)
        let list = try AEAD.openIntoArray(
            names.span, one, associatedData: fields, under: attributes)
        #expect(list == plaintext)
        let opened = try AEAD.open(secret.span, two, associatedData: fields, under: value)
        #expect(opened.array == plaintext)
        for part in [two, RowPart(.names, .random())] {
            #expect(throws: SystemError.self) {
                try AEAD.openIntoArray(names.span, part, associatedData: fields, under: attributes)
            }
        }
        #expect(throws: SystemError.self) {
            _ = try AEAD.open(secret.span, one, associatedData: fields, under: value)
        }
        #expect(throws: SystemError.self) {
            _ = try AEAD.open(
                secret.span.extracting(first: 15), two, associatedData: fields, under: value)
        }
    }

    // Promise: 1.10
    @Test func `Sealed data does not open with any byte changed`() {
        let key = ValueSubkey.random()
        let sealed = seal(under: key)
        for index in sealed.indices {
            let error = #expect(throws: SystemError.self) {
                let changed = sealed.flipping(index)
                _ = try AEAD.open(changed.span, associatedData: data.span, under: key)
            }
            #expect(error == SystemError.sealing(.tampered, during: .open, of: "sealed data"))
        }
    }

    // Promise: 1.10
    @Test func `Sealed data does not open under another key`() {
        let sealed = seal(under: .random())
        let error = #expect(throws: SystemError.self) {
            _ = try AEAD.open(
                sealed.span, associatedData: data.span, under: ValueSubkey.random())
        }
        #expect(error?.code == .tampered)
    }

    private func seal(under key: borrowing ValueSubkey) -> [UInt8] {
        AEAD.seal(plaintext.span, associatedData: data.span, under: key)
    }
}

@Suite struct `A symmetric key` {
    @Test(arguments: [0, 16, 31, 33, 64])
    func `A symmetric key has 32 bytes and no other number`(byteCount: Int) {
        let bytes = [UInt8](repeating: 0, count: byteCount)
        let error = #expect(throws: SystemError.self) { _ = try RootKey(copying: bytes.span) }
        #expect(error?.code == .malformed)
    }

    @Test func `A symmetric key is another each time it is made`() {
        let first = RootKey.random()
        let isEqual = first.isEqual(to: .random())
        #expect(!isEqual)
    }

    @Test func `A symmetric key equals its copy`() throws {
        let key = RootKey.random()
        let bytes = key.array
        let isEqual = key.isEqual(to: try RootKey(copying: bytes.span))
        #expect(isEqual)
    }
}

@Suite struct `A fixed number of bytes` {
    @Test func `A fixed number of bytes is refused when it is another number`() {
        let error = #expect(throws: SystemError.self) { try KeyID([1, 2, 3]) }
        #expect(error == SystemError.sealing(.malformed, during: .parse, of: "KeyID"))
    }

    @Test(arguments: 0..<16)
    func `A fixed number of bytes differs in any byte`(index: Int) throws {
        let id = KeychainID.random()
        #expect(try KeychainID(id.bytes.flipping(index)) != id)
    }

    @Test func `A fixed number of bytes equals its copy and hashes like it`() throws {
        let id = KeychainID.random()
        #expect(try Set([id]).contains(KeychainID(id.bytes)))
    }

    @Test func `A fixed number of bytes is described in hexadecimal`() throws {
        #expect(
            try KeyID([0x0A, 0xFF] + [UInt8](repeating: 0, count: 14)).description
                == "0aff0000000000000000000000000000")
    }
}
