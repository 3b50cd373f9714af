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
    /// The most bytes of a label, and of a content type.
    package static let maximalLabelByteCount = 64 << 10
    /// The limits of an item, as text for messages.
    package static let limits =
        "an item has at most \(LookupAttributes.maximalCount) attributes with "
        + "\(LookupAttributes.maximalByteCount >> 10) KiB, and a label and a type with "
        + "\(maximalLabelByteCount >> 10) KiB each"

    private static let servicePrefix = "collection/"

    /// The service of a collection's items.
    package static func service(ofCollection name: String) -> String { servicePrefix + name }

    /// The collection of items with that service; nil for other services.
    package static func collection(ofService service: String) -> String? {
        guard service.hasPrefix(servicePrefix) else { return nil }
        return String(service.dropFirst(servicePrefix.count))
    }

    /// The attributes of a new item, except its account; nil if they exceed the ``limits``.
    package static func attributes(
        _ lookup: [LookupName: String], label: String, contentType: String, service: String
    ) -> ItemAttributes? {
        guard isLabel(label), isLabel(contentType), let lookup = lookupValue(lookup) else {
            return nil
        }
        return [
            .service: .text(service), .label: .text(label), .generic: .text(contentType),
            .lookupAttributes: lookup,
        ]
    }

    /// Whether a label or a content type is short enough.
    package static func isLabel(_ text: String) -> Bool {
        text.utf8.count <= maximalLabelByteCount
    }

    /// Lookup attributes as an item keeps them; nil for too many.
    package static func lookupValue(_ lookup: [LookupName: String]) -> AttributeValue? {
        LookupAttributes(lookup)?.attributeValue
    }

    package static func lookup(_ attributes: ItemAttributes) -> [LookupName: String] {
        LookupAttributes(attributes[.lookupAttributes])?.values ?? [:]
    }

    /// A name that no other item has.
    package static func newAccount() -> String { Hexadecimal.text(Randomness.bytes(16)) }
}
