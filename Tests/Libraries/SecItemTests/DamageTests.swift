// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetTestSupport

@testable import ValetSecItem

/// spec/secitem.md §3.7: a list has what can be read, and one item is the first match.
@Suite struct `Searching beside a damaged item` {
    private let keychain = TestKeychain()
    private var session: KeychainSession { keychain.session }

    init() throws {
        for account in ["a", "b"] { try keychain.add(account, as: .whenUnlocked) }
        try keychain.damageFirstItem()
    }

    private func copy(_ more: NSDictionary) -> Result<AnyObject?, KeychainFailure> {
        Result { () throws(KeychainFailure) in
            try session.copyMatching([kSecClass: kSecClassGenericPassword] + more)
        }
    }

    private func status(_ result: Result<AnyObject?, KeychainFailure>) -> OSStatus {
        switch result {
        case .success: errSecSuccess
        case .failure(let failure): failure.status
        }
    }

    @Test(arguments: ["r_Data", "r_Attributes", "r_PersistentRef"])
    func `SecItemCopyMatching fails for one item if the first match is damaged`(_ flag: String) {
        for limit: Any in [kSecMatchLimitOne, 1, -7] {
            #expect(status(copy([flag: true, kSecMatchLimit: limit])) == errSecDecode)
        }
        #expect(status(copy([flag: true])) == errSecDecode)
        #expect(status(copy([flag: true, kSecAttrAccount: "b"])) == errSecSuccess)
    }

    // Promise: 14.2
    @Test(arguments: [-1, 2])
    func `A list has the others, and the last failure is the damage`(_ limit: Int) throws {
        KeychainFailure.last = nil
        let found = try copy([kSecReturnAttributes: true, kSecMatchLimit: limit]).get()
        let accounts = (found as? [NSDictionary])?.compactMap { $0[kSecAttrAccount] as? String }
        #expect(accounts == ["b"])
        #expect(KeychainFailure.last?.code == .damaged)
    }

    @Test func `A list of damaged items alone is no empty list`() throws {
        _ = try session.delete([kSecClass: kSecClassGenericPassword, kSecAttrAccount: "b"])
        let all: NSDictionary = [kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll]
        #expect(status(copy(all)) == errSecDecode)
    }

    @Test func `A deletion of a row that may be another one fails, and deletes nothing`() throws {
        try keychain.tamper("UPDATE item SET protection = 99 WHERE number = 1")
        for more: NSDictionary in [[:], [kSecAttrAccount: "a"]] {
            let failure = #expect(throws: KeychainFailure.self) {
                try session.delete([kSecClass: kSecClassGenericPassword] + more)
            }
            #expect(failure?.status == errSecDecode)
        }
        #expect(status(copy([kSecAttrAccount: "b"])) == errSecSuccess)
    }
}
