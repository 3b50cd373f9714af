// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetKeychainServices
import ValetSecItem
import ValetTestSupport

/// The keychain of this process: a temporary one, with an identity that has two groups.
enum ProcessKeychain {
    static let defaultGroup = TestProcess.defaultGroup
    static let sharedGroup = TestProcess.sharedGroup
    static let applicationIdentifier = TestProcess.applicationIdentifier

    /// Whether the identity is this one.
    static let isConfigured = TestProcess.isPrepared
}

/// Items under a service and a server that no other test has.
struct TestService {
    let name = UUID().uuidString

    init() {
        _ = ProcessKeychain.isConfigured
    }

    /// A dictionary of generic passwords of this service.
    func generic(_ more: NSDictionary = [:]) -> NSDictionary {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: name] + more
    }

    /// A dictionary of internet passwords of this server.
    func internet(_ more: NSDictionary = [:]) -> NSDictionary {
        [kSecClass: kSecClassInternetPassword, kSecAttrServer: name] + more
    }

    /// Adds a generic password.
    @discardableResult
    func add(_ account: String, _ value: String, _ more: NSDictionary = [:]) -> OSStatus {
        let item: NSDictionary = [
            kSecAttrAccount: account, kSecValueData: Data(value.utf8),
        ]
        return SecItemAdd(generic(item + more), nil)
    }

    /// The value of a generic password; nil if there is none.
    func value(_ account: String, _ more: NSDictionary = [:]) -> String? {
        let query = generic([kSecAttrAccount: account, kSecReturnData: true] + more)
        guard let data = copy(query).object as? Data else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// The attributes of a generic password.
    func attributes(_ account: String, _ more: NSDictionary = [:]) -> NSDictionary? {
        let query = generic([kSecAttrAccount: account, kSecReturnAttributes: true] + more)
        return copy(query).object as? NSDictionary
    }

    /// The accounts of all generic passwords that match.
    func accounts(_ more: NSDictionary = [:]) -> Set<String> {
        let query: NSDictionary = [
            kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll,
        ]
        let found = copy(generic(query + more)).object as? [NSDictionary] ?? []
        return Set(found.compactMap { $0[kSecAttrAccount] as? String })
    }
}

/// What a search answers.
func copy(_ query: NSDictionary) -> (status: OSStatus, object: AnyObject?) {
    var object: AnyObject?
    let status = unsafe SecItemCopyMatching(query, &object)
    return (status, object)
}

/// What adding answers.
func add(_ attributes: NSDictionary) -> (status: OSStatus, object: AnyObject?) {
    var object: AnyObject?
    let status = unsafe SecItemAdd(attributes, &object)
    return (status, object)
}
