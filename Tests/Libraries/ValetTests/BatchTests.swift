// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing

@testable internal import Valet

@Suite struct `Several objects at once` {
    @Test(arguments: TestBackend.enabled)
    func `Several objects are stored and read in one call`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setObjects(["a": Data("1".utf8), "b": Data("2".utf8)])
        try valet.setObjects(["b": Data("3".utf8), "c": Data("4".utf8)])
        let read = try valet.objects(forKeys: ["a", "b", "c", "missing"])
        #expect(read == ["a": Data("1".utf8), "b": Data("3".utf8), "c": Data("4".utf8)])
    }

    @Test(arguments: TestBackend.enabled)
    func `Storing and reading no objects works`(_ backend: TestBackend) throws {
        let valet = Sample(backend).valet()
        try valet.setObjects([:])
        #expect(try valet.objects(forKeys: [String]()) == [:])
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Storing several objects is refused as a whole if a key or value is empty`(
        _ backend: TestBackend
    ) throws {
        let valet = Sample(backend).valet()
        let one = Data("1".utf8)
        #expect(throws: KeychainError.emptyKey) { try valet.setObjects(["a": one, "": one]) }
        #expect(throws: KeychainError.emptyValue) { try valet.setObjects(["a": one, "b": Data()]) }
        #expect(throws: KeychainError.emptyKey) { _ = try valet.objects(forKeys: ["a", ""]) }
        #expect(try valet.allKeys() == [])
    }

    @Test(arguments: TestBackend.enabled)
    func `Storing several objects is refused as a whole for a group of another application`(
        _ backend: TestBackend
    ) throws {
        let valet = Sample(backend).valet(.sharedGroup(.sample("XYZ"), nil), .whenUnlocked)
        #expect(throws: KeychainError.missingEntitlement) {
            try valet.setObjects(["a": Data("1".utf8)])
        }
    }

    @Test func `Objects are set back on a system without transactions if a later one fails`() throws
    {
        let fake = FakeSecItem()
        try fake.valet.setString("1", forKey: "a")
        // One of the three is there, two are added; the second of those fails.
        fake.fail(.add, after: 1, with: -25308)
        let objects = ["a", "b", "c"].map { ($0, Data("2".utf8)) }
        #expect(throws: KeychainError.couldNotAccessKeychain) {
            try fake.valet.setObjects(Dictionary(uniqueKeysWithValues: objects))
        }
        #expect(try fake.valet.allKeys() == ["a"])
        #expect(try fake.valet.string(forKey: "a") == "1")
    }
}
