// SPDX-License-Identifier: Apache-2.0

// A library whose type is called Keychain, as many are.

import Foundation
import Security

final class Keychain {
    let service: String

    init(service: String) { self.service = service }

    var isEmpty: Bool {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
        ]
        return SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound
    }
}

func ownTypeFailures() -> [String] {
    failures([("a library may have a type Keychain", Keychain(service: "none").isEmpty)])
}
