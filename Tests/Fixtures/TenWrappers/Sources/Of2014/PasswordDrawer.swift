// SPDX-License-Identifier: Apache-2.0

//
//  PasswordDrawer.swift
//  Created in October 2014. Converted to Swift 2, 3 and 5 by Xcode.
//

import Foundation

#if os(iOS)
    import UIKit
#endif

// The constants are CFStrings; make NSStrings of them once.
let kSecClassValue = NSString(format: kSecClass)
let kSecAttrAccountValue = NSString(format: kSecAttrAccount)
let kSecAttrServiceValue = NSString(format: kSecAttrService)
let kSecValueDataValue = NSString(format: kSecValueData)
let kSecReturnDataValue = NSString(format: kSecReturnData)
let kSecMatchLimitValue = NSString(format: kSecMatchLimit)
let kSecMatchLimitOneValue = NSString(format: kSecMatchLimitOne)
let kSecClassGenericPasswordValue = NSString(format: kSecClassGenericPassword)

public class PasswordDrawer: NSObject {

    let service: NSString

    public init(service: NSString) {
        self.service = service
        super.init()
    }

    // MARK: - Public

    @discardableResult
    func put(_ password: NSString, forUser user: NSString) -> Bool {
        let bytes =
            password.data(using: String.Encoding.utf8.rawValue, allowLossyConversion: false)!
            as NSData
        self.remove(user: user)
        let query: NSMutableDictionary = NSMutableDictionary(
            objects: [kSecClassGenericPasswordValue, service, user, bytes],
            forKeys: [
                kSecClassValue, kSecAttrServiceValue, kSecAttrAccountValue, kSecValueDataValue,
            ])
        let status: OSStatus = SecItemAdd(query as CFDictionary, nil)
        return status == errSecSuccess
    }

    @discardableResult
    func remove(user: NSString) -> Bool {
        let query = NSDictionary(
            objects: [kSecClassGenericPasswordValue, service, user],
            forKeys: [kSecClassValue, kSecAttrServiceValue, kSecAttrAccountValue])
        return SecItemDelete(query as CFDictionary) == noErr
    }

    func password(forUser user: NSString) -> NSString? {
        let query = NSMutableDictionary(
            objects: [
                kSecClassGenericPasswordValue, service, user, kCFBooleanTrue!,
                kSecMatchLimitOneValue,
            ],
            forKeys: [
                kSecClassValue, kSecAttrServiceValue, kSecAttrAccountValue, kSecReturnDataValue,
                kSecMatchLimitValue,
            ])

        var dataTypeRef: AnyObject?
        // An NSMutableDictionary is a CFDictionary, no cast needed.
        let status: OSStatus = SecItemCopyMatching(query, &dataTypeRef)

        var contents: NSString? = nil
        if status == errSecSuccess {
            if let retrieved = dataTypeRef as? NSData {
                contents = NSString(
                    data: retrieved as Data, encoding: String.Encoding.utf8.rawValue)
            }
        } else {
            NSLog("Nothing was retrieved from the keychain. Status code %d", status)
        }
        return contents
    }

    func change(_ password: String, forUser user: String) -> OSStatus {
        let query = NSMutableDictionary()
        query.setValue(kSecClassGenericPassword, forKey: kSecClass as String)
        query.setValue(service, forKey: kSecAttrService as String)
        query.setValue(user, forKey: kSecAttrAccount as String)
        let change = NSMutableDictionary()
        change.setValue(
            (password as NSString).data(using: String.Encoding.utf8.rawValue),
            forKey: kSecValueData as String)
        return SecItemUpdate(query, change)
    }

    // MARK: - Check

    public static func check() -> [String] {
        var failed: [String] = []
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }

        let drawer = PasswordDrawer(service: "com.example.drawer.2014")
        drawer.remove(user: "anna")
        claim("nothing there at first", drawer.password(forUser: "anna") == nil)
        claim("removing nothing says false", drawer.remove(user: "anna") == false)
        claim(
            "change of nothing is not found",
            drawer.change("x", forUser: "anna") == errSecItemNotFound)
        claim("put", drawer.put("sesame", forUser: "anna"))
        claim("read back", drawer.password(forUser: "anna") == "sesame")
        claim("put again", drawer.put("öffne dich 🗝", forUser: "anna"))
        claim("read the second", (drawer.password(forUser: "anna") as String?) == "öffne dich 🗝")
        claim("change", drawer.change("third", forUser: "anna") == errSecSuccess)
        claim("read the third", drawer.password(forUser: "anna")!.isEqual(to: "third"))
        claim("another user", drawer.password(forUser: "bert") == nil)
        claim("remove", drawer.remove(user: "anna"))
        claim("gone", drawer.password(forUser: "anna") == nil)
        return failed
    }
}
