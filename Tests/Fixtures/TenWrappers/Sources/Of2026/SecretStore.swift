// SPDX-License-Identifier: Apache-2.0

//  SecretStore.swift, 2026. Swift 6, typed throws, no macros.
//  Imports Foundation only, which has the keychain on Apple's systems.

import Foundation

struct SecretKey<Value: Codable & Sendable>: Sendable {
    let name: String
    init(_ name: String, of: Value.Type = Value.self) { self.name = name }
}

extension SecretKey where Value == String { static var password: Self { .init("password") } }
extension SecretKey where Value == [UInt8] { static var seed: Self { .init("seed") } }

enum SecretFailure: Error, Sendable, CustomStringConvertible {
    case keychain(OSStatus)
    case coding(any Error)
    case protection(CFIndex)

    var description: String {
        switch self {
        case .keychain(let status):
            "\(SecCopyErrorMessageString(status, nil) ?? "unknown" as CFString) (\(status))"
        case .coding(let error): "coding: \(error)"
        case .protection(let code): "protection: \(code)"
        }
    }

    var asNSError: NSError {
        if case .keychain(let status) = self {
            NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        } else {
            self as NSError
        }
    }
}

protocol SecretStoring: Sendable {
    subscript<Value>(key: SecretKey<Value>) -> Value? { get throws(SecretFailure) }
    func set<Value>(_ value: Value?, for key: SecretKey<Value>) throws(SecretFailure)
}

struct SecretStore: SecretStoring {
    enum Protection: Sendable {
        case unlocked, firstUnlock, userPresence
    }

    let service: String
    var protection = Protection.unlocked

    private static func expect(_ status: OSStatus, or tolerated: OSStatus = errSecSuccess)
        throws(SecretFailure)
    {
        guard status == errSecSuccess || status == tolerated else { throw .keychain(status) }
    }

    private func query(_ name: String, _ more: KeyValuePairs<CFString, Any> = [:]) -> CFDictionary {
        let query = NSMutableDictionary()
        query[kSecClass] = kSecClassGenericPassword
        query[kSecAttrService] = service
        query[kSecAttrAccount] = name
        query[kSecAttrGeneric] = Data(name.utf8)
        for (key, value) in more { query[key] = value }
        return query
    }

    private func addProtection(to attributes: inout [CFString: Any]) throws(SecretFailure) {
        switch protection {
        case .unlocked: attributes[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlocked
        case .firstUnlock: attributes[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlock
        case .userPresence:
            var error: Unmanaged<CFError>?
            guard
                let control = SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                    [.biometryCurrentSet, .or, .devicePasscode], &error)
            else {
                throw .protection(error.map { CFErrorGetCode($0.takeRetainedValue()) } ?? 0)
            }
            attributes[kSecAttrAccessControl] = control
        }
    }

    subscript<Value>(key: SecretKey<Value>) -> Value? {
        get throws(SecretFailure) {
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query(key.name, [kSecReturnData: true]), &result)
            if status == errSecItemNotFound { return nil }
            try Self.expect(status)
            do {
                return try JSONDecoder().decode(Value.self, from: result as! Data)
            } catch {
                throw .coding(error)
            }
        }
    }

    func set<Value>(_ value: Value?, for key: SecretKey<Value>) throws(SecretFailure) {
        guard let value else {
            return try Self.expect(SecItemDelete(query(key.name)), or: errSecItemNotFound)
        }
        var attributes: [CFString: Any] = [:]
        do { attributes[kSecValueData] = try JSONEncoder().encode(value) } catch {
            throw .coding(error)
        }
        try addProtection(to: &attributes)
        let status = SecItemUpdate(query(key.name), attributes as CFDictionary)
        guard status == errSecItemNotFound else { return try Self.expect(status) }
        let item = query(key.name) as NSDictionary as! [CFString: Any]
        try Self.expect(SecItemAdd(item.merging(attributes) { $1 } as CFDictionary, nil))
    }

    static func randomBytes(_ count: Int) throws(SecretFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try expect(SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes))
        return bytes
    }
}

public enum SecretStoreCheck {
    public static func check() -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let store = SecretStore(service: "com.example.secretstore.2026")
        let other = SecretStore(service: "com.example.secretstore.2026.b", protection: .firstUnlock)
        do throws(SecretFailure) {
            for each in [store, other] {
                try each.set(nil, for: .password)
                try each.set(nil, for: .seed)
                claim("empty", try each[.password] == nil)
                let seed = try SecretStore.randomBytes(24)
                try each.set("pass\u{0}word ß", for: .password)
                try each.set(seed, for: .seed)
                claim("password", try each[.password] == "pass\u{0}word ß")
                claim("seed", try each[.seed] == seed)
                try each.set("second", for: .password)
                claim("second", try each[.password] == "second")
            }
            do throws(SecretFailure) {
                _ = try store[SecretKey("password", of: Int.self)]
                claim("not an Int", false)
            } catch {
                guard case .coding = error else { throw error }
            }
            for each in [store, other] {
                try each.set(nil, for: .password); try each.set(nil, for: .seed)
            }
            claim("gone", try store[.seed] == nil)
        } catch { failed.append("threw \(error)") }
        let error = SecretFailure.keychain(errSecDuplicateItem).asNSError
        claim("NSError", error.domain == NSOSStatusErrorDomain && error.code == -25299)
        claim(
            "description",
            SecretFailure.keychain(errSecAuthFailed).description.hasSuffix("(-25293)"))
        return failed
    }
}
