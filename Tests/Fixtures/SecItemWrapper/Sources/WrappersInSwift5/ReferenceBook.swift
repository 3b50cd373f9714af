// SPDX-License-Identifier: Apache-2.0

// An actor that hands out persistent references, and results with a status: the newest style.

import Foundation
import Security

struct KeychainStatus: RawRepresentable, Error, Hashable, CustomStringConvertible {
    let rawValue: OSStatus

    static let success = Self(rawValue: errSecSuccess)
    static let notFound = Self(rawValue: errSecItemNotFound)
    static let noEntitlement = Self(rawValue: errSecMissingEntitlement)

    init(rawValue: OSStatus) { self.rawValue = rawValue }

    var description: String {
        (SecCopyErrorMessageString(rawValue, nil) as String?) ?? "status \(rawValue)"
    }
}

/// What a wrapper lets its callers demand, as the flags of an access control object.
struct Demand: OptionSet {
    let rawValue: UInt

    static let presence = Demand(rawValue: SecAccessControlCreateFlags.userPresence.rawValue)
    static let finger = Demand(rawValue: SecAccessControlCreateFlags.touchIDCurrentSet.rawValue)

    var flags: SecAccessControlCreateFlags {
        SecAccessControlCreateFlags(rawValue: CFOptionFlags(rawValue))
    }

    @available(iOS, introduced: 8.0, deprecated: 11.3, message: "use biometryAny")
    @available(macOS, unavailable)
    static var touchID: SecAccessControlCreateFlags { [.touchIDAny, .or, .devicePasscode] }
}

actor ReferenceBook {
    private let service: String

    init(service: String) { self.service = service }

    func add(_ account: String, _ value: Data) -> Result<Data, KeychainStatus> {
        var attributes = base
        attributes[kSecAttrAccount] = account
        attributes[kSecValueData] = value
        attributes[kSecReturnPersistentRef] = true
        var reference: CFTypeRef?
        let status = SecItemAdd(attributes as CFDictionary, &reference)
        guard status == errSecSuccess, let reference = reference as? Data else {
            return .failure(KeychainStatus(rawValue: status))
        }
        return .success(reference)
    }

    func value(of reference: Data) throws -> Data? {
        let query =
            [kSecValuePersistentRef: reference, kSecReturnData: true] as [CFString: Any]
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        switch KeychainStatus(rawValue: status) {
        case .success: return item as? Data
        case .notFound: return nil
        case let failure: throw failure
        }
    }

    private func item(_ account: String) -> [String: Any]? {
        var query = base
        query[kSecAttrAccount] = account
        query[kSecReturnAttributes] = kCFBooleanTrue
        query[kSecReturnPersistentRef] = kCFBooleanTrue
        var item: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else {
            return nil
        }
        return item as? [String: Any]
    }

    func group(_ account: String) -> String? {
        item(account)?[kSecAttrAccessGroup as String] as? String
    }

    func created(_ account: String) -> Date? {
        item(account)?[kSecAttrCreationDate as String] as? Date
    }

    func forget(_ reference: Data) -> KeychainStatus {
        let query: NSDictionary = [kSecValuePersistentRef: reference]
        return KeychainStatus(rawValue: SecItemDelete(OlderKeychain.cf(query)))
    }

    func share(_ account: String, with group: String) -> KeychainStatus {
        var query = base
        query[kSecAttrAccount] = account
        let changes: [CFString: Any] = [kSecAttrAccessGroup: group]
        return KeychainStatus(
            rawValue: SecItemUpdate(query as CFDictionary, changes as CFDictionary))
    }

    private var base: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service as CFString]
    }
}
