// SPDX-License-Identifier: Apache-2.0

// Functions of the kind that was translated from Objective-C: NSMutableDictionary, CF types, errors
// with a domain, pointers.

import Foundation
import Security

let olderKeychainErrorDomain = "OlderKeychain"

extension CFError {
    /// The same error, made anew of its parts.
    var remade: NSError {
        let domain = CFErrorGetDomain(self) as String
        let code = CFErrorGetCode(self) as Int
        let userInfo = CFErrorCopyUserInfo(self) as? [String: Any]
        return NSError(domain: domain, code: code, userInfo: userInfo)
    }
}

class OlderKeychain: NSObject {
    // On Apple's systems `as CFDictionary` alone would do.
    static func cf(_ dictionary: NSDictionary) -> CFDictionary {
        dictionary as! [String: Any] as CFDictionary
    }

    static func keychainQuery(_ service: String, _ account: String?) -> NSMutableDictionary {
        let dictionary = NSMutableDictionary(capacity: 3)
        dictionary.setObject(kSecClassGenericPassword, forKey: kSecClass as NSString)
        dictionary.setObject(service, forKey: kSecAttrService as NSString)
        if let account { dictionary.setObject(account, forKey: kSecAttrAccount as NSString) }
        return dictionary
    }

    static func save(
        _ password: NSData, service: String, account: String, error: inout NSError?
    ) -> Bool {
        let query = keychainQuery(service, account)
        SecItemDelete(cf(query))
        query.setObject(password, forKey: kSecValueData as NSString)
        query.setObject(
            kSecAttrAccessibleAfterFirstUnlock, forKey: kSecAttrAccessible as NSString)
        let status = SecItemAdd(cf(query), nil)
        if status != errSecSuccess { error = self.error(status) }
        return status == errSecSuccess
    }

    /// An object of any class that can be archived, under a name that may be anything.
    static func archive(_ object: NSArray, _ name: String) -> OSStatus {
        let archived = try? NSKeyedArchiver.archivedData(
            withRootObject: object, requiringSecureCoding: false)
        let encodedName: Data? = name.data(using: String.Encoding.utf8)
        var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
        query[kSecAttrGeneric as String] = encodedName
        query[kSecAttrAccount as String] = encodedName
        var item = query
        item[kSecValueData as String] = archived as NSData?
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecDuplicateItem else { return status }
        let changes = [kSecValueData: archived!]
        return SecItemUpdate(query as CFDictionary, changes as CFDictionary)
    }

    static func unarchive(_ name: String) -> NSArray? {
        let query: [String: AnyObject] = [
            kSecClass as String: kSecClassGenericPassword as AnyObject,
            kSecAttrGeneric as String: Data(name.utf8) as AnyObject,
            kSecReturnData as String: kCFBooleanTrue,
        ]
        var result: AnyObject?
        guard SecItemCopyMatching(query as CFDictionary, &result) == noErr,
            let data = result as? NSData
        else { return nil }
        return try? NSKeyedUnarchiver.unarchivedObject(
            ofClass: NSArray.self, from: Data(referencing: data))
    }

    static func password(service: String, account: String, error: inout NSError?) -> NSData? {
        let query = keychainQuery(service, account)
        query[kSecReturnData] = kCFBooleanTrue
        query[kSecMatchLimit] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(cf(query), &result)
        guard status == errSecSuccess, CFGetTypeID(result) == CFDataGetTypeID() else {
            error = self.error(status)
            return nil
        }
        return result as? NSData
    }

    static func allAccounts(service: String) -> NSArray? {
        let query = keychainQuery(service, nil)
        query[kSecReturnAttributes] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        var result: AnyObject? = nil
        guard SecItemCopyMatching(cf(query), &result) == errSecSuccess, let result,
            CFGetTypeID(result) == CFArrayGetTypeID()
        else { return nil }
        return result as? NSArray
    }

    static func error(_ status: OSStatus) -> NSError {
        var message: String?
        switch status {
        case errSecSuccess: return NSError(domain: olderKeychainErrorDomain, code: 0, userInfo: nil)
        case errSecItemNotFound: message = "errSecItemNotFound"
        default: message = SecCopyErrorMessageString(status, nil) as String?
        }
        let userInfo = message.map { [NSLocalizedDescriptionKey: $0] }
        return NSError(domain: olderKeychainErrorDomain, code: Int(status), userInfo: userInfo)
    }

    /// What code does with the error that a call gives back through a pointer.
    static func describe(_ pointer: Unmanaged<CFError>?) -> String {
        guard let error = pointer?.takeRetainedValue() else { return "none" }
        let domain = CFErrorGetDomain(error) as String
        let text = CFErrorCopyDescription(error) as String
        return "\(domain) \(CFErrorGetCode(error)) \(text)"
    }

    static func cfError(_ status: OSStatus) -> Unmanaged<CFError>? {
        let info = [NSLocalizedDescriptionKey: "words"] as CFDictionary
        let error = CFErrorCreate(
            kCFAllocatorDefault, kCFErrorDomainOSStatus, CFIndex(status), info)
        return Unmanaged.passRetained(error)
    }

    static func randomKey(_ count: Int) throws -> Data {
        var key = Data(count: count)
        let status = key.withUnsafeMutableBytes { buffer in
            SecRandomCopyBytes(kSecRandomDefault, count, buffer.baseAddress!)
        }
        guard status == errSecSuccess else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
        return key
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes) == 0 else { return [] }
        return bytes
    }
}
