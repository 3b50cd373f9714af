// SPDX-License-Identifier: Apache-2.0

//  KeychainStored.swift, 2022
//  A property wrapper, with observers, without Combine.

import Foundation
import Security

enum Accessibility: CaseIterable {
    case whenUnlocked, afterFirstUnlock, whenUnlockedThisDeviceOnly, afterFirstUnlockThisDeviceOnly
    case whenPasscodeSetThisDeviceOnly

    var attribute: CFString {
        switch self {
        case .whenUnlocked: return kSecAttrAccessibleWhenUnlocked
        case .afterFirstUnlock: return kSecAttrAccessibleAfterFirstUnlock
        case .whenUnlockedThisDeviceOnly: return kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly:
            return kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: return kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        }
    }
}

extension Notification.Name {
    static let keychainStoredDidChange = Notification.Name("KeychainStoredDidChange")
}

@propertyWrapper
struct KeychainStored<Value: Codable> {
    private let key: String
    private let service: String
    private let fallback: Value
    private let accessibility: Accessibility

    init(
        wrappedValue: Value, _ key: String, service: String,
        accessibility: Accessibility = .afterFirstUnlock
    ) {
        self.key = key
        self.service = service
        self.fallback = wrappedValue
        self.accessibility = accessibility
    }

    var wrappedValue: Value {
        get {
            var result: CFTypeRef?
            let query = baseQuery.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne])
            { $1 }
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let data = result as? Data
            else { return fallback }
            // An array, because JSON of 2022's minimum system has no fragments.
            return (try? JSONDecoder().decode([Value].self, from: data).first) ?? fallback
        }
        nonmutating set {
            guard let data = try? JSONEncoder().encode([newValue]) else { return }
            var status = SecItemUpdate(
                baseQuery as CFDictionary, [kSecValueData: data] as CFDictionary)
            if status == errSecItemNotFound {
                var item = baseQuery
                item[kSecValueData] = data
                item[kSecAttrAccessible] = accessibility.attribute
                status = SecItemAdd(item as CFDictionary, nil)
            }
            if status == errSecSuccess {
                NotificationCenter.default.post(
                    name: .keychainStoredDidChange, object: nil,
                    userInfo: ["key": key, "service": service])
            }
        }
    }

    var projectedValue: Projection { Projection(stored: self) }

    private var baseQuery: [CFString: Any] {
        [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: key,
            kSecUseDataProtectionKeychain: true,
        ]
    }

    struct Projection {
        fileprivate let stored: KeychainStored

        var values: AsyncStream<Value> {
            AsyncStream { continuation in
                let token = NotificationCenter.default.addObserver(
                    forName: .keychainStoredDidChange, object: nil, queue: nil
                ) { note in
                    guard note.userInfo?["key"] as? String == stored.key,
                        note.userInfo?["service"] as? String == stored.service
                    else { return }
                    continuation.yield(stored.wrappedValue)
                }
                continuation.onTermination = { _ in NotificationCenter.default.removeObserver(token)
                }
            }
        }

        @discardableResult
        func reset() -> Bool { SecItemDelete(stored.baseQuery as CFDictionary) == errSecSuccess }

        var isStored: Bool {
            SecItemCopyMatching(stored.baseQuery as CFDictionary, nil) == errSecSuccess
        }

        var accessibility: String? {
            var result: AnyObject?
            let query = stored.baseQuery.merging([kSecReturnAttributes: true]) { $1 }
            SecItemCopyMatching(query as CFDictionary, &result)
            return (result as? [CFString: Any])?[kSecAttrAccessible] as? String
        }
    }
}

final class Settings {
    @KeychainStored("pin", service: "com.example.settings.2022") var pin: String? = nil
    @KeychainStored(
        "tries", service: "com.example.settings.2022", accessibility: .whenUnlockedThisDeviceOnly)
    var tries = 3
}

public enum KeychainStoredCheck {
    public static func check() async -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let settings = Settings()
        settings.$pin.reset()
        settings.$tries.reset()
        claim("defaults", settings.pin == nil && settings.tries == 3)
        claim("not stored", !settings.$tries.isStored)
        var pins = settings.$pin.values.makeAsyncIterator()
        settings.pin = "0000"
        settings.tries -= 1
        settings.pin = "1111"
        claim("stored", Settings().pin == "1111" && Settings().tries == 2)
        claim("is stored", settings.$tries.isStored)
        let first = await pins.next()
        claim("observed", first == "0000")
        claim(
            "accessibility",
            settings.$tries.accessibility
                == (kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String))
        claim(
            "accessibility of pin",
            settings.$pin.accessibility == (kSecAttrAccessibleAfterFirstUnlock as String))
        claim(
            "all different", Set(Accessibility.allCases.map { $0.attribute as String }).count == 5)
        claim("all different as CFString", Set(Accessibility.allCases.map(\.attribute)).count == 5)
        settings.pin = nil
        claim("stored nil", settings.pin == nil && settings.$pin.isStored)
        claim("reset", settings.$pin.reset() && settings.$tries.reset())
        claim("reset twice", !settings.$pin.reset())
        return failed
    }
}
