// SPDX-License-Identifier: Apache-2.0

// A class around generic passwords: [String: Any], errors made of codes, subscripts.

import Foundation

#if canImport(Security)
    import Security
#endif

enum VaultError: Error, Equatable {
    case noPassword
    case duplicate
    case unexpectedData
    case unhandled(status: OSStatus, message: String)

    init(_ status: OSStatus) {
        switch status {
        case errSecItemNotFound: self = .noPassword
        case errSecDuplicateItem: self = .duplicate
        case errSecParam, errSecNoSuchAttr, errSecNoSuchClass:
            self = .unhandled(status: status, message: "a bug of ours")
        default:
            let message = SecCopyErrorMessageString(status, nil) as String?
            self = .unhandled(status: status, message: message ?? "unknown error \(status)")
        }
    }
}

enum VaultAccessibility: RawRepresentable, CaseIterable {
    case whenUnlocked, afterFirstUnlock, whenUnlockedThisDeviceOnly
    case afterFirstUnlockThisDeviceOnly, whenPasscodeSetThisDeviceOnly

    init?(rawValue: String) {
        guard let match = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = match
    }

    var rawValue: String {
        switch self {
        case .whenUnlocked: return kSecAttrAccessibleWhenUnlocked as String
        case .afterFirstUnlock: return kSecAttrAccessibleAfterFirstUnlock as String
        case .whenUnlockedThisDeviceOnly:
            return String(kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        case .afterFirstUnlockThisDeviceOnly:
            return String(kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
        case .whenPasscodeSetThisDeviceOnly:
            if #available(iOS 8.0, macOS 10.10, *) {
                return String(kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            } else {
                fatalError("not on this system")
            }
        }
    }
}

final class PasswordVault {
    private let service: String
    private let accessGroup: String?
    private let accessibility: VaultAccessibility

    init(
        service: String, accessGroup: String? = nil,
        accessibility: VaultAccessibility = .afterFirstUnlock
    ) {
        self.service = service
        self.accessGroup = accessGroup
        self.accessibility = accessibility
    }

    subscript(account: String) -> String? {
        get { try? string(for: account) }
        set {
            if let newValue {
                try? set(newValue, for: account)
            } else {
                try? remove(account)
            }
        }
    }

    func string(for account: String) throws -> String {
        var query = self.query(account)
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        query[kSecReturnData as String] = kCFBooleanTrue
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        guard status == errSecSuccess else { throw VaultError(status) }
        guard let data = result as? Data, let text = String(data: data, encoding: .utf8) else {
            throw VaultError.unexpectedData
        }
        return text
    }

    func set(_ text: String, for account: String) throws {
        let data = text.data(using: .utf8, allowLossyConversion: false)!
        let query = self.query(account)
        switch SecItemCopyMatching(query as CFDictionary, nil) {
        case errSecSuccess, errSecInteractionNotAllowed:
            let changes: [String: Any] = [String(kSecValueData): data]
            let status = SecItemUpdate(query as CFDictionary, changes as CFDictionary)
            if status != errSecSuccess { throw VaultError(status) }
        case errSecItemNotFound:
            var item = query
            item[String(kSecValueData)] = data
            item[String(kSecAttrAccessible)] = accessibility.rawValue
            #if !os(watchOS) && !targetEnvironment(simulator)
                item[String(kSecAttrLabel)] = "\(service) (\(account))"
            #endif
            let status = SecItemAdd(item as CFDictionary, nil)
            if status != noErr { throw VaultError(status) }
        case let status:
            throw VaultError(status)
        }
    }

    func remove(_ account: String) throws {
        let status = SecItemDelete(query(account) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw VaultError(status)
        }
    }

    func removeAll() throws {
        var query = self.query(nil)
        query[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
        #if os(macOS) && !targetEnvironment(macCatalyst)
            query[kSecMatchLimit as String] = kSecMatchLimitAll
        #endif
        let status = SecItemDelete(query as CFDictionary)
        if status != errSecSuccess && status != errSecItemNotFound { throw VaultError(status) }
    }

    func accounts() -> [String] {
        var query = self.query(nil)
        query[String(kSecMatchLimit)] = kSecMatchLimitAll
        query[String(kSecReturnAttributes)] = true
        var result: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
            let items = result as? [[String: Any]]
        else { return [] }
        return items.compactMap { $0[kSecAttrAccount as String] as? String }.sorted()
    }

    private func query(_ account: String?) -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service as AnyObject,
        ]
        if let account { query[kSecAttrAccount as String] = account }
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup as AnyObject }
        if #available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *) {
            query[kSecUseDataProtectionKeychain as String] = true
        }
        return query
    }
}

// Older names of systems, newer systems, and extensions, as wrappers ask for them.
extension PasswordVault {
    @available(OSX 10.10, iOS 8.0, *)
    @available(iOSApplicationExtension, introduced: 8.0)
    @available(macCatalyst, introduced: 13.1)
    @available(visionOS, introduced: 1.0)
    func contains(_ account: String) -> Bool {
        if #available(OSX 10.15, iOSApplicationExtension 13.0, macCatalyst 13.1, visionOS 1.0, *) {
            return accounts().contains(account)
        }
        return self[account] != nil
    }

    @available(visionOS, unavailable)
    @available(iOSApplicationExtension, unavailable)
    @available(OSXApplicationExtension, unavailable, message: "not in an extension")
    @available(OSX, deprecated: 10.10, renamed: "contains(_:)")
    func has(_ account: String) -> Bool { contains(account) }

    var systems: Int {
        var count = 0
        #if os(OSX) || os(visionOS) || targetEnvironment(macCatalyst)
            count += 1
        #endif
        guard #unavailable(visionOS 1.0, macCatalyst 13.1) else { return count }
        return count
    }
}
