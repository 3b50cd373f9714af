// SPDX-License-Identifier: Apache-2.0

package import Foundation
package import ValetKeychainModel
internal import ValetKeychainStore
package import ValetSealing

/// Turns items into the objects that a call returns (spec/secitem.md §3.7–§3.9).
struct SecItemResult {
    let returning: ReturnedParts
    let isList: Bool

    var parts: ItemParts {
        var parts: ItemParts = []
        if returning.contains(.data) { parts.insert(.value) }
        if includesAttributes { parts.insert(.attributes) }
        return parts
    }

    /// The object for a search that found `items`, at least one.
    func found(_ items: [StoredItem]) -> AnyObject? {
        if isList { return NSArray(array: items.compactMap { object(for: $0, $0.value?.data) }) }
        return items.first.flatMap { object(for: $0, $0.value?.data) }
    }

    func added(_ item: StoredItem, _ value: Data?) -> AnyObject? {
        // Here an item without a value has empty data, unlike in a search (§3.9).
        if returning == .data { return (value ?? Data()) as NSData }
        return object(for: item, value, saysPlainClass: false)
    }

    /// - Parameter saysPlainClass: Whether an item without an access control gets one that names
    ///   only its class: found items do, added ones do not (§3.8).
    private func object(
        for item: StoredItem, _ value: Data?, saysPlainClass: Bool = true
    ) -> AnyObject? {
        switch returning {
        case [], .object: nil
        case .data: value.map { $0 as NSData }
        case .persistentReference: Data(item.reference.bytes) as NSData
        default: NSDictionary(dictionary: dictionary(for: item, value, saysPlainClass))
        }
    }

    private func dictionary(
        for item: StoredItem, _ value: Data?, _ saysPlainClass: Bool
    ) -> [String: Any] {
        var result = includesAttributes ? item.attributeDictionary : [:]
        if includesAttributes, saysPlainClass, item.accessControl == nil {
            let plain = AccessControl(plain: item.protectionClass)
            result[kSecAttrAccessControl as String] = SecAccessControl(plain)
        }
        if returning.contains(.data), let value { result[kSecValueData as String] = value }
        if returning.contains(.persistentReference) {
            result[kSecValuePersistentRef as String] = Data(item.reference.bytes)
        }
        if returning.contains(.object) { result[kSecClass as String] = item.itemClass.code }
        return result
    }

    /// Data and persistent reference together return the attributes, too (§3.7).
    private var includesAttributes: Bool {
        returning.contains(.attributes) || returning.isSuperset(of: [.data, .persistentReference])
    }
}

extension StoredItem {
    /// The attributes as a dictionary (spec/secitem.md §3.8).
    var attributeDictionary: [String: Any] {
        var result: [String: Any] = [:]
        for (attribute, value) in attributes
        where attribute.isOfSecItem && !isUnsaid(attribute, value) {
            result[attribute.rawValue] = value.foundationValue
        }
        result[Attribute.accessGroup.rawValue] = accessGroup.rawValue
        result[Attribute.accessible.rawValue] = protectionClass.code
        result[Attribute.synchronizable.rawValue] = NSNumber(value: isSynchronizable ? 1 : 0)
        return result
    }

    /// Hint and token are left out where they are empty, which is their default (§2.2).
    private func isUnsaid(_ attribute: Attribute, _ value: AttributeValue) -> Bool {
        (attribute == .syncViewHint || attribute == .tokenID) && value == .text("")
    }
}

extension AttributeValue {
    fileprivate var foundationValue: Any? {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): Data(bytes)
        case .number(let number): NSNumber(value: number)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .accessControl(let bytes): AccessControl(encoded: bytes).map(SecAccessControl.init)
        }
    }
}

extension SecretValue {
    /// Copies an application's value for the call that stores it.
    ///
    /// - Throws: ``ValetKeychainModel/KeychainFailure/Code/outOfMemory`` if memory does not
    ///   suffice.
    package static func copy(of data: Data) throws(KeychainFailure) -> SecretValue {
        guard SpareMemory.canStore(byteCount: data.count) else {
            throw KeychainFailure(.outOfMemory, during: "store a value")
        }
        return SecretValue(copying: data.span)
    }

    package static func copy(ofAny data: Data?) throws(KeychainFailure) -> SecretValue? {
        guard let data else { return nil }
        return try copy(of: data)
    }

    /// A copy for the caller. Here a value leaves guarded memory, and the caller has to protect it.
    package var data: Data {
        withBytes { (bytes: Span<UInt8>) in
            unsafe bytes.withUnsafeBufferPointer { unsafe Data(buffer: $0) }
        }
    }
}
