// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Security
internal import Testing
internal import ValetTestSupport

/// An object and the Swift value that it converts to.
private struct Pair: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let values: @Sendable () -> (object: AnyHashable, value: AnyHashable)

    init(_ name: String, _ values: @escaping @Sendable () -> (AnyHashable, AnyHashable)) {
        testDescription = name
        self.values = values
    }

    static let all = [
        Pair("constant") { (kSecAttrAccount, "acct") },
        Pair("NSString") { (NSString(string: "é"), "é") },
        Pair("empty NSString") { (NSString(), "") },
        Pair("NSMutableString") { (NSMutableString(string: "text"), "text") },
        Pair("kCFBooleanTrue") { (kCFBooleanTrue, true) },
        Pair("kCFBooleanFalse") { (kCFBooleanFalse, false) },
        Pair("NSNumber of a Boolean") { (NSNumber(value: true), true) },
        Pair("NSData") { (NSData(data: Data([1, 2])), Data([1, 2])) },
        Pair("NSDate") { (NSDate(timeIntervalSince1970: 1.5), Date(timeIntervalSince1970: 1.5)) },
    ]
}

@Suite struct `An object in AnyHashable` {
    @Test(arguments: Pair.all)
    private func `An object in AnyHashable equals its Swift value, and has its hash`(_ pair: Pair) {
        let (object, value) = pair.values()
        #expect(object == value && value == object)
        #expect(object.hashValue == value.hashValue)
        #expect(Set([object, value]).count == 1)
        #expect([value: 1][object] == 1 && [object: 1][value] == 1)
    }

    @Test func `A constant reads results whose keys are AnyHashable`() throws {
        let account: NSDictionary = ["acct": "anna", "svce": "mail"]
        let result: AnyObject = NSArray(array: [account])
        let dictionaries = try #require(result as? [[AnyHashable: Any]])
        #expect(dictionaries[0][kSecAttrAccount] as? String == "anna")
        #expect(dictionaries[0][kSecAttrService as String] as? String == "mail")
        #expect(dictionaries[0]["svce"] as? String == "mail")
    }

    @Test func `A query equals the dictionary that it was made of`() {
        let query: [AnyHashable: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "anna",
            kSecReturnData: kCFBooleanTrue as Any, kSecReturnAttributes: true,
            kSecValueData: Data([1]), kSecMatchLimit: kSecMatchLimitOne,
        ]
        #expect(NSDictionary(dictionary: query).isEqual(to: query))
        var other = query
        other[kSecAttrAccount] = "bert"
        #expect(!NSDictionary(dictionary: query).isEqual(to: other))
        other[kSecAttrAccount] = nil
        #expect(!NSDictionary(dictionary: query).isEqual(to: other))
    }

    @Test func `A constant and its text are one key of a dictionary`() {
        var query: [AnyHashable: Any] = [kSecAttrAccount: "anna"]
        query["acct"] = "bert"
        #expect(query.count == 1)
        query[kSecAttrAccount] = nil
        #expect(query.isEmpty)
    }

    @Test func `An object in AnyHashable still converts to the types that it converts to alone`() {
        let text = AnyHashable(kSecAttrAccount)
        #expect(text as? NSString == "acct" && text as? String == "acct")
        #expect(text.base as? NSString == "acct" && text.base as? String == "acct")
        let number = AnyHashable(NSNumber(value: 1))
        #expect(number as? Int == 1 && number as? UInt32 == 1 && number as? Double == 1)
        #expect(number as? Bool == true)
        #expect(AnyHashable(kCFBooleanTrue) as? Bool == true)
        #expect(AnyHashable(kCFBooleanTrue) as? NSNumber == 1)
        #expect(AnyHashable(NSData(data: Data([1]))) as? NSData == NSData(data: Data([1])))
    }

    @Test func `Different objects in AnyHashable differ`() {
        #expect(AnyHashable(kSecAttrAccount) != AnyHashable(kSecAttrService))
        #expect(AnyHashable(kSecAttrAccount) != AnyHashable(Data("acct".utf8)))
        #expect(AnyHashable(kCFBooleanTrue) != AnyHashable(kCFBooleanFalse))
        #expect(AnyHashable(kCFBooleanTrue) != AnyHashable("true"))
    }
}
