// SPDX-License-Identifier: Apache-2.0

import Foundation
import Security
import Testing
import ValetKeychainModel

@testable import ValetKeychainServices
@testable import ValetSecItem

@Suite struct `The keys of a dictionary` {
    /// spec/secitem.md §3.1, §3.2: the same in a search and when adding.
    static let rows = [
        StatusRow("§3.1 an attribute of the class", [kSecAttrAccount: "a"], 0),
        StatusRow("§3.1 four characters that name nothing", ["zzzz": "a"], errSecNoSuchAttr),
        StatusRow("§3.1 four characters beyond ASCII", ["ключ": "a"], errSecNoSuchAttr),
        StatusRow("§3.2 server in a generic password", ["srvr": "a"], errSecNoSuchAttr),
        StatusRow("§3.1 an attribute of keys", [kSecAttrApplicationTag: "a"], errSecNoSuchAttr),
        StatusRow("§3.1 an unknown return flag", ["r_Other": true], errSecParam),
        StatusRow("§3.1 a return flag of number 1", [kSecReturnData: 1], errSecParam),
        StatusRow("§3.1 a return flag of text", [kSecReturnData: "true"], errSecParam),
        StatusRow("§3.1 a return flag", [kSecReturnData: true], 0),
        StatusRow("§3.1 a return flag as object", [kSecReturnData: kCFBooleanTrue], 0),
        StatusRow("§3.1 a return flag as number object", [kSecReturnData: yes], 0),
        StatusRow("§3.1 a boxed return flag", [kSecReturnData: AnyHashable(true)], 0),
        StatusRow("§3.1 an unknown use key", ["u_Other": true], errSecParam),
        StatusRow("§1.7 a keychain file", [kSecUseKeychain: "a"], errSecParam),
        StatusRow("§3.1 an unknown value key", ["v_Other": Data()], errSecParam),
        StatusRow("§3.1 a value that is text", [kSecValueData: "a"], errSecParam),
        StatusRow("§3.1 a value that is null", [kSecValueData: NSNull()], errSecParam),
        StatusRow("§3.1 a value that is an array of bytes", [kSecValueData: [1]], errSecParam),
        StatusRow("§3.1 an object for a value", [kSecValueRef: "a"], errSecParam),
        StatusRow("§3.1 an internal key", ["f_ilter": 1], 0),
        StatusRow("§3.1 the data protection selector", [kSecUseDataProtectionKeychain: 7], 0),
        StatusRow("§3.1 another text", ["account": "a"], errSecParam),
        StatusRow("§3.1 empty text", ["": "a"], errSecParam),
        StatusRow("§3.1 the data of an internal reference", ["persistref": Data()], errSecParam),
        StatusRow("§1.2 tombstones", ["tomb": 1], errSecNoSuchAttr),
        StatusRow("§1.2 persona", ["musr": Data()], errSecNoSuchAttr),
        StatusRow("§1.2 app clips", ["clip": 1], errSecNoSuchAttr),
        StatusRow("§1.7 the use of tombstones", ["u_Tomb": true], errSecParam),
        StatusRow("§3.2 no class", [kSecClass: nil], errSecParam),
        StatusRow("§3.2 an unknown class", [kSecClass: "apls"], errSecNoSuchClass),
        StatusRow("§3.2 a class that is a number", [kSecClass: 1], errSecNoSuchClass),
    ]

    @Test(arguments: rows)
    func `The keys of a dictionary are checked in a search as in an addition`(_ row: StatusRow) {
        #expect(parseStatus(.copyMatching, row.dictionary()) == row.status)
        #expect(parseStatus(.add, row.dictionary()) == row.status)
    }

    /// Nothing of these classes is kept here: there is nothing to find, and nothing can be added.
    @Test(
        arguments: [
            ["class": "keys"], ["class": "cert"], ["class": "idnt"],
            ["class": "keys", "atag": "a", "kcls": "1"],
        ] as [[String: String]])
    func `A dictionary of keys and certificates finds nothing and adds nothing`(
        _ keys: [String: String]
    ) {
        for call in [SecItemCall.copyMatching, .update, .delete] {
            #expect(parseStatus(call, keys as NSDictionary) == errSecItemNotFound)
        }
        #expect(parseStatus(.add, keys as NSDictionary) == errSecUnimplemented)
    }

    @Test func `A certificate that cannot be added is reported with the reason`() throws {
        let error = #expect(throws: KeychainFailure.self) {
            _ = try AddRequest([kSecClass: kSecClassCertificate])
        }
        #expect(error?.message == "keys, certificates and identities are not supported")
    }

    @Test(arguments: SecItemCall.allCases)
    func `A dictionary may have 128 keys`(_ call: SecItemCall) {
        #expect(parseStatus(call, Self.dictionary(keyCount: 128)) == errSecSuccess)
    }

    @Test(arguments: SecItemCall.allCases)
    func `A dictionary may not have 129 keys`(_ call: SecItemCall) {
        #expect(parseStatus(call, Self.dictionary(keyCount: 129)) == errSecParam)
    }

    @Test func `Of several invalid keys in a dictionary the first in sorting order is reported`() {
        let faults: NSDictionary = ["svce": NSNull(), "zzzz": 1, "srvr": 1]
        #expect(parseStatus(.add, genericPassword + faults) == errSecNoSuchAttr)
    }

    @Test func `The failure of a dictionary names its invalid keys`() throws {
        let error = #expect(throws: KeychainFailure.self) {
            _ = try AddRequest(genericPassword + [kSecReturnData: 1])
        }
        #expect(error?.message == "\"r_Data\" is not a boolean")
        #expect(error?.operation == "add an item")
    }

    private static func dictionary(keyCount: Int) -> NSDictionary {
        let more = (1..<keyCount).map { ("f\(1000 + $0)", $0) }
        return genericPassword + (Dictionary(uniqueKeysWithValues: more) as NSDictionary)
    }
}

private let yes = NSNumber(value: true)
