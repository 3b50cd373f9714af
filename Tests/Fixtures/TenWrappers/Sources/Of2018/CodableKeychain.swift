// SPDX-License-Identifier: Apache-2.0

//  CodableKeychain.swift, 2019
//  Any Codable value, keyed by a string. Foundation is enough: it brings the keychain along.

import Foundation

protocol SecureStorage: AnyObject {
    associatedtype Value
    subscript(key: String) -> Value? { get set }
}

/// Bridged to NSError with the domain and code Apple's own code uses.
struct OSStatusError: CustomNSError, LocalizedError {
    let status: OSStatus
    static var errorDomain: String { return NSOSStatusErrorDomain }
    var errorCode: Int { return Int(status) }
    var errorDescription: String? {
        return SecCopyErrorMessageString(status, nil).map { $0 as String }
    }
}

final class CodableKeychain<Value: Codable>: SecureStorage {
    private let service: String
    private let accessGroup: String?
    private let accessible: CFString
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    init(
        service: String = Bundle.main.bundleIdentifier ?? "com.example.codable",
        accessGroup: String? = nil,
        accessible: CFString = kSecAttrAccessibleWhenUnlocked
    ) {
        self.service = service
        self.accessGroup = accessGroup
        self.accessible = accessible
    }

    private func query(for key: String?) -> [CFString: Any] {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
        ]
        query[kSecAttrAccount] = key
        query[kSecAttrAccessGroup] = accessGroup
        #if os(macOS)
            if #available(macOS 10.15, *) {
                query[kSecUseDataProtectionKeychain] = true
            }
        #endif
        return query
    }

    private func check(_ status: OSStatus, allowing allowed: OSStatus...) throws {
        guard status == errSecSuccess || allowed.contains(status) else {
            throw OSStatusError(status: status)
        }
    }

    func set(_ value: Value, for key: String) throws {
        let data = try encoder.encode(value)
        let query = self.query(for: key)
        let attributes: [CFString: Any] = [kSecValueData: data, kSecAttrAccessible: accessible]
        let status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
        if status == errSecItemNotFound {
            try check(
                SecItemAdd(query.merging(attributes, uniquingKeysWith: { $1 }) as CFDictionary, nil)
            )
        } else {
            try check(status)
        }
    }

    func get(_ key: String) throws -> Value? {
        var query = self.query(for: key)
        query[kSecReturnData] = kCFBooleanTrue
        query[kSecMatchLimit] = kSecMatchLimitOne
        var item: AnyObject?
        try check(SecItemCopyMatching(query as CFDictionary, &item), allowing: errSecItemNotFound)
        guard let data = item as? Data else { return nil }
        return try decoder.decode(Value.self, from: data)
    }

    func remove(_ key: String) throws {
        try check(SecItemDelete(query(for: key) as CFDictionary), allowing: errSecItemNotFound)
    }

    func removeAll() throws {
        try check(SecItemDelete(query(for: nil) as CFDictionary), allowing: errSecItemNotFound)
    }

    var attributes: [[String: Any]] {
        var query = self.query(for: nil)
        query[kSecReturnAttributes] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        var items: AnyObject?
        guard SecItemCopyMatching(query as CFDictionary, &items) == errSecSuccess else { return [] }
        return items as? [[String: Any]] ?? []
    }

    var keys: [String] {
        return attributes.compactMap { $0[kSecAttrAccount as String] as? String }.sorted()
    }

    subscript(key: String) -> Value? {
        get { return (try? get(key)) ?? nil }
        set {
            if let value = newValue { try? set(value, for: key) } else { try? remove(key) }
        }
    }
}

public enum CodableKeychainCheck {
    struct Session: Codable, Equatable {
        var token: String
        var expires: Date
        var scopes: Set<String>
    }

    public static func check() -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let store = CodableKeychain<Session>(service: "com.example.codable.2019")
        let session = Session(
            token: "t", expires: Date(timeIntervalSinceReferenceDate: 600_000_000),
            scopes: ["a", "b"])
        do {
            try store.removeAll()
            claim("nil at first", store["main"] == nil)
            store["main"] = session
            claim("round trip", store["main"] == session)
            store["main"]?.token = "u"
            claim("in place", try store.get("main")?.token == "u")
            store["other"] = session
            claim("keys", store.keys == ["main", "other"])
            claim(
                "accessible",
                store.attributes.first?[kSecAttrAccessible as String] as? String
                    == kSecAttrAccessibleWhenUnlocked as String)
            claim(
                "modified now",
                abs(
                    (store.attributes.first?[kSecAttrModificationDate as String] as? Date)?
                        .timeIntervalSinceNow ?? 1e9) < 3600)
            claim(
                "service",
                store.attributes.allSatisfy {
                    $0[kSecAttrService as String] as? String == "com.example.codable.2019"
                })
            // The group the system chose can be named by the next one who asks.
            if let group = store.attributes.first?[kSecAttrAccessGroup as String] as? String {
                let sharing = CodableKeychain<Session>(
                    service: "com.example.codable.2019", accessGroup: group)
                claim("by its group", sharing["other"] == session)
            }
            store["main"] = nil
            claim("keys after removal", store.keys == ["other"])
            try store.removeAll()
            claim("no keys", store.keys.isEmpty)
            let numbers = CodableKeychain<[Int]>(service: "com.example.codable.2019.numbers")
            numbers["n"] = [1, 2, 3]
            claim("numbers", numbers["n"] ?? [] == [1, 2, 3])
            try numbers.removeAll()
            let error = OSStatusError(status: errSecParam) as NSError
            claim("NSError", error.domain == NSOSStatusErrorDomain && error.code == -50)
        } catch {
            failed.append("threw \(error)")
        }
        return failed
    }
}
