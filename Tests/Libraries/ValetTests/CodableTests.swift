// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing

@testable internal import Valet

private struct Login: Codable, Equatable, Sendable {
    var name: String
    var token: String?
    var uses = 3
}

@Suite struct `A value` {
    @Test(arguments: TestBackend.enabled)
    func `A value of a custom type that was stored is read`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        let login = Login(name: "ä/b", token: nil)
        try valet.set(login, forKey: "login")
        #expect(try valet.value(forKey: "login", as: Login.self) == login)
        let inferred: Login = try valet.value(forKey: "login")
        #expect(inferred == login)
        #expect(try valet.string(forKey: "login") == #"{"name":"ä/b","uses":3}"#)
    }

    @Test func `A value of a simple type that was stored is read`() throws {
        let valet = Sample().valet()
        try valet.set(42, forKey: "number")
        try valet.set([1.5, -2], forKey: "list")
        #expect(try valet.value(forKey: "number", as: Int.self) == 42)
        #expect(try valet.value(forKey: "list", as: [Double].self) == [1.5, -2])
    }

    @Test(arguments: TestBackend.enabled)
    func `An optional value means absence`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.set("abc", forKey: "token")
        let token: String? = try? valet.value(forKey: "token")
        #expect(token == "abc")
        let read: String? = try valet.value(forKey: "token")
        #expect(read == "abc")
        #expect(try valet.value(forKey: "token", as: String??.self) == "abc")
        try valet.set(String?.some("def"), forKey: "token")
        #expect(try valet.string(forKey: "token") == "def")
        try valet.set(Login?.some(Login(name: "a", token: nil)), forKey: "login")
        #expect(try valet.value(forKey: "login", as: Login?.self)?.name == "a")
        #expect(try valet.value(forKey: "none", as: Login?.self) == nil)
        #expect(try valet.value(forKey: "none", as: Data?.self) == nil)
        try valet.set(String?.none, forKey: "token")
        #expect(try !valet.containsObject(forKey: "token"))
        try valet.setString("{", forKey: "login")
        #expect(throws: ValueCodingError.self) {
            try valet.value(forKey: "login", as: Login?.self)
        }
        try valet.setObject(Data([0xFF]), forKey: "bytes")
        #expect(throws: KeychainError.itemNotFound) {
            try valet.value(forKey: "bytes", as: String?.self)
        }
    }

    @Test func `The localized description of an error is its message`() throws {
        let error = #expect(throws: (any Error).self) {
            try Sample().valet().setString("", forKey: "key")
        }
        #expect(error?.localizedDescription.contains("empty") == true)
        for error in KeychainError.allCases as [any Error] + MigrationError.allCases {
            #expect(!error.localizedDescription.contains("could not be completed"))
        }
        let other = ValueCodingError.notDecodable("Swift.Int")
        #expect((other as any Error).localizedDescription == other.description)
    }

    @Test(arguments: TestBackend.enabled)
    func `A value that is text or bytes is stored unchanged`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.set("a \"text\"", forKey: "text")
        try valet.set(Data([0, 255]), forKey: "bytes")
        #expect(try valet.string(forKey: "text") == "a \"text\"")
        #expect(try valet.object(forKey: "bytes") == Data([0, 255]))
        #expect(try valet.value(forKey: "text", as: String.self) == "a \"text\"")
        #expect(try valet.value(forKey: "bytes", as: Data.self) == Data([0, 255]))
    }

    @Test func `Reading a value of another type fails, keeps the value and does not quote it`()
        throws
    {
        let valet = Sample().valet()
        try valet.setString("hunter2", forKey: "key")
        let error = #expect(throws: ValueCodingError.self) {
            _ = try valet.value(forKey: "key", as: Login.self)
        }
        #expect(error?.description.contains("Login") == true)
        #expect(error.map { "\($0)" }?.contains("hunter2") == false)
        #expect(try valet.string(forKey: "key") == "hunter2")
    }

    @Test func `Storing a value that cannot be written as JSON is refused`() {
        let valet = Sample().valet()
        #expect(throws: ValueCodingError.notEncodable("Swift.Double")) {
            try valet.set(Double.infinity, forKey: "key")
        }
        #expect(throws: KeychainError.itemNotFound) { _ = try valet.object(forKey: "key") }
    }

    @Test func `Storing and reading a value fails with the errors of the valet`() {
        let valet = Sample().valet()
        #expect(throws: KeychainError.emptyKey) { try valet.set(1, forKey: "") }
        #expect(throws: KeychainError.emptyValue) { try valet.set("", forKey: "key") }
        #expect(throws: KeychainError.itemNotFound) {
            _ = try valet.value(forKey: "key", as: Int.self)
        }
    }
}

@Suite struct `A property that is stored in a valet` {
    private struct Settings {
        @KeychainStored<String> var token: String?
        @KeychainStored<Login> var login: Login?

        init(_ valet: Valet) {
            _token = KeychainStored("token", in: valet)
            _login = KeychainStored("login", in: valet)
        }
    }

    @Test(arguments: TestBackend.enabled)
    func `A stored property is read by other programs, and removed by setting nil`(
        _ backend: TestBackend
    ) throws {
        let valet = Sample(backend).valet()
        let settings = Settings(valet)
        #expect(settings.token == nil)
        settings.token = "abc"
        settings.login = Login(name: "n")
        #expect(settings.token == "abc")
        #expect(try valet.string(forKey: "token") == "abc")
        #expect(Settings(valet).login == Login(name: "n"))
        settings.token = nil
        #expect(try valet.allKeys() == ["login"])
        #expect(settings.$token.failure == nil)
    }

    @Test func `A stored property gives the error of its last read or write`() throws {
        let fake = FakeSecItem()
        let settings = Settings(fake.valet)
        settings.token = "abc"
        fake.fail(.copy, with: -25308)
        #expect(settings.token == nil)
        #expect(settings.$token.failure as? KeychainError == .couldNotAccessKeychain)
        #expect(settings.token == "abc")
        #expect(settings.$token.failure == nil)
        fake.fail(.update, with: -25308)
        #expect(throws: KeychainError.couldNotAccessKeychain) { try settings.$token.write("new") }
        #expect(try settings.$token.read() == "abc")
    }

    @Test func `A stored property is not missing if the keychain cannot be read`() throws {
        let fake = FakeSecItem()
        let settings = Settings(fake.valet)
        // Reading finds nothing, and nor does the search for a hint.
        fake.fail(.copy, after: 2, with: -25308)
        #expect(throws: KeychainError.couldNotAccessKeychain) { _ = try settings.$token.read() }
        fake.fail(.copy, after: 2, with: -26275)
        #expect(settings.token == nil)
        #expect(settings.$token.failure as? KeychainError == .couldNotAccessKeychain)
        #expect(try settings.$token.read() == nil)
    }

    @Test func `A stored property is not missing if another type is stored`() throws {
        let valet = Sample().valet()
        try valet.setObject(Data([0xFF]), forKey: "token")
        try valet.setString("no login", forKey: "login")
        let settings = Settings(valet)
        #expect(throws: KeychainError.itemNotFound) { _ = try settings.$token.read() }
        #expect(settings.login == nil)
        #expect(settings.$login.failure is ValueCodingError)
    }
}
