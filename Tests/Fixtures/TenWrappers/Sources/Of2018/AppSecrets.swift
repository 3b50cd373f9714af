// SPDX-License-Identifier: Apache-2.0

//  AppSecrets.swift, 2018
//  What the app keeps between installs, as properties.

import Foundation

#if canImport(LocalAuthentication)
    import LocalAuthentication
#endif

public final class AppSecrets {
    public static let shared = AppSecrets()
    private init() {}

    private let service = (Bundle.main.bundleIdentifier ?? "com.example") + ".secrets.2018"

    // MARK: Properties

    var pin: String? {
        get { return string(for: "pin") }
        set { set(newValue, for: "pin") }
    }

    /// Shared by iCloud Keychain.
    var accountID: String? {
        get { return string(for: "accountID", synchronizable: true) }
        set { set(newValue, for: "accountID", synchronizable: true) }
    }

    /// Made at random on first use.
    var databaseKey: Data {
        if let key = data(for: "databaseKey", synchronizable: false) { return key }
        var key = Data(count: 32)
        let result = key.withUnsafeMutableBytes {
            SecRandomCopyBytes(kSecRandomDefault, 32, $0.baseAddress!)
        }
        precondition(result == errSecSuccess, "no random bytes")
        set(key, for: "databaseKey", synchronizable: false)
        return key
    }

    // MARK: Access

    private func query(_ account: String, _ synchronizable: Bool) -> [String: Any] {
        var query = [String: Any]()
        query[kSecClass as String] = kSecClassGenericPassword
        query[kSecAttrService as String] = service
        query[kSecAttrAccount as String] = account
        query[kSecAttrSynchronizable as String] = synchronizable ? kCFBooleanTrue : kCFBooleanFalse
        return query
    }

    private func string(for account: String, synchronizable: Bool = false) -> String? {
        return data(for: account, synchronizable: synchronizable).flatMap {
            String(data: $0, encoding: .utf8)
        }
    }

    private func set(_ string: String?, for account: String, synchronizable: Bool = false) {
        set(string?.data(using: .utf8), for: account, synchronizable: synchronizable)
    }

    private func data(for account: String, synchronizable: Bool) -> Data? {
        var query = self.query(account, synchronizable)
        query[kSecReturnData as String] = true
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, $0)
        }
        switch status {
        case errSecSuccess: return result as? Data
        case errSecItemNotFound: return nil
        case errSecInteractionNotAllowed, errSecUserCanceled, errSecAuthFailed:
            print("keychain is locked")
            return nil
        default:
            print("keychain: \(status)")
            return nil
        }
    }

    private func set(_ data: Data?, for account: String, synchronizable: Bool) {
        let query = self.query(account, synchronizable)
        SecItemDelete(query as CFDictionary)
        guard let data = data else { return }
        var item = query
        item[kSecValueData as String] = data
        #if os(iOS) || os(watchOS)
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlock
        #else
            item[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlocked
        #endif
        let status = SecItemAdd(item as CFDictionary, nil)
        assert(status == errSecSuccess)
    }

    func persistentReference(to account: String) -> Data? {
        var query = self.query(account, false)
        query[kSecReturnPersistentRef as String] = true
        var ref: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &ref) == errSecSuccess else { return nil }
        return (ref as! CFData) as Data
    }

    func value(of reference: Data) -> Data? {
        let query: NSDictionary = [
            kSecValuePersistentRef: reference, kSecReturnData: true,
            kSecClass: kSecClassGenericPassword,
        ]
        var value: CFTypeRef?
        return SecItemCopyMatching(query, &value) == errSecSuccess ? value as? Data : nil
    }

    func everything() -> [String: Data] {
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            kSecMatchLimit as String: kSecMatchLimitAll,
            kSecReturnAttributes as String: kCFBooleanTrue as Any,
            kSecReturnData as String: kCFBooleanTrue as Any,
        ]
        var result: AnyObject?
        guard SecItemCopyMatching(query as CFDictionary, &result) == noErr else { return [:] }
        var all = [String: Data]()
        for item in result as! [NSDictionary] {
            all[item[kSecAttrAccount] as! String] = item[kSecValueData] as? Data
        }
        return all
    }

    static func wipe() -> [OSStatus] {
        let classes = [
            kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
            kSecClassIdentity,
        ]
        return classes.map {
            SecItemDelete(
                [
                    kSecClass as String: $0,
                    kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
                ] as CFDictionary)
        }
    }

    public static func check() -> [String] {
        var failed = [String]()
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let secrets = AppSecrets.shared
        claim(
            "wiped or empty", wipe().allSatisfy { $0 == errSecSuccess || $0 == errSecItemNotFound })
        claim("no pin", secrets.pin == nil)
        secrets.pin = "1234"
        claim("pin", secrets.pin == "1234")
        let key = secrets.databaseKey
        claim("same key", secrets.databaseKey == key && key.count == 32 && key != Data(count: 32))
        secrets.accountID = "e-77"
        claim("synchronizable", secrets.accountID == "e-77")
        claim(
            "not among the others", secrets.string(for: "accountID", synchronizable: false) == nil)
        claim("everything", Set(secrets.everything().keys) == ["pin", "databaseKey", "accountID"])
        claim("data of everything", secrets.everything()["databaseKey"] == key)
        let reference = secrets.persistentReference(to: "pin")
        claim("reference", reference != nil)
        claim("by reference", reference.flatMap(secrets.value(of:)) == Data("1234".utf8))
        secrets.pin = nil
        claim("dead reference", reference.flatMap(secrets.value(of:)) == nil)
        claim("wipe", wipe()[0] == errSecSuccess)
        claim("all gone", secrets.everything().isEmpty)
        return failed
    }
}
