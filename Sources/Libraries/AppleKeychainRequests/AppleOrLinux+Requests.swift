// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

#if canImport(Darwin) || VALET_APPLE_BRANCHES
    internal import Security
#else
    internal import ValetCoreFoundationNames
    internal import ValetSecItem
#endif

package struct PlatformSecItem: SecItemFunctions {
    package init() {}

    package func add(_ attributes: [String: Any]) -> (status: Int32, result: Any?) {
        var result: CFTypeRef?
        let status = unsafe SecItemAdd(attributes as CFDictionary, &result)
        return (status, result)
    }

    package func copy(_ query: [String: Any]) -> (status: Int32, result: Any?) {
        var result: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result)
    }

    package func update(_ query: [String: Any], _ changes: [String: Any]) -> Int32 {
        SecItemUpdate(query as CFDictionary, changes as CFDictionary)
    }

    package func delete(_ query: [String: Any]) -> Int32 {
        SecItemDelete(query as CFDictionary)
    }
}

enum Platform {
    static func object(for accessControl: AccessControl) -> Any? {
        let flags = SecAccessControlCreateFlags(
            rawValue: CFOptionFlags(accessControl.constraints.rawValue))
        let protection = accessControl.protectionClass.code as CFString
        return SecAccessControlCreateWithFlags(nil, protection, flags, nil)
    }
}
