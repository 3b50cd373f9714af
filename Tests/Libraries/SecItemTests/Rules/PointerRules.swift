// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing

/// spec/secitem.md §3.7, §3.9: the variable that a result is for, which a call that fails does
/// not touch.
@Suite struct `The rules of the variable for a result` {
    /// Keys beside those of the test's own items, and what the call answers.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let keys: [String: any Sendable]
        let status: OSStatus

        init(_ description: String, _ keys: [String: any Sendable], _ status: OSStatus) {
            testDescription = description
            self.keys = keys
            self.status = status
        }
    }

    /// Every combination of what can be returned.
    static let flags: [[String: any Sendable]] = (0..<16).map { bits in
        let names = ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"]
        let chosen = names.indices.filter { bits >> $0 & 1 == 1 }.map { (names[$0], true) }
        return Dictionary(uniqueKeysWithValues: chosen)
    }

    static let searches: [Row] =
        flags.flatMap { flags in
            ["m_LimitOne", "m_LimitAll"].map { limit in
                Row(
                    "§3.7 nothing found, \(flags.keys.sorted()), \(limit)",
                    flags.merging(["acct": "none", "m_Limit": limit]) { $1 }, errSecItemNotFound)
            }
        } + faults
        + [Row("a key", ["class": kSecClassKey as String, "r_Ref": true], errSecItemNotFound)]

    static let additions: [Row] =
        flags.map { flags in
            Row("§3.9 a duplicate, \(flags.keys.sorted())", flags, errSecDuplicateItem)
        } + faults
        + [Row("a key", ["class": kSecClassKey as String, "r_Ref": true], errSecUnimplemented)]

    /// What no call takes.
    private static let faults: [Row] = [
        Row("§3.1 an unknown attribute", ["zzzz": 1, "r_Data": true], errSecNoSuchAttr),
        Row("an attribute of the Secret Service", ["look": "x", "r_Data": true], errSecNoSuchAttr),
        Row("§3.1 a flag that is a number", ["r_Data": 1], errSecParam),
        Row("§3.2 an unknown class", ["class": "x", "r_Data": true], errSecNoSuchClass),
        Row("§5 a foreign group", ["agrp": "foreign", "r_Data": true], errSecMissingEntitlement),
    ]

    @Test(arguments: searches)
    func `The rules of the result variable hold for a search that fails`(_ row: Row) {
        let service = TestService()
        service.add("a", "1")
        let before = NSObject()
        var result: CFTypeRef? = before
        let status = unsafe SecItemCopyMatching(service.generic(row.keys as NSDictionary), &result)
        #expect(status == row.status)
        #expect(result === before)
    }

    @Test(arguments: additions)
    func `The rules of the result variable hold for an addition that fails`(_ row: Row) {
        let service = TestService()
        service.add("a", "1")
        let before = NSObject()
        var result: CFTypeRef? = before
        let item = service.generic(["acct": "a"] + (row.keys as NSDictionary))
        let status = unsafe SecItemAdd(item, &result)
        #expect(status == row.status)
        #expect(result === before)
    }

    @Test func `The rules of the result variable hold for a call that succeeds`() {
        let service = TestService()
        var result: CFTypeRef? = NSObject()
        let item = service.generic([
            "acct": "a", "v_Data": Data([1]), "r_Data": true,
        ])
        #expect(unsafe SecItemAdd(item, &result) == errSecSuccess)
        #expect(result as? Data == Data([1]))
        result = NSObject()
        let query = service.generic(["r_Data": true])
        #expect(unsafe SecItemCopyMatching(query, &result) == errSecSuccess)
        #expect(result as? Data == Data([1]))
    }
}
