// SPDX-License-Identifier: Apache-2.0

//
//  TouchVault.swift
//  iOS 8 brings Touch ID to apps. Late 2014.
//

import Foundation
import LocalAuthentication

public class TouchVault {

    public class var sharedInstance: TouchVault {
        struct Static {
            static let instance: TouchVault = TouchVault()
        }
        return Static.instance
    }

    private let service = "com.example.touchvault.2014"
    private let queue = DispatchQueue(label: "com.example.touchvault")

    // Core Foundation all the way, as in the sample code in Objective-C.
    private func baseQuery(_ account: String) -> CFMutableDictionary {
        var keyCallBacks = kCFTypeDictionaryKeyCallBacks
        var valueCallBacks = kCFTypeDictionaryValueCallBacks
        let query: CFMutableDictionary = CFDictionaryCreateMutable(
            kCFAllocatorDefault, 0, &keyCallBacks, &valueCallBacks)
        set(query, kSecClass, kSecClassGenericPassword)
        set(query, kSecAttrService, service as CFString)
        set(query, kSecAttrAccount, account as CFString)
        return query
    }

    private func set(_ dictionary: CFMutableDictionary, _ key: CFString, _ value: AnyObject) {
        CFDictionarySetValue(
            dictionary,
            Unmanaged.passUnretained(key).toOpaque(),
            Unmanaged.passUnretained(value).toOpaque())
    }

    func archive(_ object: [String: AnyObject], account: String) -> OSStatus {
        let data = try! PropertyListSerialization.data(
            fromPropertyList: object, format: .binary, options: 0)
        SecItemDelete(baseQuery(account))
        let query = baseQuery(account)
        set(query, kSecValueData, data as CFData)
        set(query, kSecAttrAccessible, kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        return SecItemAdd(query, nil)
    }

    func unarchive(_ account: String) -> [String: AnyObject]? {
        let query = baseQuery(account)
        set(query, kSecReturnData, kCFBooleanTrue)
        set(query, kSecMatchLimit, kSecMatchLimitOne)
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query, &result)
        guard status == errSecSuccess, let found = result else {
            return nil
        }
        assert(CFGetTypeID(found) == CFDataGetTypeID())
        let opaque = Unmanaged<AnyObject>.passUnretained(found).toOpaque()
        let data = Unmanaged<NSData>.fromOpaque(opaque).takeUnretainedValue()
        assert(CFDataGetLength((found as! CFData)) == data.length)
        return
            (try? PropertyListSerialization.propertyList(
                from: data as Data, options: [], format: nil)) as? [String: AnyObject]
    }

    func forget(_ account: String) -> OSStatus {
        return SecItemDelete(baseQuery(account))
    }

    // MARK: Touch ID. Not called by check(), it would ask for a finger.

    func protect(_ secret: String, account: String, completion: @escaping (NSError?) -> Void) {
        var errorRef: Unmanaged<CFError>?
        let control: SecAccessControl? = SecAccessControlCreateWithFlags(
            kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence,
            &errorRef)
        if control == nil {
            let error = errorRef!.takeRetainedValue()
            completion(
                NSError(
                    domain: CFErrorGetDomain(error) as String, code: CFErrorGetCode(error),
                    userInfo: nil))
            return
        }
        let attributes: [String: AnyObject] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service as AnyObject,
            kSecAttrAccount as String: account as AnyObject,
            kSecValueData as String: secret.data(using: .utf8)! as AnyObject,
            kSecUseNoAuthenticationUI as String: kCFBooleanTrue,
            kSecAttrAccessControl as String: control!,
        ]
        queue.async {
            let status = SecItemAdd(attributes as CFDictionary, nil)
            DispatchQueue.main.async {
                completion(
                    status == noErr
                        ? nil
                        : NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil))
            }
        }
    }

    func reveal(_ account: String, reason: String) -> String? {
        let context = LAContext()
        var authError: NSError?
        if !context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &authError) {
            NSLog("No Touch ID: %@", authError!.localizedDescription)
            return nil
        }
        let query = (baseQuery(account) as NSDictionary).mutableCopy() as! NSMutableDictionary
        query[kSecReturnData as String] = true
        query[kSecUseOperationPrompt as String] = reason
        var result: AnyObject?
        SecItemCopyMatching(query, &result)
        return (result as? Data).flatMap { String(data: $0, encoding: .utf8) }
    }

    public static func check() -> [String] {
        var failed = [String]()
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let vault = TouchVault.sharedInstance
        _ = vault.forget("card")
        claim("empty", vault.unarchive("card") == nil)
        let card: [String: AnyObject] = ["number": "4111" as AnyObject, "year": 2019 as AnyObject]
        claim("archive", vault.archive(card, account: "card") == errSecSuccess)
        let back = vault.unarchive("card")
        claim("number", back?["number"] as? String == "4111")
        claim("year", back?["year"] as? Int == 2019)
        claim(
            "archive again",
            vault.archive(["number": "5500" as NSString], account: "card") == errSecSuccess)
        claim("number changed", vault.unarchive("card")?["number"] as? NSString == "5500")
        claim("forget", vault.forget("card") == errSecSuccess)
        claim("forget twice", vault.forget("card") == errSecItemNotFound)
        return failed
    }
}
