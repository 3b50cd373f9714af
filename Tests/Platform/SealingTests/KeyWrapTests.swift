// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `A wrapped key` {
    private let binding = WrapBinding(.classKey, keychainID: .random(), epoch: Epoch(4))

    @Test(arguments: try Vector.sealing("wrap"))
    func `A wrapped key unwraps as its vector says`(_ vector: Vector) throws {
        let kek = try vector.key("kek", as: Purpose.ClassKEK.self)
        let binding = try WrapBinding(vector)
        let bytes = try vector.bytes("wrapped")
        try vector.check {
            let wrapped = try WrappedKey(parsing: bytes.span)
            let key = try KeyWrap.unwrap(
                wrapped, as: Purpose.Class.self, under: kek, binding: binding)
            #expect(try key.array == vector.bytes("key"))
        }
    }

    @Test(arguments: try Vector.sealing("wrap").filter { $0.outcome == .success })
    func `A wrapped key is what its vector says`(_ vector: Vector) throws {
        let wrapped = try KeyWrap.wrap(
            vector.key("key", as: Purpose.Class.self),
            under: vector.key("kek", as: Purpose.ClassKEK.self), binding: WrapBinding(vector),
            nonce: Nonce(vector.bytes("nonce")))
        #expect(try wrapped.bytes == vector.bytes("wrapped"))
    }

    @Test func `A wrapped key unwraps to the key that was wrapped`() throws {
        let key = ClassKey.random()
        let kek = ClassKEK.random()
        let wrapped = KeyWrap.wrap(key, under: kek, binding: binding)
        let unwrapped: ClassKey = try KeyWrap.unwrap(wrapped, under: kek, binding: binding)
        #expect(unwrapped.array == key.array)
    }

    @Test func `A wrapped key is the same once written and read`() throws {
        let wrapped = KeyWrap.wrap(ClassKey.random(), under: ClassKEK.random(), binding: binding)
        let bytes = wrapped.bytes
        #expect(try WrappedKey(parsing: bytes.span) == wrapped)
    }

    @Test func `A wrapped key asks for another key, naming what it is`() {
        let wrapped = KeyWrap.wrap(ClassKey.random(), under: ClassKEK.random(), binding: binding)
        let error = #expect(throws: SystemError.self) {
            _ = try KeyWrap.unwrap(
                wrapped, as: Purpose.Class.self, under: ClassKEK.random(), binding: binding)
        }
        #expect(error == SystemError.sealing(.wrongKey, during: .unwrap, of: "class"))
    }

    @Test func `A wrapped key is refused with any byte changed, and for the right reason`() {
        let kek = ClassKEK.random()
        let bytes = KeyWrap.wrap(ClassKey.random(), under: kek, binding: binding).bytes
        for index in bytes.indices {
            let error = #expect(throws: SystemError.self) {
                let changed = bytes.flipping(index)
                let wrapped = try WrappedKey(parsing: changed.span)
                _ = try KeyWrap.unwrap(
                    wrapped, as: Purpose.Class.self, under: kek, binding: binding)
            }
            #expect(error?.code == expectedCode(at: index), "byte \(index)")
        }
    }

    private func expectedCode(at index: Int) -> SystemError.Code {
        switch index {
        case 0: .unsupported
        case 17..<49: .wrongKey
        default: .tampered
        }
    }

    @Test(arguments: 0..<121)
    func `A wrapped key is refused when cut short`(byteCount: Int) {
        let wrapped = KeyWrap.wrap(ClassKey.random(), under: ClassKEK.random(), binding: binding)
        let cut = Array(wrapped.bytes.prefix(byteCount))
        let error = #expect(throws: SystemError.self) { try WrappedKey(parsing: cut.span) }
        #expect(error?.code == .malformed)
    }
}

extension WrapBinding {
    /// The place that a vector names.
    init(_ vector: Vector) throws {
        self.init(
            try #require(WrapType(rawValue: vector.text("type"))),
            keychainID: try KeychainID(vector.bytes("keychain")),
            epoch: Epoch(try vector.number("epoch")), parameters: try vector.bytes("parameters"))
    }
}
