// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing

@testable internal import Valet

@Suite struct `Errors of valets` {
    @Test(arguments: [
        (Int32(-25300), KeychainError.itemNotFound), (-128, .userCancelled),
        (-25293, .userCancelled), (-34018, .missingEntitlement),
        (-25308, .couldNotAccessKeychain), (-25299, .couldNotAccessKeychain),
        (-26275, .couldNotAccessKeychain), (-1, .couldNotAccessKeychain),
    ])
    func `A status becomes the KeychainError of its kind`(_ status: Int32, _ error: KeychainError) {
        #expect(KeychainError(status: status) == error)
    }

    @Test func `The cases of KeychainError keep their numbers`() {
        #expect(KeychainError.allCases.map(\.rawValue) == Array(0...5))
        #expect(KeychainError.couldNotAccessKeychain.rawValue == 0)
        #expect(KeychainError.emptyValue.rawValue == 5)
    }

    @Test func `The cases of MigrationError keep their numbers`() {
        #expect(MigrationError.allCases.map(\.rawValue) == Array(0...5))
        #expect(MigrationError.invalidQuery.rawValue == 0)
        #expect(MigrationError.removalFailed.rawValue == 5)
    }

    @Test(arguments: KeychainError.allCases)
    func `A KeychainError describes itself by the name of its case`(_ error: KeychainError) {
        #expect(error.description == "KeychainError.\(String(reflecting: error).caseName)")
    }

    @Test(arguments: MigrationError.allCases)
    func `A MigrationError describes itself by the name of its case`(_ error: MigrationError) {
        #expect(error.description == "MigrationError.\(String(reflecting: error).caseName)")
    }

    @Test func `A pair of key and text has the UTF-8 of the text`() {
        let pair = MigratableKeyValuePair(key: "k", value: "é")
        #expect(pair == MigratableKeyValuePair(key: "k", value: Data([0xC3, 0xA9])))
    }
}

extension String {
    fileprivate var caseName: Substring { split(separator: ".").last ?? "" }
}
