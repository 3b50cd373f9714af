// SPDX-License-Identifier: Apache-2.0

// Constants, results and deletions in every style that code for the Keychain has.

import Foundation
import Security

/// A kind of item that is made of a constant, an object or a text.
enum ItemKind: String {
    case key
    case identity

    init?(rawValue: CFString) {
        switch rawValue {
        case kSecClassKey: self = .key
        case kSecClassIdentity: self = .identity
        default: return nil
        }
    }

    init?(rawValue: String) {
        switch rawValue as NSString {
        case kSecClassKey: self = .key
        case kSecClassIdentity: self = .identity
        default: return nil
        }
    }

    var constant: CFString {
        switch self {
        case .key: return kSecClassKey
        case .identity: return kSecClassIdentity
        }
    }
}

enum ConstantIdioms {
    static func name(of value: String) -> String {
        switch value {
        case kSecClassKey as String as String: return "key"
        case String(kSecClassIdentity): return "identity"
        default: return "other"
        }
    }

    static func wipe(_ itemClass: AnyObject, _ service: String) -> OSStatus {
        SecItemDelete(
            [kSecClass as String: itemClass, kSecAttrService as String: service as NSString]
                as CFDictionary)
    }

    static func toString(_ value: CFString) -> String { value as String }

    /// Every way to delete what an application has, class by class.
    static func wipeAll() -> [OSStatus] {
        let objects = [kSecClassKey, kSecClassIdentity] as [AnyObject]
        let classes = [kSecClassKey, kSecClassIdentity, kSecClassCertificate]
        let spec: NSDictionary = [kSecClass: kSecClassKey]
        var statuses = [SecItemDelete(spec), SecItemDelete(NSMutableDictionary(dictionary: spec))]
        statuses += objects.map { SecItemDelete([kSecClass: $0] as CFDictionary) }
        for itemClass in classes {
            let spec: NSDictionary = [kSecClass: itemClass]
            statuses.append(SecItemDelete(spec))
            statuses.append(SecItemDelete([kSecClass as String: itemClass] as CFDictionary))
        }
        return statuses
    }

    /// The value of an account, read in every style; nil if one differs.
    static func value(_ query: [String: Any]) -> Data? {
        var found: [Data?] = []
        var reference: CFTypeRef?
        SecItemCopyMatching(query as CFDictionary, &reference)
        found.append(reference as? Data)
        var object: AnyObject? = nil
        var status = withUnsafeMutablePointer(to: &object) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        found.append(object as! Data?)
        status += withUnsafeMutablePointer(to: &object) {
            SecItemCopyMatching(query as CFDictionary, $0)
        }
        found.append((object as? NSData) as Data?)
        let pointer = UnsafeMutablePointer<CFTypeRef?>.allocate(capacity: 1)
        pointer.initialize(to: nil)
        status += SecItemCopyMatching(query as CFDictionary, pointer)
        found.append((pointer.pointee as! CFData) as Data)
        pointer.deinitialize(count: 1)
        pointer.deallocate()
        var unmanaged: Unmanaged<AnyObject>?
        status += SecItemCopyMatching(query as CFDictionary, &unmanaged)
        if let opaque = unmanaged?.toOpaque() {
            found.append(Unmanaged<NSData>.fromOpaque(opaque).takeRetainedValue() as Data)
        }
        guard status == errSecSuccess, found.count == 5, Set(found).count == 1 else { return nil }
        return found[0]
    }

    /// The attributes of an account, cast in every style; nil if one differs.
    static func label(_ query: [String: Any]) -> String? {
        var all = query
        all[kSecMatchLimit as String] = kSecMatchLimitAll
        var one: AnyObject?
        var many: AnyObject?
        guard SecItemCopyMatching(query as CFDictionary, &one) == errSecSuccess,
            SecItemCopyMatching(all as CFDictionary, &many) == errSecSuccess
        else { return nil }
        var found: [String?] = [
            (one as? [String: Any])?[kSecAttrLabel as String] as? String,
            (one as? [String: AnyObject])?[kSecAttrLabel as String] as? String,
            (one as? [CFString: Any])?[kSecAttrLabel] as? String,
            (one as? [NSString: AnyObject])?[kSecAttrLabel] as? String,
            (one as? [AnyHashable: Any])?[kSecAttrLabel as String] as? String,
            (one as? NSDictionary)?[kSecAttrLabel] as? String,
            (one as? NSDictionary)?.value(forKey: kSecAttrLabel as String) as? String,
            (one as? NSDictionary)?.object(forKey: kSecAttrLabel) as? String,
            (one as! CFDictionary)[kSecAttrLabel] as? String,
        ]
        for list in [many as? [[String: Any]], many as? Array<Dictionary<String, Any>>] {
            found.append(list?.first?[kSecAttrLabel as String] as? String)
        }
        for item in (many as? NSArray) ?? [] {
            found.append((item as? [String: Any])?[kSecAttrLabel as String] as? String)
        }
        found.append((many as? [NSDictionary])?.first?[kSecAttrLabel as String] as? String)
        found.append((many as! CFArray as? [[String: AnyObject]])?.first?["labl"] as? String)
        guard Set(found).count == 1 else {
            print("labels: \(found)")
            return nil
        }
        return found[0]
    }

    static func comparisons(_ item: [String: Any]) -> [Bool] {
        let accessible = item[kSecAttrAccessible as String]
        return [
            accessible as? String == kSecAttrAccessibleWhenUnlocked as String,
            accessible as! CFString == kSecAttrAccessibleWhenUnlocked,
            (accessible as? NSString) == (kSecAttrAccessibleWhenUnlocked as NSString),
            CFEqual(accessible as CFTypeRef, kSecAttrAccessibleWhenUnlocked),
            !CFEqual(kSecClass, kSecClassKey),
            String(kSecClass) == kSecClass as String,
            kSecClass as NSString as String == "\(kSecClass)",
            kSecClass as! String == toString(kSecClass),
            CFGetTypeID(kSecClass) == CFStringGetTypeID(),
        ]
    }

    static func choices(_ isShared: Bool) -> [String: Any] {
        var query: [String: Any] = [:]
        let accessible = isShared ? kSecAttrAccessibleAlways : kSecAttrAccessibleWhenUnlocked
        query[kSecAttrAccessible as String] = accessible
        query[kSecMatchLimit as String] = isShared ? kSecMatchLimitAll : kSecMatchLimitOne
        query[kSecAttrSynchronizable as String] = isShared ? kCFBooleanTrue : kCFBooleanFalse
        let pairs: [(CFString, Any)] = [(kSecClass, kSecClassKey), (kSecAttrLabel, "label")]
        for (key, value) in pairs { query[key as String] = value }
        return query
    }
}

func idiomFailures() -> [String] {
    var failed: [String] = []
    for (name, add) in DictionaryIdioms.all {
        let data = Data(name.utf8)
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: DictionaryIdioms.service,
            kSecAttrAccount as String: name, kSecReturnData as String: true,
        ]
        if add(name, data) != errSecSuccess { failed.append("\(name) adds an item") }
        if ConstantIdioms.value(query) != data { failed.append("\(name) is read back") }
        if add(name, data) != errSecDuplicateItem { failed.append("\(name) adds the same item") }
    }
    let attributes: [String: Any] = [
        kSecClass as String: kSecClassInternetPassword, kSecAttrAccount as String: "all",
        kSecReturnAttributes as String: true,
    ]
    let added = addEverything("all", Data([1]))
    var found: CFTypeRef?
    SecItemCopyMatching(attributes as CFDictionary, &found)
    let item = found as? [String: Any] ?? [:]
    let label = ConstantIdioms.label(attributes)
    let choices = ConstantIdioms.choices(true)
    let statuses = ConstantIdioms.wipeAll()
    return failed
        + failures([
            ("a literal of 20 entries is added", added == errSecSuccess),
            ("attributes are cast in every style", label == "all at example.com"),
            ("constants compare", !ConstantIdioms.comparisons(item).contains(false)),
            ("kinds are made of constants", ItemKind(rawValue: kSecClassKey as String) == .key),
            ("kinds have constants", ItemKind.identity.constant == kSecClassIdentity),
            ("constants are cases", ConstantIdioms.name(of: "keys") == "key"),
            ("choices are made", choices.count == 5),
            ("classes without items have none", Set(statuses) == [errSecItemNotFound]),
            (
                "a class is an object",
                ConstantIdioms.wipe(kSecClassGenericPassword, "idioms") == errSecSuccess
            ),
        ])
}
