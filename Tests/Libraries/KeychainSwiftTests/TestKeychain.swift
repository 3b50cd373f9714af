// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetSecItem
internal import ValetTestSupport

@testable internal import KeychainSwift

/// The ways to the embedded keychain that every rule is tried with.
enum Way: CaseIterable {
    /// Typed requests.
    case store
    /// SecItem dictionaries, as on Apple's systems.
    case secItem

    /// None if the process has another identity than tests count on.
    static let all: [Way] = TestProcess.isPrepared ? allCases : []

    var passwords: any PasswordKeychain {
        switch self {
        case .store: StorePasswords()
        case .secItem: SecItemPasswords()
        }
    }
}

/// Names that no other test uses, in one of the ways.
struct Sample {
    let way: Way
    /// The prefix of every key.
    let prefix = UUID().uuidString + " "

    init(_ way: Way) {
        self.way = way
    }

    /// A new object; all of one sample share their keys.
    func keychain(
        group: String? = nil, synchronizable: Bool = false
    ) -> KeychainSwift {
        let keychain = KeychainSwift(keyPrefix: prefix)
        keychain.keychain = way.passwords
        keychain.accessGroup = group
        keychain.synchronizable = synchronizable
        return keychain
    }

    /// Adds an item as other software does.
    @discardableResult
    func plant(_ key: String, _ value: Data?, _ more: [NSString: Any] = [:]) -> OSStatus {
        var item: [NSString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: prefix + key,
        ]
        item[kSecValueData] = value
        return SecItemAdd(item.merging(more) { $1 } as NSDictionary, nil)
    }

    /// The items of a key, with attributes, references and values.
    func items(_ key: String) -> [NSDictionary] {
        let query: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: prefix + key,
            kSecAttrSynchronizable: kSecAttrSynchronizableAny, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: true, kSecReturnPersistentRef: true, kSecReturnData: true,
        ]
        var result: AnyObject?
        guard unsafe SecItemCopyMatching(query, &result) == errSecSuccess else { return [] }
        return result as? [NSDictionary] ?? []
    }
}
