// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import ValetKeychainModel

// Writes typed queries and items as SecItem dictionaries. The backends for Apple's systems, and
// searches by dictionary, use them.

extension ItemQuery {
    /// The query as a SecItem dictionary, without return flags and without the limit: updating and
    /// deleting take neither.
    package var dictionary: [String: Any] {
        var dictionary = attributes.secItemDictionary(itemClass)
        dictionary[Attribute.accessGroup.rawValue] = accessGroup?.rawValue
        dictionary[Attribute.accessible.rawValue] = protectionClass?.code
        dictionary[SecItemKey.persistentReference] = reference.map { Data($0.bytes) }
        dictionary[SecItemKey.hostOrSubdomainOfHost] = hostOrSubdomainOfHost
        switch synchronizable {
        case .localOnly: break
        case .synchronizedOnly: dictionary[Attribute.synchronizable.rawValue] = true
        case .any: dictionary[Attribute.synchronizable.rawValue] = SecItemKey.synchronizableAny
        }
        return dictionary
    }

    /// The query as a SecItem dictionary for a search, with the limit.
    package var searchDictionary: [String: Any] {
        var dictionary = dictionary
        dictionary[SecItemKey.limit] =
            switch limit {
            case .none: SecItemKey.limitAll
            case .some(1): SecItemKey.limitOne
            case .some(let limit): limit
            }
        return dictionary
    }
}

extension NewItem {
    package var dictionary: [String: Any] {
        var dictionary = attributes.secItemDictionary(itemClass)
        dictionary[Attribute.accessGroup.rawValue] = accessGroup?.rawValue
        // An access control carries its protection class; a dictionary with both is refused.
        if let accessControl {
            dictionary[Attribute.accessControl.rawValue] = Platform.object(for: accessControl)
        } else {
            dictionary[Attribute.accessible.rawValue] = protectionClass.code
        }
        if isSynchronizable { dictionary[Attribute.synchronizable.rawValue] = true }
        return dictionary
    }

    /// A search for an item with the same attributes, access group and protection class.
    package var query: ItemQuery {
        var query = ItemQuery(
            itemClass, attributes: attributes, accessGroup: accessGroup,
            synchronizable: isSynchronizable ? .synchronizedOnly : .localOnly)
        query.protectionClass = protectionClass
        return query
    }
}

extension ItemAttributes {
    fileprivate func secItemDictionary(_ itemClass: ItemClass) -> [String: Any] {
        var dictionary: [String: Any] = [
            SecItemKey.itemClass: itemClass.code, SecItemKey.usesDataProtectionKeychain: true,
        ]
        for (attribute, value) in self {
            dictionary[attribute.rawValue] = value.hashable.base
        }
        return dictionary
    }
}

extension AttributeValue {
    package var hashable: AnyHashable {
        switch self {
        case .text(let text): text
        case .bytes(let bytes), .accessControl(let bytes): Data(bytes)
        case .number(let number): number
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        }
    }
}
