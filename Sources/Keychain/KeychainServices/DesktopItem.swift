// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing

/// How the keychain keeps the items of the Secret Service: docs/SECRET-SERVICE.md.
package enum DesktopItem {
    /// The group of all of them.
    package static let group = AccessGroup("org.freedesktop.secrets")
    /// The collection that is always there.
    package static let usualCollection = "login"
    package static let usualContentType = "text/plain"
    /// More attributes than this an item cannot have.
    package static let maximalAttributeCount = LookupAttributes.maximalCount

    private static let servicePrefix = "collection/"

    /// The service of a collection's items.
    package static func service(ofCollection name: String) -> String { servicePrefix + name }

    /// The collection of items with that service; nil for other services.
    package static func collection(ofService service: String) -> String? {
        guard service.hasPrefix(servicePrefix) else { return nil }
        return String(service.dropFirst(servicePrefix.count))
    }

    /// The attributes of a new item but its account; nil for too many lookup attributes.
    package static func attributes(
        _ lookup: [String: String], label: String, contentType: String, service: String
    ) -> ItemAttributes? {
        lookupValue(lookup).map { lookup in
            [
                .service: .text(service), .label: .text(label), .generic: .text(contentType),
                .lookupAttributes: lookup,
            ]
        }
    }

    /// Lookup attributes as an item keeps them; nil for too many.
    package static func lookupValue(_ lookup: [String: String]) -> AttributeValue? {
        LookupAttributes(lookup)?.attributeValue
    }

    /// A name that no other item has.
    package static func newAccount() -> String { Hexadecimal.text(Randomness.bytes(16)) }
}
