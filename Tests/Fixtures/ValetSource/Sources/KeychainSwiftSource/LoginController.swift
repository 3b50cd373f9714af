// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainSwift

let keychain = KeychainSwift()

final class LoginController {
    private let keychain = KeychainSwift(keyPrefix: "login_")
    private let cloud: KeychainSwift

    init() {
        cloud = KeychainSwift()
        cloud.synchronizable = true
        cloud.accessGroup = "ABCDE12345.com.example.shared"
    }

    func save(user: String, password: String, remember: Bool) -> String? {
        keychain.set(user, forKey: "user")
        keychain.set(remember, forKey: "remember", withAccess: .accessibleAfterFirstUnlock)
        if !keychain.set(password, forKey: "password", withAccess: .accessibleWhenUnlocked) {
            return message(keychain.lastResultCode)
        }
        guard keychain.set(Data([1, 2, 3]), forKey: "salt") else { return nil }
        if keychain.lastResultCode != noErr { return "failed" }
        return nil
    }

    func load() -> (user: String, password: String)? {
        guard let user = keychain.get("user"), let password = keychain.get("password"),
            keychain.getBool("remember") == true
        else { return nil }
        return (user, password)
    }

    var salt: Data? { keychain.getData("salt") }
    var reference: Data? { keychain.getData("salt", asReference: true) }

    func signOut(completely: Bool) {
        if completely {
            keychain.clear()
            cloud.clear()
        } else {
            keychain.delete("password")
        }
        for key in keychain.allKeys where key.hasPrefix("login_") { print(key) }
    }

    private func message(_ code: OSStatus) -> String {
        switch code {
        case noErr: return "fine"
        case -25300: return "not found"
        case -34018: return "not entitled"
        default: return "code \(code)"
        }
    }
}

struct Reasons {
    func explain() -> String {
        do throws(KeychainFailure) {
            try keychain.throwing.set("x", forKey: "k", withAccess: .accessibleWhenUnlocked)
            return try keychain.throwing.get("k")
        } catch {
            return "\(error.operation): \(error.message) \(error.hint ?? "")"
        }
    }
}

enum Words {
    static var query: [String: Any] {
        [
            KeychainSwiftConstants.klass: "genp",
            KeychainSwiftConstants.attrAccount: "account",
            KeychainSwiftConstants.matchLimit: KeychainSwiftConstants.secMatchLimitAll,
            KeychainSwiftConstants.returnData: true,
        ]
    }
}

private extension KeychainSwift {
    func string(forKey key: String) -> String { get(key) ?? "" }
}
