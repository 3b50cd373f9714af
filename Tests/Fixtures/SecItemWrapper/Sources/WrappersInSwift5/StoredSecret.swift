// SPDX-License-Identifier: Apache-2.0

// A property wrapper for values that can be encoded: dictionaries of [String: AnyHashable].

import Foundation
import Security

@propertyWrapper
struct StoredSecret<Value: Codable> {
    private let key: String
    private let fallback: Value
    private let synchronizable: Bool

    init(wrappedValue: Value, _ key: String, synchronizable: Bool = false) {
        self.key = key
        self.fallback = wrappedValue
        self.synchronizable = synchronizable
    }

    var wrappedValue: Value {
        get {
            let query = self.query.merging([
                kSecReturnData as String: true,
                kSecMatchLimit as String: kSecMatchLimitOne as String,
            ]) { _, new in new }
            var item: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else {
                return fallback
            }
            let data = item as! Data
            return (try? JSONDecoder().decode(Value.self, from: data)) ?? fallback
        }
        nonmutating set {
            guard let data = try? JSONEncoder().encode(newValue) else { return }
            let attributes: [String: AnyHashable] = [kSecValueData as String: data]
            let status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
            guard status == errSecItemNotFound else { return }
            SecItemAdd(query.merging(attributes) { $1 } as CFDictionary, nil)
        }
    }

    /// As NSData, the way older code asks.
    var projectedValue: NSData? {
        var query: [String: AnyHashable] = self.query
        query[kSecReturnData as String] = kCFBooleanTrue
        var item: CFTypeRef?
        SecItemCopyMatching(query as CFDictionary, &item)
        return item as? NSData
    }

    private var query: [String: AnyHashable] {
        [
            kSecClass as String: kSecClassGenericPassword as String,
            kSecAttrService as String: "StoredSecret",
            kSecAttrAccount as String: key,
            kSecAttrSynchronizable as String: synchronizable,
        ]
    }
}

struct Session: Codable, Equatable {
    var token = ""
    var expires = Date(timeIntervalSince1970: 0)
}

struct Settings {
    @StoredSecret("session") var session = Session()
    @StoredSecret("tries", synchronizable: true) var tries = 0
}
