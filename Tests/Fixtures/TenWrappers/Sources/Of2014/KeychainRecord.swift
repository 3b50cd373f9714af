// SPDX-License-Identifier: Apache-2.0

//
//  KeychainRecord.swift
//  A record in the keychain; subclasses say of which kind. Spring 2015.
//

import Foundation
import Security

public class KeychainRecord: NSObject {

    let account: String
    var accessible: AnyObject = kSecAttrAccessibleAfterFirstUnlock

    init(account: String) {
        self.account = account
    }

    /// For subclasses.
    var itemClass: AnyObject {
        fatalError("abstract")
    }

    func identity() -> NSMutableDictionary {
        let query = NSMutableDictionary()
        query.setObject(itemClass, forKey: kSecClass as! NSCopying)
        query.setObject(account, forKey: kSecAttrAccount as NSString)
        return query
    }

    func store(_ value: NSData, error: NSErrorPointer) -> Bool {
        let record = identity()
        record[kSecValueData] = value
        record[kSecAttrAccessible as String] = accessible
        var status = SecItemAdd(record, nil)
        if status == errSecDuplicateItem {
            let changes = [kSecValueData as NSString: value] as NSDictionary
            status = SecItemUpdate(identity(), changes)
        }
        return KeychainRecord.report(status, error)
    }

    func fetch(_ error: NSErrorPointer) -> NSData? {
        let query = identity()
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        if !KeychainRecord.report(status, error) {
            return nil
        }
        return result as! NSData?
    }

    func attributes() -> NSDictionary? {
        let query = identity()
        query.addEntries(from: [kSecReturnAttributes as String: true])
        var result: AnyObject?
        if SecItemCopyMatching(query, &result) == noErr {
            return result as? NSDictionary
        }
        return nil
    }

    func erase(_ error: NSErrorPointer) -> Bool {
        return KeychainRecord.report(SecItemDelete(identity()), error)
    }

    class func report(_ status: OSStatus, _ error: NSErrorPointer) -> Bool {
        if status == errSecSuccess {
            return true
        }
        error?.pointee = NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
        return false
    }

    public class func check() -> [String] {
        var failed = [String]()
        func claim(_ text: String, _ ok: Bool) { if !ok { failed.append(text) } }
        let secret = "tulip" as NSString
        let bytes = secret.data(using: String.Encoding.utf8.rawValue)! as NSData
        let records: [KeychainRecord] = [
            GenericRecord(service: "com.example.record.2015", account: "carla"),
            InternetRecord(server: "imap.example.com", port: 993, account: "carla"),
        ]
        for record in records {
            let kind = NSStringFromClass(type(of: record))
            var error: NSError?
            _ = record.erase(nil)
            claim("\(kind): absent", record.fetch(&error) == nil)
            claim(
                "\(kind): -25300", error?.code == -25300 && error?.domain == NSOSStatusErrorDomain)
            claim("\(kind): store", record.store(bytes, error: &error))
            claim("\(kind): fetch", record.fetch(nil)?.isEqual(to: bytes as Data) ?? false)
            claim(
                "\(kind): overwrite",
                record.store(NSData(bytes: [1, 2, 3] as [UInt8], length: 3), error: nil))
            claim("\(kind): new length", record.fetch(nil)?.length == 3)
            let found = record.attributes()
            claim(
                "\(kind): account attribute",
                found?[kSecAttrAccount as String] as? String == "carla")
            claim(
                "\(kind): accessible attribute",
                found?.object(forKey: kSecAttrAccessible) as? String
                    == kSecAttrAccessibleAfterFirstUnlock as String)
            claim("\(kind): dates", found?[kSecAttrCreationDate as String] is NSDate)
            if record is InternetRecord {
                claim(
                    "port is a number",
                    (found?[kSecAttrPort as String] as? NSNumber)?.intValue == 993)
            }
            claim("\(kind): erase", record.erase(&error))
        }
        return failed
    }
}

class GenericRecord: KeychainRecord {
    let service: String

    init(service: String, account: String) {
        self.service = service
        super.init(account: account)
    }

    override var itemClass: AnyObject { return kSecClassGenericPassword }

    override func identity() -> NSMutableDictionary {
        let query = super.identity()
        query.setObject(service, forKey: kSecAttrService as NSString)
        return query
    }
}

class InternetRecord: KeychainRecord {
    let server: String
    let port: Int

    init(server: String, port: Int, account: String) {
        self.server = server
        self.port = port
        super.init(account: account)
    }

    override var itemClass: AnyObject { return kSecClassInternetPassword }

    override func identity() -> NSMutableDictionary {
        let query = super.identity()
        query[kSecAttrServer as NSString] = server
        query[kSecAttrPort as NSString] = NSNumber(value: port)
        query[kSecAttrProtocol as NSString] = kSecAttrProtocolIMAPS
        return query
    }
}
