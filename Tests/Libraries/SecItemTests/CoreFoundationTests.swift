// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing

/// The calls of CoreFoundation that code around SecItem makes.
@Suite struct `CoreFoundation's names` {
    @Test func `CFError functions return the parts of an error`() {
        let info: CFDictionary = [
            NSLocalizedDescriptionKey: "what", NSLocalizedFailureReasonErrorKey: "why",
            NSLocalizedRecoverySuggestionErrorKey: "how",
        ]
        let error: CFError = CFErrorCreate(
            kCFAllocatorDefault, kCFErrorDomainOSStatus, -50, info)
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorGetDomain(error) as String == NSOSStatusErrorDomain)
        #expect(CFErrorCopyDescription(error) as String == "what")
        #expect(CFErrorCopyFailureReason(error) == "why")
        #expect(CFErrorCopyRecoverySuggestion(error) == "how")
        #expect(CFErrorCopyUserInfo(error)[NSLocalizedDescriptionKey] as? String == "what")
    }

    @Test func `CFError functions accept no error`() {
        let error = CFErrorCreate(nil, kCFErrorDomainPOSIX, 2, nil)
        #expect(CFErrorGetDomain(error) as String == NSPOSIXErrorDomain)
        #expect(CFErrorCopyFailureReason(nil) == nil)
        #expect(CFErrorGetDomain(nil) == nil)
        #expect(CFErrorGetCode(nil) == 0)
    }

    @Test func `CFGetTypeID distinguishes the types of results`() {
        let objects: [(CFTypeRef?, CFTypeID)] = [
            (NSString("a"), CFStringGetTypeID()), (NSMutableString("a"), CFStringGetTypeID()),
            (NSData(), CFDataGetTypeID()), (NSDictionary(), CFDictionaryGetTypeID()),
            (NSArray(), CFArrayGetTypeID()), (NSSet(), CFSetGetTypeID()),
            (["a"] as Set as CFSet, CFSetGetTypeID()), (NSMutableSet(), CFSetGetTypeID()),
            (NSDate(), CFDateGetTypeID()),
            (NSNumber(value: 1), CFNumberGetTypeID()), (kCFBooleanTrue, CFBooleanGetTypeID()),
            (NSNumber(value: false), CFBooleanGetTypeID()), (kCFNull, CFNullGetTypeID()),
            (NSError(domain: "d", code: 1), CFErrorGetTypeID()), (NSObject(), 0), (nil, 0),
            (
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [], nil),
                SecAccessControlGetTypeID()
            ),
        ]
        for (object, type) in objects { #expect(CFGetTypeID(object) == type) }
        let types = Set(objects.map(\.1))
        #expect(types.count == 12)
    }

    @Test func `Sets have a count, and objects of Security can be in Swift's sets`() {
        #expect(CFSetGetCount(["a", "b"] as Set as CFSet) == 2 && CFSetGetCount(nil) == 0)
        #expect(Set<SecKey>().isEmpty && Set<SecCertificate>().isEmpty)
        #expect(Set<SecIdentity>().isEmpty && [SecTrust: Int]().isEmpty && Set<SecAccess>().isEmpty)
    }

    @Test func `A misspelt constant is the right one`() {
        #expect(kSecAttrPersistantReference === kSecAttrPersistentReference)
    }

    @Test func `CFEqual compares objects`() {
        #expect(CFEqual(NSData(data: Data([1])), NSData(data: Data([1]))))
        #expect(!CFEqual(NSString("1"), NSNumber(value: 1)))
        #expect(!CFEqual(NSNumber(value: 1), NSNumber(value: true)))
        #expect(!CFEqual(nil, nil))
        #expect(CFBooleanGetValue(kCFBooleanTrue) && !CFBooleanGetValue(kCFBooleanFalse))
    }

    /// spec/secitem.md §10.1.
    @Test func `SecAccessControlGetConstraints returns Apple's bits`() {
        let flags: [(SecAccessControlCreateFlags, CFOptionFlags)] = [
            (.userPresence, 0x1), (.biometryAny, 0x2), (.touchIDAny, 0x2),
            (.biometryCurrentSet, 0x8), (.touchIDCurrentSet, 0x8), (.devicePasscode, 0x10),
            (.companion, 0x20), (.watch, 0x20), (.or, 0x4000), (.and, 0x8000),
            (.privateKeyUsage, 0x4000_0000), (.applicationPassword, 0x8000_0000),
            ([.biometryAny, .or, .devicePasscode], 0x4012), ([], 0),
        ]
        for (flag, bits) in flags { #expect(flag.rawValue == bits) }
    }

    @Test func `Results can be read by CoreFoundation's functions`() {
        let data = Data([1, 2, 3]) as CFData
        #expect(CFDataGetLength(data) == 3 && CFDataGetLength(nil) == 0)
        #expect(unsafe CFDataGetBytePtr(data)?[2] == 3)
        #expect(unsafe CFDataGetBytePtr(Data() as CFData) == nil)
        #expect(CFArrayGetCount(["a", "b"] as CFArray) == 2 && CFArrayGetCount(nil) == 0)
        #expect(CFStringGetLength("ä" as CFString) == 1 && CFStringGetLength(nil) == 0)
        #expect(CFHash("a" as CFString) == CFHash("a" as CFString) && CFHash(nil) == 0)
    }

    @Test func `A request whose key is not a text is refused`() {
        let query = NSMutableDictionary(dictionary: [kSecClass: kSecClassGenericPassword])
        let keys: [(any NSCopying & NSObject, OSStatus)] = [
            (NSNumber(value: 1), errSecNoSuchAttr), (NSNumber(value: true), errSecNoSuchAttr),
            (NSData(data: Data([1])), errSecParam), (NSDate(), errSecParam),
        ]
        for (key, status) in keys {
            query.setObject("a", forKey: key)
            #expect(SecItemCopyMatching(query, nil) == status)
            #expect(SecItemDelete(query) == status)
            #expect(SecItemAdd(query, nil) == status)
            #expect(SecItemUpdate(query, [kSecAttrLabel: "a"]) == status)
            query.removeObject(forKey: key)
            let changes = NSMutableDictionary()
            changes.setObject("a", forKey: key)
            #expect(SecItemUpdate(query, changes) == errSecParam)
        }
    }

    @Test func `A dictionary takes an object that can be copied as a key`() {
        let request = NSMutableDictionary()
        request.setObject("a", forKey: kSecAttrAccount as NSString as any NSCopying)
        request.setObject("b", forKey: NSNumber(value: 1) as any NSCopying)
        #expect(request[kSecAttrAccount] as? String == "a" && request.count == 2)
    }
}
