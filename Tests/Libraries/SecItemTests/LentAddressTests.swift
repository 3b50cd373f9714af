// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Security
internal import Testing

/// `CFDictionaryGetValue` and `CFArrayGetValueAtIndex`, as code translated from C reads results.
@Suite struct `The address of a value in a collection` {
    private func object(_ address: UnsafeRawPointer?) -> AnyObject? {
        unsafe address.map { unsafe Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }

    private func value(_ key: CFString, of dictionary: NSDictionary) -> UnsafeRawPointer? {
        unsafe CFDictionaryGetValue(dictionary, Unmanaged.passUnretained(key).toOpaque())
    }

    @Test func `The address of a value in a collection is that of an object like the value`() {
        let dictionary: NSDictionary = [
            kSecAttrAccount: "anna", kSecValueData: Data([1, 2]), kSecAttrPort: 443,
            kSecReturnData: kCFBooleanTrue as Any, "list": ["a"],
        ]
        #expect(unsafe object(value(kSecAttrAccount, of: dictionary)) as? NSString == "anna")
        #expect(unsafe object(value("acct", of: dictionary)) as? String == "anna")
        #expect(unsafe object(value(kSecValueData, of: dictionary)) as? Data == Data([1, 2]))
        #expect(unsafe object(value(kSecAttrPort, of: dictionary)) as? Int == 443)
        #expect(unsafe object(value(kSecReturnData, of: dictionary)) === kCFBooleanTrue)
        #expect(unsafe object(value("list", of: dictionary)) as? [String] == ["a"])
        #expect(unsafe value(kSecAttrService, of: dictionary) == nil)
        #expect(unsafe CFDictionaryGetValue(nil, nil) == nil)
        #expect(unsafe CFDictionaryGetValue(dictionary, nil) == nil)
    }

    @Test func `The address of a value in a collection says whether the key exists`() {
        let dictionary: NSDictionary = [kSecAttrAccount: "anna"]
        var found: UnsafeRawPointer?
        let account = unsafe Unmanaged.passUnretained(kSecAttrAccount).toOpaque()
        let service = unsafe Unmanaged.passUnretained(kSecAttrService).toOpaque()
        #expect(unsafe CFDictionaryGetValueIfPresent(dictionary, account, &found))
        #expect(unsafe object(found) as? String == "anna")
        #expect(unsafe CFDictionaryGetValueIfPresent(dictionary, account, nil))
        #expect(unsafe !CFDictionaryGetValueIfPresent(dictionary, service, &found))
        #expect(unsafe object(found) as? String == "anna")
    }

    @Test func `The address of a value in a list is that of its place`() {
        let list: NSArray = ["a", Data([1]), 3]
        #expect(unsafe object(CFArrayGetValueAtIndex(list, 0)) as? String == "a")
        #expect(unsafe object(CFArrayGetValueAtIndex(list, 1)) as? Data == Data([1]))
        #expect(unsafe object(CFArrayGetValueAtIndex(list, 2)) as? Int == 3)
        for place in [-1, 3, Int.max, Int.min] {
            #expect(unsafe CFArrayGetValueAtIndex(list, place) == nil)
        }
        #expect(unsafe CFArrayGetValueAtIndex(nil, 0) == nil)
    }

    @Test func `The address of a value in a collection stays the same, and valid`() {
        let dictionary: NSDictionary = [kSecAttrAccount: "anna" + String(repeating: "x", count: 99)]
        let first = unsafe value(kSecAttrAccount, of: dictionary)
        // Other collections come and go, so that ended loans are dropped.
        for number in 0..<1000 {
            let other: NSDictionary = ["key": "value \(number)"]
            #expect(unsafe object(value("key", of: other)) as? String == "value \(number)")
        }
        #expect(unsafe value(kSecAttrAccount, of: dictionary) == first)
        #expect(unsafe (object(first) as? String)?.hasPrefix("anna") == true)
    }

    @Test func `The address of a value in a collection changes with the value`() {
        let dictionary: NSMutableDictionary = ["key": "one"]
        #expect(unsafe object(value("key", of: dictionary)) as? String == "one")
        dictionary["key"] = "two"
        #expect(unsafe object(value("key", of: dictionary)) as? String == "two")
        dictionary["key"] = nil
        #expect(unsafe value("key", of: dictionary) == nil)
    }

    @Test func `An object whose address was lent ends after its collection`() {
        weak var lent: NSString?
        do {
            let list: NSArray = ["text of an ended list"]
            lent = unsafe object(CFArrayGetValueAtIndex(list, 0)) as? NSString
            #expect(lent != nil)
        }
        let others = (0..<1000).map { NSArray(array: [$0]) }
        for other in others { #expect(unsafe CFArrayGetValueAtIndex(other, 0) != nil) }
        #expect(lent == nil)
    }

    @Test func `Addresses can be asked for on many threads`() async {
        let texts = await withTaskGroup(of: String?.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let own: NSArray = ["\(number)", "own"]
                    return (0..<100).map { _ in
                        unsafe object(CFArrayGetValueAtIndex(own, 0)) as? String
                    }.last ?? nil
                }
            }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(texts == Set((0..<50).map { "\($0)" }))
    }
}

@Suite struct `Data from bytes` {
    private func copied(_ bytes: [UInt8], _ length: Int) -> Data? {
        unsafe CFDataCreate(kCFAllocatorDefault, bytes, length).map { $0 as Data }
    }

    private func shared(_ bytes: UnsafeMutablePointer<UInt8>?, _ length: Int) -> Data? {
        unsafe CFDataCreateWithBytesNoCopy(nil, bytes, length, kCFAllocatorNull).map { $0 as Data }
    }

    @Test func `Data from bytes copies them`() {
        var bytes: [UInt8] = [1, 2, 3]
        let data = copied(bytes, 3)
        bytes[0] = 9
        #expect(data == Data([1, 2, 3]))
        #expect(copied(bytes, 0) == Data())
        #expect(copied(bytes, -1) == nil)
    }

    @Test func `Data from bytes that are not copied leaves them to the caller`() {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 4)
        unsafe bytes.initialize(repeating: 7, count: 4)
        var data = unsafe CFDataCreateWithBytesNoCopy(nil, bytes, 4, kCFAllocatorNull)
        let isSame = unsafe CFDataGetBytePtr(data) == UnsafePointer(bytes)
        #expect(isSame && CFDataGetLength(data) == 4)
        data = nil
        let last = unsafe bytes[3]
        #expect(last == 7)
        unsafe bytes.deallocate()
    }

    @Test func `Data from bytes that are not copied can free them`() throws {
        let size = 1 << 20
        let bytes = unsafe try #require(malloc(size))
        let filled = unsafe bytes.initializeMemory(as: UInt8.self, repeating: 5, count: size)
        let data = unsafe CFDataCreateWithBytesNoCopy(nil, filled, size, kCFAllocatorDefault)
        #expect(CFDataGetLength(data) == size)
    }

    @Test func `Data from no bytes is empty, and a wrong length is refused`() {
        let empty = unsafe shared(nil, 0)
        #expect(empty == Data())
        let missing = unsafe shared(nil, 1)
        #expect(missing == nil)
        let negative = unsafe shared(nil, -1)
        #expect(negative == nil)
    }
}
