// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetKeychainModel

@testable internal import Valet

@Suite struct `Storing and reading` {
    static let readable = Accessibility.allCases.filter { $0 != .whenPasscodeSetThisDeviceOnly }

    @Test(arguments: TestBackend.enabled, readable)
    func `A value that was stored is read, in every accessibility`(
        _ backend: TestBackend, _ accessibility: Accessibility
    ) throws {
        let valet = Sample(backend).valet(accessibility)
        try valet.setObject(Data([0, 255]), forKey: "key")
        #expect(try valet.object(forKey: "key") == Data([0, 255]))
    }

    @Test(arguments: TestBackend.enabled)
    func `Text that was stored is read`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("grüße 👋", forKey: "ключ")
        #expect(try valet.string(forKey: "ключ") == "grüße 👋")
    }

    @Test(arguments: TestBackend.enabled)
    func `Text is stored as UTF-8`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("é", forKey: "key")
        #expect(try valet.object(forKey: "key") == Data([0xC3, 0xA9]))
    }

    @Test(arguments: TestBackend.enabled)
    func `A slice of data is stored as the bytes that it holds`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setObject(Data(0...99)[90...], forKey: "key")
        #expect(try valet.object(forKey: "key") == Data(90...99))
    }

    @Test(arguments: TestBackend.enabled)
    func `Storing a second value replaces the first`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("one", forKey: "key")
        try valet.setString("two", forKey: "key")
        #expect(try valet.string(forKey: "key") == "two")
        #expect(try valet.allKeys() == ["key"])
    }

    @Test(arguments: TestBackend.enabled)
    func `Reading a missing key throws itemNotFound`(_ backend: TestBackend) {
        let valet = Sample(backend).valet()
        #expect(throws: KeychainError.itemNotFound) { try valet.object(forKey: "key") }
        #expect(throws: KeychainError.itemNotFound) { try valet.string(forKey: "key") }
    }

    @Test(arguments: TestBackend.enabled)
    func `Reading bytes that are not UTF-8 as text throws itemNotFound`(_ backend: TestBackend)
        throws
    {
        let valet = Sample(backend).valet()
        try valet.setObject(Data([0xFF]), forKey: "key")
        #expect(throws: KeychainError.itemNotFound) { try valet.string(forKey: "key") }
    }

    @Test(arguments: TestBackend.enabled)
    func `An empty value that other software stored is read`(_ backend: TestBackend) throws {
        let sample = Sample(backend)
        let valet = sample.valet()
        try sample.plant(.text("key"), Data(), in: valet)
        #expect(try valet.object(forKey: "key") == Data())
    }

    @Test(arguments: TestBackend.enabled)
    func `Storing an empty value is refused`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        #expect(throws: KeychainError.emptyValue) { try valet.setObject(Data(), forKey: "key") }
        #expect(throws: KeychainError.emptyValue) { try valet.setString("", forKey: "key") }
        #expect(try valet.allKeys() == [])
    }

    @Test func `Every method of a valet refuses an empty key`() {
        let valet = Sample().valet()
        #expect(throws: KeychainError.emptyKey) { try valet.setObject(Data([1]), forKey: "") }
        #expect(throws: KeychainError.emptyKey) { try valet.setString("a", forKey: "") }
        #expect(throws: KeychainError.emptyKey) { try valet.object(forKey: "") }
        #expect(throws: KeychainError.emptyKey) { try valet.string(forKey: "") }
        #expect(throws: KeychainError.emptyKey) { try valet.containsObject(forKey: "") }
        #expect(throws: KeychainError.emptyKey) { try valet.removeObject(forKey: "") }
    }

    @Test(arguments: TestBackend.enabled)
    func `A key of one megabyte works`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        let key = String(repeating: "k", count: 1 << 20)
        try valet.setString("value", forKey: key)
        #expect(try valet.string(forKey: key) == "value")
        #expect(try valet.allKeys() == [key])
    }

    @Test(arguments: TestBackend.enabled)
    func `Keys of a valet compare byte by byte`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setString("value", forKey: "Key")
        #expect(try valet.containsObject(forKey: "key") == false)
    }

    @Test(arguments: [
        (Int32(-25308), KeychainError.couldNotAccessKeychain), (-128, .userCancelled),
        (-34018, .missingEntitlement),
    ])
    func `A failure to read becomes the KeychainError of its kind`(
        _ status: Int32, _ error: KeychainError
    ) {
        let fake = FakeSecItem()
        let valet = fake.valet
        fake.fail(.copy, with: status)
        #expect(throws: error) { try valet.object(forKey: "key") }
        fake.fail(.copy, with: status)
        #expect(throws: error) { try valet.containsObject(forKey: "key") }
        fake.fail(.copy, with: status)
        #expect(throws: error) { try valet.allKeys() }
    }

    @Test(arguments: [
        (Int32(-25308), KeychainError.couldNotAccessKeychain), (-34018, .missingEntitlement),
    ])
    func `A failure to write becomes the KeychainError of its kind`(
        _ status: Int32, _ error: KeychainError
    ) {
        let fake = FakeSecItem()
        let valet = fake.valet
        fake.fail(.update, with: status)
        #expect(throws: error) { try valet.setString("value", forKey: "key") }
        fake.fail(.add, with: status)
        #expect(throws: error) { try valet.setString("value", forKey: "key") }
        fake.fail(.delete, with: status)
        #expect(throws: error) { try valet.removeObject(forKey: "key") }
        fake.fail(.delete, with: status)
        #expect(throws: error) { try valet.removeAllObjects() }
    }
}

extension FakeSecItem {
    /// A valet in this keychain.
    var valet: Valet {
        let name = Identifier.named("fake")
        return Valet(
            Configuration(.standard(name), .whenUnlocked), backend: SecItemKeychain(self))
    }
}
