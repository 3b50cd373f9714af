// SPDX-License-Identifier: Apache-2.0

//  Vault.swift, 2026. Swift 6.

import Foundation
import LocalAuthentication
import Security

public enum VaultError: Error, Equatable, Sendable {
    case notFound
    case duplicate
    case malformed
    case system(OSStatus)

    init(_ status: OSStatus) {
        self =
            switch status {
            case errSecItemNotFound: .notFound
            case errSecDuplicateItem: .duplicate
            case errSecDecode: .malformed
            default: .system(status)
            }
    }

    var message: String? {
        if case .system(let status) = self {
            SecCopyErrorMessageString(status, nil) as String?
        } else {
            nil
        }
    }
}

public struct VaultItem: Sendable, Hashable, Identifiable {
    public let id: Data  // the persistent reference
    let account: String
    let label: String?
    let created: Date
    let isSynchronizable: Bool
}

public actor Vault {
    let service: String
    let accessGroup: String?

    init(service: String, accessGroup: String? = nil) {
        self.service = service
        self.accessGroup = accessGroup
    }

    private var scope: [CFString: Any] {
        var scope: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword,
            kSecAttrService: service,
            kSecUseDataProtectionKeychain: true,
        ]
        if let accessGroup { scope[kSecAttrAccessGroup] = accessGroup }
        return scope
    }

    private func copy<T>(_ extra: [CFString: Any], as type: T.Type = T.self) throws(VaultError) -> T
    {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(scope.merging(extra) { $1 } as CFDictionary, &result)
        guard status == errSecSuccess else { throw VaultError(status) }
        guard let value = result as? T else { throw .malformed }
        return value
    }

    @discardableResult
    func add(_ secret: Data, account: String, label: String? = nil, synchronizable: Bool = false)
        throws(VaultError) -> Data
    {
        var item = scope
        item[kSecAttrAccount] = account
        item[kSecAttrLabel] = label
        item[kSecValueData] = secret
        item[kSecAttrSynchronizable] = synchronizable
        item[kSecReturnPersistentRef] = true
        var reference: CFTypeRef?
        let status = SecItemAdd(item as CFDictionary, &reference)
        guard status == errSecSuccess else { throw VaultError(status) }
        guard let reference = reference as? Data else { throw .malformed }
        return reference
    }

    func secret(_ account: String) throws(VaultError) -> Data {
        try copy([
            kSecAttrAccount: account, kSecReturnData: true,
            kSecAttrSynchronizable: kSecAttrSynchronizableAny,
        ])
    }

    func secret(of item: VaultItem) throws(VaultError) -> Data {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(
            [kSecValuePersistentRef: item.id, kSecReturnData: true] as CFDictionary, &result)
        guard status == errSecSuccess, let data = result as? Data else { throw VaultError(status) }
        return data
    }

    func items() throws(VaultError) -> [VaultItem] {
        let found: [[String: Any]]
        do {
            found = try copy([
                kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
                kSecReturnPersistentRef: true,
                kSecAttrSynchronizable: kSecAttrSynchronizableAny,
            ])
        } catch .notFound {
            return []
        }
        return found.compactMap { attributes in
            guard let id = attributes[kSecValuePersistentRef as String] as? Data,
                let account = attributes[kSecAttrAccount as String] as? String,
                let created = attributes[kSecAttrCreationDate as String] as? Date
            else { return nil }
            return VaultItem(
                id: id, account: account, label: attributes[kSecAttrLabel as String] as? String,
                created: created,
                isSynchronizable: attributes[kSecAttrSynchronizable as String] as? Bool ?? false)
        }.sorted { $0.account < $1.account }
    }

    func rename(_ account: String, to name: String) throws(VaultError) {
        let query = scope.merging([kSecAttrAccount: account]) { $1 }
        let status = SecItemUpdate(query as CFDictionary, [kSecAttrAccount: name] as CFDictionary)
        if status != errSecSuccess { throw VaultError(status) }
    }

    @discardableResult
    func removeAll() throws(VaultError) -> Bool {
        let status = SecItemDelete(
            scope.merging([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) { $1 }
                as CFDictionary)
        switch status {
        case errSecSuccess: return true
        case errSecItemNotFound: return false
        default: throw VaultError(status)
        }
    }

    /// Asks for the owner. Compiled, not run.
    func unlock(_ account: String, because reason: String) async throws -> Data {
        let context = LAContext()
        context.localizedReason = reason
        context.touchIDAuthenticationAllowableReuseDuration = 10
        return try copy([
            kSecAttrAccount: account, kSecReturnData: true, kSecUseAuthenticationContext: context,
        ])
    }

    public static func check() async -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let vault = Vault(service: "com.example.vault.2026")
        do {
            try await vault.removeAll()
            claim("empty", try await vault.items().isEmpty)
            let reference = try await vault.add(Data("A".utf8), account: "a", label: "First")
            try await vault.add(Data("B".utf8), account: "b", synchronizable: true)
            try await vault.add(Data([0, 255]), account: "c")
            let items = try await vault.items()
            claim("accounts", items.map(\.account) == ["a", "b", "c"])
            claim("label", items.first?.label == "First")
            claim("synchronizable", items.map(\.isSynchronizable) == [false, true, false])
            claim("reference", items.first?.id == reference && Set(items.map(\.id)).count == 3)
            for (item, expected) in zip(items, [Data("A".utf8), Data("B".utf8), Data([0, 255])]) {
                claim("secret of \(item.account)", try await vault.secret(of: item) == expected)
                claim(
                    "secret by account \(item.account)",
                    try await vault.secret(item.account) == expected)
            }
            try await vault.rename("a", to: "z")
            claim("renamed", try await vault.items().map(\.account) == ["b", "c", "z"])
            claim(
                "reference outlives the name",
                try await vault.secret(of: items[0]) == Data("A".utf8))
            do {
                try await vault.rename("z", to: "c"); claim("rename onto another", false)
            } catch VaultError.duplicate {}
            claim("message", VaultError.system(errSecParam).message?.isEmpty == false)
            claim("removed", try await vault.removeAll())
            do { _ = try await vault.secret("z"); claim("should be gone", false) } catch VaultError
                .notFound
            {}
        } catch { failed.append("threw \(error)") }
        return failed
    }
}
