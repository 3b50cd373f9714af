// SPDX-License-Identifier: Apache-2.0

// Dictionaries in every style that code for the Keychain has. Each function builds a request for
// the same account and hands it to a call.

import Foundation
import Security

enum DictionaryIdioms {
    static let service = "idioms"

    // Swift values, keys as text.

    static func stringToAnyObject(_ account: String, _ data: Data) -> OSStatus {
        let query: [String: AnyObject] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service as AnyObject,
            kSecAttrAccount as String: account as AnyObject,
            kSecValueData as String: data as AnyObject,
            kSecReturnData as String: kCFBooleanTrue,
        ]
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func stringToAny(_ account: String, _ data: Data) -> OSStatus {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            String(kSecAttrService): service, kSecAttrAccount as String: account,
        ]
        query[kSecValueData as String] = data
        query.updateValue(kSecAttrAccessibleAfterFirstUnlock, forKey: kSecAttrAccessible as String)
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func stringToAnyHashable(_ account: String, _ data: Data) -> OSStatus {
        var query: [String: AnyHashable] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service, kSecAttrAccount as String: account,
        ]
        query[kSecValueData as String] = data
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func optionalValues(_ account: String?, _ data: Data?) -> OSStatus {
        let query: [String: Any?] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: account, kSecAttrLabel as String: nil,
            kSecValueData as String: data,
        ]
        return SecItemAdd(query.compactMapValues { $0 } as CFDictionary, nil)
    }

    static func unwrappedKeys(_ account: String, _ data: Data) -> OSStatus {
        // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
        let classKey: String! = kSecClass as String
        // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
        let accountKey: String! = kSecAttrAccount as String
        var query: [String: AnyObject] = [
            classKey: kSecClassGenericPassword, accountKey: account as NSString,
        ]
        query[kSecAttrService as String] = service as NSString
        query[kSecValueData as String] = data as NSData
        query[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlocked
        return SecItemAdd(query as CFDictionary, nil)
    }

    // Keys as objects.

    static func constantToAny(_ account: String, _ data: Data) -> OSStatus {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service as CFString,
            kSecAttrAccount: account, kSecValueData: data,
            kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock, kSecReturnData: true,
        ]
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func constantToAnyObject(_ account: String, _ data: Data) -> OSStatus {
        var query: [CFString: AnyObject] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account as AnyObject,
        ]
        query[kSecAttrService] = service as NSString
        query[kSecValueData] = data as CFData
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func nsStringToAny(_ account: String, _ data: Data) -> OSStatus {
        var query: [NSString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account as NSString,
        ]
        query[kSecAttrService] = service
        query[kSecValueData] = data
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func nsObjectToAnyObject(_ account: String, _ data: Data) -> OSStatus {
        let query: [NSObject: AnyObject] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service as NSString,
            kSecAttrAccount: account as NSString, kSecValueData: data as NSData,
        ]
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func anyHashableToAny(_ account: String, _ data: Data) -> OSStatus {
        var query: [AnyHashable: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account,
        ]
        query[kSecAttrService as String] = service
        query[kSecValueData] = data
        return SecItemAdd(query as CFDictionary, nil)
    }

    static func untypedLiteral(_ account: String, _ data: Data) -> OSStatus {
        SecItemAdd(
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service,
                kSecAttrAccount: account, kSecValueData: data,
            ] as CFDictionary, nil)
    }

    static func merged(_ account: String, _ data: Data) -> OSStatus {
        func query(_ extra: [CFString: Any] = [:]) -> [CFString: Any] {
            extra.merging([kSecClass: kSecClassGenericPassword, kSecAttrService: service]) {
                given, _ in given
            }
        }
        let item = query([kSecAttrAccount: account, kSecValueData: data])
        let text = Dictionary(uniqueKeysWithValues: item.map { ($0.key as String, $0.value) })
        return SecItemAdd(text as CFDictionary, nil)
    }

    // Foundation's dictionaries.

    static func literalOfFoundation(_ account: String, _ data: Data) -> OSStatus {
        let item: NSDictionary = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
            kSecAttrAccount: account, kSecValueData: data,
        ]
        return SecItemAdd(item, nil)
    }

    static func mutableOfFoundation(_ account: String, _ data: Data) -> OSStatus {
        let item = NSMutableDictionary()
        item.setObject(kSecClassGenericPassword, forKey: kSecClass as NSString as NSCopying)
        item.setObject(service, forKey: kSecAttrService as NSString)
        item[kSecAttrAccount] = account
        item[kSecValueData as NSString] = data as NSData
        item.setValue(kCFBooleanTrue, forKey: kSecReturnAttributes as String)
        item.removeObject(forKey: kSecReturnAttributes)
        return SecItemAdd(item as CFDictionary, nil)
    }

    static func objectsForKeys(_ account: String, _ data: Data) -> OSStatus {
        let classKey = NSString(format: kSecClass)
        let serviceKey = NSString(format: kSecAttrService)
        let accountKey = NSString(format: kSecAttrAccount)
        let dataKey = NSString(format: kSecValueData)
        let password = NSString(format: kSecClassGenericPassword)
        let item = NSMutableDictionary(
            objects: [password, service, account, data as NSData],
            forKeys: [classKey, serviceKey, accountKey, dataKey])
        return SecItemAdd(item as CFDictionary, nil)
    }

    // CoreFoundation's calls.

    static func addedValues(_ account: String, _ data: Data) -> OSStatus {
        func address(_ object: AnyObject) -> UnsafeRawPointer {
            UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        }
        let service = service as NSString
        let account = account as NSString
        let data = data as NSData
        let item: CFMutableDictionary = CFDictionaryCreateMutable(
            kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks,
            &kCFTypeDictionaryValueCallBacks)
        return withExtendedLifetime((service, account, data)) {
            CFDictionaryAddValue(item, address(kSecClass), address(kSecClassGenericPassword))
            CFDictionaryAddValue(item, address(kSecAttrService), address(service))
            CFDictionarySetValue(item, address(kSecAttrAccount), address(account))
            CFDictionarySetValue(item, address(kSecValueData), address(data))
            CFDictionaryAddValue(item, address(kSecClass), address(kSecClassKey))
            guard CFDictionaryGetCount(item) == 4 else { return errSecInternalError }
            return SecItemAdd(item, nil)
        }
    }

    static func createdWithValues(_ account: String, _ data: Data) -> OSStatus {
        let service = service as NSString
        let account = account as NSString
        let data = data as NSData
        let objects: [AnyObject] = [kSecClassGenericPassword, service, account, data]
        let names: [CFString] = [kSecClass, kSecAttrService, kSecAttrAccount, kSecValueData]
        return withExtendedLifetime(objects) {
            var keys = names.map {
                Optional(UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()))
            }
            var values = objects.map {
                Optional(UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()))
            }
            let item = CFDictionaryCreate(nil, &keys, &values, keys.count, nil, nil)
            return SecItemAdd(item!, nil)
        }
    }

    static var all: [(String, (String, Data) -> OSStatus)] {
        [
            ("[String: AnyObject]", stringToAnyObject), ("[String: Any]", stringToAny),
            ("[String: AnyHashable]", stringToAnyHashable), ("[String: Any?]", optionalValues),
            ("[String!: AnyObject]", unwrappedKeys), ("[CFString: Any]", constantToAny),
            ("[CFString: AnyObject]", constantToAnyObject), ("[NSString: Any]", nsStringToAny),
            ("[NSObject: AnyObject]", nsObjectToAnyObject),
            ("[AnyHashable: Any]", anyHashableToAny),
            ("an untyped literal", untypedLiteral), ("merged dictionaries", merged),
            ("NSDictionary", literalOfFoundation), ("NSMutableDictionary", mutableOfFoundation),
            ("objects for keys", objectsForKeys), ("CFDictionaryAddValue", addedValues),
            ("CFDictionaryCreate", createdWithValues),
        ]
    }
}

/// A literal of twenty entries, which must not slow the compiler.
func addEverything(_ account: String, _ data: Data) -> OSStatus {
    SecItemAdd(
        [
            kSecClass: kSecClassInternetPassword, kSecAttrAccount: account,
            kSecAttrServer: "example.com", kSecAttrPort: 8443,
            kSecAttrProtocol: kSecAttrProtocolHTTPS, kSecAttrPath: "/" + account,
            kSecAttrSecurityDomain: "domain",
            kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTTPBasic,
            kSecAttrLabel: account + " at example.com", kSecAttrComment: "comment",
            kSecAttrDescription: "description", kSecAttrCreator: 1, kSecAttrType: 2,
            kSecAttrIsInvisible: false, kSecAttrIsNegative: kCFBooleanFalse!,
            kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked, kSecAttrSynchronizable: false,
            kSecValueData: data, kSecReturnAttributes: true, kSecReturnData: kCFBooleanTrue!,
        ] as CFDictionary, nil)
}
