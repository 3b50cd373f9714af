// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

@Suite struct `A value` {
    let keychain = TestKeychain()

    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    /// Around both steps of padding.
    @Test(arguments: [0, 1, 31, 32, 33, 1023, 1024, 1025, 1055, 1056, 2047, 2048, 65_536, 1 << 20])
    func `A value decodes to what was encoded`(_ count: Int) throws {
        let bytes = Self.pattern(count)
        let item = Addition(.generic("a"), value: .bytes(bytes))
        _ = try keychain.store.add(item, for: keychain.caller)
        #expect(try keychain.store.value(of: .exact("a"), for: keychain.caller)?.array == bytes)
        let copied = try #require(try keychain.item(.generic()))
        #expect(copied.value?.array == bytes)
        #expect(copied.valueByteCount == count)
        #expect(keychain.damage() == [])
    }

    @Test(arguments: [0x80, 0x00] as [UInt8], [1, 32, 1024, 1025])
    func `A value may look like padding`(_ byte: UInt8, _ count: Int) throws {
        let bytes = [UInt8](repeating: byte, count: count)
        try keychain.store.set(Addition(.generic("a"), value: .bytes(bytes)), for: keychain.caller)
        #expect(try keychain.store.value(of: .exact("a"), for: keychain.caller)?.array == bytes)
    }

    @Test func `A value has at most 16 MiB`() throws {
        let largest = [UInt8](repeating: 0xa5, count: 16 << 20)
        let item = Addition(.generic("a"), value: .bytes(largest))
        _ = try keychain.store.add(item, for: keychain.caller)
        #expect(try keychain.store.value(of: .exact("a"), for: keychain.caller)?.array == largest)

        let larger = SecretValue(SecretBytes(byteCount: (16 << 20) + 1))
        let caller = keychain.caller
        let store = keychain.store
        #expect(
            failure {
                _ = try store.add(Addition(.generic("b"), value: larger), for: caller)
            } == .valueTooLarge)
        #expect(
            failure {
                try store.set(Addition(.generic("a"), value: larger), for: caller)
            } == .valueTooLarge)
        #expect(
            failure {
                _ = try store.update(.exact("a"), ItemChanges(), value: larger, for: caller)
            } == .valueTooLarge)
        #expect(try keychain.accounts(.generic()) == ["a"])
    }

    @Test func `An empty value differs from no value`() throws {
        try keychain.add(.generic("empty"), "")
        try keychain.add(.generic("none"), nil)
        #expect(try keychain.value(.exact("empty")) == "")
        #expect(try keychain.value(.exact("none")) == nil)
        #expect(try keychain.item(.exact("empty"))?.valueByteCount == 0)
        #expect(try keychain.item(.exact("none"))?.valueByteCount == nil)
    }

    @Test func `A value is read only on request`() throws {
        try keychain.add(.generic("a"))
        #expect(try keychain.items(.exact("a"), .attributes).first?.value == nil)
        #expect(try keychain.items(.exact("a"), .value).first?.text == "value")
    }

    // Promise: 1.11
    /// FORMAT §9: sizes are visible in steps.
    @Test(arguments: [
        (0, 32), (31, 32), (32, 64), (1023, 1024), (1024, 1056), (1025, 2048), (2047, 2048),
        (2048, 3072),
    ])
    func `The stored size of a value grows in steps`(_ count: Int, _ padded: Int) throws {
        let value = SecretValue.bytes(Self.pattern(count))
        let item = try keychain.store.add(
            Addition(.generic("a"), value: value), for: keychain.caller)
        #expect(try keychain.row(item).secret?.count == padded + 16)
    }
}

@Suite struct `An attribute` {
    let keychain = TestKeychain()

    @Test(
        arguments: [.text(""), .text("é"), .bytes([]), .bytes([0, 0xff]), .number(-1)]
            + [.number(1 << 40)] as [AttributeValue])
    func `An attribute keeps its type`(_ value: AttributeValue) throws {
        try keychain.add(.generic("x", [.account: value, .generic: value, .label: value]))
        let item = try #require(try keychain.item(.generic()))
        // What is at its default is not stored: empty data for empty text is.
        #expect(item.attributes[.account] == value)
        #expect(item.attributes[.generic] == value)
        #expect(item.attributes[.label] == value)
        #expect(keychain.damage() == [])
    }

    @Test(arguments: Attribute.allCases.filter { $0.isHashed && $0.exists(in: .internetPassword) })
    func `An attribute finds its item and no other`(_ attribute: Attribute) throws {
        let value: AttributeValue = attribute.family == .number ? .number(7) : .text("wanted")
        let other: AttributeValue = attribute.family == .number ? .number(8) : .text("other")
        try keychain.add(.internet("plain"))
        try keychain.add(.internet("x", [attribute: other]))
        let wanted = try keychain.add(.internet("y", [attribute: value]))
        let query = ItemQuery(.internetPassword, attributes: [attribute: value])
        #expect(try keychain.items(query).map(\.reference) == [wanted.reference])
        #expect(keychain.damage() == [])
    }

    /// spec/secitem.md §2.1: empty text, empty data and nothing at all.
    @Test(arguments: [AttributeValue.text(""), .bytes([])])
    func `An empty attribute is found as a missing one`(_ empty: AttributeValue) throws {
        try keychain.add(NewItem(.internetPassword, attributes: [.account: .text("a")]))
        try keychain.add(.internet("b", [.path: .bytes([])]))
        let query = ItemQuery(.internetPassword, attributes: [.path: empty])
        #expect(try keychain.accounts(query) == ["a", "b"])
    }

    @Test func `An attribute that was never set is not found as an empty one`() throws {
        try keychain.add(.generic("a"))
        #expect(try keychain.items(.generic([.label: .text("")])).isEmpty)
    }

    @Test(
        arguments: [
            (.text("443"), 0), (.number(443), 1), (.text("http"), 0), (.number(0), 1),
        ] as [(AttributeValue, Int)])
    func `A numeric attribute compares as a number`(_ wanted: AttributeValue, _ count: Int) throws {
        try keychain.add(.internet("a", [.port: .number(443)]))
        try keychain.add(.internet("b"))
        let query = ItemQuery(.internetPassword, attributes: [.port: wanted])
        #expect(try keychain.items(query).count == count)
    }

    @Test func `An attribute may be of any size`() throws {
        let text = String(repeating: "long ", count: 50_000)
        try keychain.add(.generic("a", [.comment: .text(text)]))
        #expect(try keychain.items(.generic([.comment: .text(text)])).count == 1)
    }
}
