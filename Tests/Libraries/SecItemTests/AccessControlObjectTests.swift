// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

/// spec/secitem.md §10.1–§10.3, §3.4.
@Suite struct `Access control objects` {
    static let bits: [(SecAccessControlCreateFlags, UInt)] = [
        (.userPresence, 0x1), (.biometryAny, 0x2), (.touchIDAny, 0x2),
        (.biometryCurrentSet, 0x8), (.touchIDCurrentSet, 0x8), (.devicePasscode, 0x10),
        (.companion, 0x20), (.watch, 0x20), (.or, 0x4000), (.and, 0x8000),
        (.privateKeyUsage, 0x4000_0000), (.applicationPassword, 0x8000_0000),
    ]

    /// spec/secitem.md §10.1.
    @Test(arguments: bits)
    func `Access control objects have the bits of Apple's`(
        _ flag: SecAccessControlCreateFlags, _ bits: UInt
    ) {
        #expect(flag.rawValue == bits)
    }

    private func refusal(
        _ protection: String, _ flags: SecAccessControlCreateFlags
    ) -> NSError? {
        var error: Unmanaged<CFError>?
        let made = unsafe SecAccessControlCreateWithFlags(
            nil, protection as CFString, flags, &error)
        #expect(made == nil)
        return unsafe error?.takeRetainedValue()
    }

    static let refusals: [(String, SecAccessControlCreateFlags)] = [
        ("", .userPresence), ("nonsense", []), ("AK", []),
        ("ak", [.or, .and]), ("ak", [.biometryAny, .biometryCurrentSet]),
        ("ak", [.userPresence, .or]), ("ak", [.userPresence, .devicePasscode]),
        ("ak", [.userPresence, .companion]), ("f", [.or, .and]),
    ]

    /// spec/secitem.md §10.2.
    @Test(arguments: refusals)
    func `An access control object with invalid flags is refused with an error`(
        _ protection: String, _ flags: SecAccessControlCreateFlags
    ) throws {
        let error = try #require(refusal(protection, flags))
        #expect(error.code == Int(errSecParam))
        #expect(error.domain == NSOSStatusErrorDomain)
        // Nobody needs to want the error.
        let made = SecAccessControlCreateWithFlags(nil, protection as CFString, flags, nil)
        #expect(made == nil)
    }

    @Test(arguments: ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"])
    func `Access control objects are created for every class`(_ protection: String) {
        var error: Unmanaged<CFError>?
        let made = unsafe SecAccessControlCreateWithFlags(
            kCFAllocatorDefault, protection as CFString, .userPresence, &error)
        #expect(made != nil)
        #expect(unsafe error == nil)
        let object = SecAccessControlCreateWithFlags(
            nil, protection as CFTypeRef, .userPresence, nil)
        #expect(object == made)
        let none = SecAccessControlCreateWithFlags(nil, NSNull(), [], nil)
        #expect(none == nil)
    }

    /// spec/secitem.md §1.3: accepted by an access control, and by no item.
    @Test
    func `An access control object of an unusable class can be created, but no item accepts it`()
        throws
    {
        let code = kSecAttrAccessibleUntilReboot
        let made = try #require(Self.object(.userPresence, code))
        #expect(
            made.description
                == "<SecAccessControlRef: f;od(cpo(DeviceOwnerAuthentication));odel(true);oe(true)>"
        )
        #expect(made == Self.object(.userPresence, code))
        for other in [Self.object(.userPresence, "ak"), Self.object([], code)] {
            #expect(made != other)
        }
        let attributes: NSDictionary = [kSecAttrAccessControl: made]
        #expect(TestService().add("a", "1", attributes) == errSecParam)
        #expect(changesStatus(attributes) == errSecParam)
        for call in SecItemCall.allCases where call != .add {
            #expect(parseStatus(call, genericPassword + attributes) == errSecSuccess)
        }
    }

    @Test func `Access control objects with the same constraints are equal`() throws {
        let one = try GuardedCalls.accessControl([.biometryAny, .devicePasscode])
        let same = try GuardedCalls.accessControl([.biometryAny, .devicePasscode, .and])
        let other = try GuardedCalls.accessControl([.biometryAny, .devicePasscode, .or])
        #expect(one == same && one.hash == same.hash && one !== same)
        #expect(one != other)
        #expect(try one != GuardedCalls.accessControl([.biometryAny, .devicePasscode], "ak"))
        #expect(Set([one, same, other]).count == 2)
        #expect(NSDictionary(dictionary: ["a": one]) == NSDictionary(dictionary: ["a": same]))
        #expect(!one.isEqual("text"))
        #expect("\(one)".hasPrefix("<SecAccessControlRef: aku;od("))
    }

    private static func object(
        _ flags: SecAccessControlCreateFlags, _ protection: NSString = "ak"
    ) -> SecAccessControl? {
        SecAccessControlCreateWithFlags(nil, protection, flags, nil)
    }

    /// spec/secitem.md §3.4: an object that was made excludes a class beside it, even the same.
    @Test(arguments: SecItemCall.allCases)
    func `An access control object beside an accessibility is refused in every call`(
        _ call: SecItemCall
    ) {
        let pair: NSDictionary = [kSecAttrAccessible: "ak"]
        for flags in [[], .userPresence] as [SecAccessControlCreateFlags] {
            let made: NSDictionary = [kSecAttrAccessControl: Self.object(flags) as Any]
            #expect(parseStatus(call, genericPassword + made) == errSecSuccess)
            #expect(parseStatus(call, genericPassword + made + pair) == errSecParam)
        }
        let plain: NSDictionary = [
            kSecAttrAccessControl: SecAccessControl(AccessControl(plain: .whenUnlocked))
        ]
        #expect(parseStatus(call, genericPassword + plain + pair) == errSecSuccess)
        let other: NSDictionary = [kSecAttrAccessible: "ck"]
        #expect(parseStatus(call, genericPassword + plain + other) == errSecParam)
        let boxed: NSDictionary = [kSecAttrAccessControl: AnyHashable(Self.object([]))]
        #expect(parseStatus(call, genericPassword + boxed) == errSecSuccess)
    }

    /// spec/secitem.md §6, §10.6.
    @Test
    func `An update refuses an access control object beside an accessibility or synchronizing`() {
        let made: NSDictionary = [kSecAttrAccessControl: Self.object(.userPresence) as Any]
        #expect(changesStatus(made) == errSecSuccess)
        #expect(changesStatus(made + [kSecAttrAccessible: "ak"]) == errSecParam)
        #expect(changesStatus(made + [kSecAttrSynchronizable: true]) == errSecParam)
        #expect(changesStatus(made + [kSecAttrSynchronizable: false]) == errSecSuccess)
        #expect(changesStatus([kSecAttrAccessControl: "text"]) == errSecParam)
    }

    /// spec/secitem.md §3.3: they do not filter; §3.8: what an item without one has.
    @Test func `A search ignores access control objects and returns them for items without one`()
        throws
    {
        let service = TestService()
        #expect(service.add("a", "1") == errSecSuccess)
        let object = try #require(Self.object(.userPresence, "akpu"))
        let query = service.generic([kSecAttrAccessControl: object, kSecReturnAttributes: true])
        var result: CFTypeRef?
        #expect(unsafe SecItemCopyMatching(query, &result) == errSecSuccess)
        let found = try #require(result as? NSDictionary)
        let plain = try #require(found[kSecAttrAccessControl] as? SecAccessControl)
        #expect(plain != Self.object([]))
        #expect(plain.description == "<SecAccessControlRef: ak>")
        // What was found finds itself (si-10).
        #expect(SecItemCopyMatching(found + genericPassword, nil) == errSecSuccess)
    }
}
