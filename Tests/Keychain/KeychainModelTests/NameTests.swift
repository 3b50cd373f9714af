// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetKeychainModel

@Suite struct `A persistent reference's bytes` {
    @Test(arguments: ItemClass.allCases)
    func `A persistent reference's bytes come back as they went`(_ itemClass: ItemClass) {
        let reference = PersistentReference(itemClass: itemClass, itemID: Array(0..<16))
        #expect(PersistentReference(bytes: reference.bytes) == reference)
        #expect(reference.bytes.count == PersistentReference.byteCount)
    }

    @Test(arguments: [[], Array("genp".utf8), Array("keys0123456789abcdef".utf8)] as [[UInt8]])
    func `A persistent reference's bytes are 20 and name a class of passwords`(_ bytes: [UInt8]) {
        #expect(PersistentReference(bytes: bytes) == nil)
    }
}

@Suite struct `Codes and classes` {
    @Test func `Codes name protection classes as stored data does`() {
        #expect(
            ProtectionClass.allCases.map(\.code) == ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"])
    }

    @Test(arguments: ProtectionClass.allCases)
    func `Codes find the protection class again`(_ protectionClass: ProtectionClass) {
        #expect(ProtectionClass(code: protectionClass.code) == protectionClass)
    }

    @Test(arguments: ["", "f", "AK", "ak "])
    func `Codes name no other protection class`(_ code: String) {
        #expect(ProtectionClass(code: code) == nil)
    }

    @Test(arguments: KeychainFailure.Code.allCases)
    func `Codes say something about every failure`(_ code: KeychainFailure.Code) {
        #expect(code.status < 0)
        #expect(!code.explanation.isEmpty)
    }

    @Test func `Codes keep place and cause out of each other's way`() {
        let failure = KeychainFailure(.diskFull, during: "add an item", path: "/a")
        #expect(failure.description == "could not add an item: the disk is full (/a)")
    }
}

@Suite struct `Access groups` {
    @Test(arguments: [("é", "e\u{301}"), ("a", "A"), ("a", "a "), ("a", "")])
    func `Access groups compare byte by byte`(_ one: String, _ two: String) {
        #expect(AccessGroup(one) == AccessGroup(one))
        #expect(AccessGroup(one) != AccessGroup(two))
        #expect(![AccessGroup(one)].contains(AccessGroup(two)))
    }
}
