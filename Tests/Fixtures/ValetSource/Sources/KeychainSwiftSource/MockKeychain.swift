// SPDX-License-Identifier: Apache-2.0

import Foundation
import KeychainSwift

// As tests of applications replace it: a subclass that keeps everything in a dictionary.
class MockKeychain: KeychainSwift {
    private var values: [String: Data] = [:]
    var failing = false

    override init() {
        super.init()
    }

    override func set(
        _ value: String, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        set(Data(value.utf8), forKey: key, withAccess: access)
    }

    override func set(
        _ value: Data, forKey key: String, withAccess access: KeychainSwiftAccessOptions? = nil
    ) -> Bool {
        lastResultCode = failing ? -25308 : noErr
        if !failing { values[key] = value }
        return !failing
    }

    override func get(_ key: String) -> String? {
        getData(key).flatMap { String(data: $0, encoding: .utf8) }
    }

    override func getData(_ key: String, asReference: Bool = false) -> Data? { values[key] }

    override func delete(_ key: String) -> Bool { values.removeValue(forKey: key) != nil }

    override func clear() -> Bool {
        values = [:]
        return true
    }
}

final class CountingKeychain: KeychainSwift {
    private(set) var count = 0
    override var lastResultCode: OSStatus {
        didSet { count += 1 }
    }
}

func makeKeychains() -> [KeychainSwift] {
    [MockKeychain(), CountingKeychain(keyPrefix: "a"), CountingKeychain()]
}
