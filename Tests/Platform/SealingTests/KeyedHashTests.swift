// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetTestValues

@testable import ValetSealing

@Suite struct `A keyed hash` {
    @Test(arguments: try Vector.sealing("blake2b"))
    func `A keyed hash is BLAKE2b-256 underneath`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Index.self)
        var state = Sodium.roomForHashState()
        key.withBytes { key in Sodium.startHash(key: key, into: &state) }
        let message = try vector.bytes("message")
        Sodium.hash(message.span, into: &state)
        let digest = Digest { (digest: inout MutableSpan<UInt8>) in
            Sodium.finishHash(&state, into: &digest)
        }
        #expect(try digest.bytes == vector.bytes("digest"))
    }

    @Test(arguments: try Vector.sealing("blake2b-unkeyed"))
    func `A keyed hash without a key is BLAKE2b-256`(_ vector: Vector) throws {
        let message = try vector.bytes("message")
        #expect(try Digest(of: message.span).bytes == vector.bytes("digest"))
    }

    @Test(arguments: try Vector.sealing("hash"))
    func `A keyed hash takes context and parts with their lengths`(_ vector: Vector) throws {
        let hash = try hash(of: vector)
        #expect(try hash.finish().bytes == vector.bytes("digest"))
    }

    @Test(arguments: try Vector.sealing("hash"))
    func `A keyed hash makes a key of the same bytes`(_ vector: Vector) throws {
        let hash = try hash(of: vector)
        #expect(try hash.derive(Purpose.ClassKEK.self).array == vector.bytes("digest"))
    }

    @Test(arguments: try Vector.sealing("hash"))
    func `A keyed hash is made of a message of length-prefixed parts`(_ vector: Vector) throws {
        var message = LengthPrefixed()
        message.append(try vector.text("context"))
        for part in try vector.list("part") { message.append(part) }
        #expect(try message.bytes == vector.bytes("message"))
    }

    @Test(arguments: try Vector.sealing("hash"))
    func `A keyed hash that is kept gives the same digest each time`(_ vector: Vector) throws {
        let kept = KeyedHash(try vector.key("key", as: Purpose.Index.self), .index)
        var parts = LengthPrefixed()
        for part in try vector.list("part") { parts.append(part) }
        let digests = [kept.digest(appending: parts).bytes, kept.digest(appending: parts).bytes]
        #expect(try digests == [vector.bytes("digest"), vector.bytes("digest")])
    }

    @Test(arguments: try Vector.sealing("key-id"))
    func `A keyed hash gives a key its id and its commitment`(_ vector: Vector) throws {
        let key = try vector.key("key", as: Purpose.Value.self)
        #expect(try key.id.bytes == vector.bytes("key_id"))
        #expect(try key.commitment.bytes == vector.bytes("commitment"))
    }

    @Test func `A keyed hash takes a key as a part`() {
        let root = RootKey.random()
        let device = DeviceKEK.random()
        let withKey = KeyedHash.digest(root, .classKEKDevice) { $0.append(device) }
        let withBytes = KeyedHash.digest(root, .classKEKDevice) { $0.append(device.array) }
        #expect(withKey == withBytes)
    }

    @Test func `A keyed hash takes numbers big endian in their full width`() {
        var parts = LengthPrefixed()
        parts.append(0x0102_0304_0506_0708 as UInt64)
        parts.append(0x0102_0304 as UInt32)
        parts.append(5 as UInt8)
        #expect(
            parts.bytes == [0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 4, 1, 2, 3, 4]
                + [0, 0, 0, 1, 5])
    }

    @Test func `A keyed hash takes text as its UTF-8`() {
        var parts = LengthPrefixed()
        parts.append("é")
        #expect(parts.bytes == [0, 0, 0, 2, 0xC3, 0xA9])
    }

    @Test func `A keyed hash has contexts that start with the name of the format`() {
        #expect(DerivationContext.allCases.allSatisfy { $0.rawValue.hasPrefix("valet/1/") })
    }

    private func hash(of vector: Vector) throws -> KeyedHash {
        let context = try #require(DerivationContext(rawValue: vector.text("context")))
        var hash = KeyedHash(try vector.key("key", as: Purpose.Index.self), context)
        for part in try vector.list("part") { hash.append(part) }
        return hash
    }
}
