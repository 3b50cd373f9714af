// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// The attributes by which programs of the Secret Service look for an item: names with values
/// (Secret Service API 0.2, "Lookup Attributes"). A search for any subset of them finds the item.
///
/// Format: docs/FORMAT.md §5.6.
package struct LookupAttributes: Equatable, Sendable {
    /// More than any program gives an item.
    package static let maximalCount = 64
    /// The bytes of all names and values together.
    package static let maximalByteCount = 256 << 10

    package let values: [String: String]

    /// - Returns: nil for more than ``maximalCount``, or more than ``maximalByteCount`` bytes.
    package init?(_ values: [String: String]) {
        let byteCount = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard values.count <= Self.maximalCount, byteCount <= Self.maximalByteCount else {
            return nil
        }
        self.values = values
    }

    /// Parses ``attributeValue``; nil for anything else.
    package init?(_ value: AttributeValue?) {
        guard case .bytes(let bytes)? = value else { return nil }
        do {
            var reader = ByteReader(bytes, malformed: SystemError.row(.damagedContent))
            let named = try [Name: String](from: &reader)
            try reader.finish()
            self.init(named)
        } catch {
            return nil
        }
    }

    /// The form in which an item stores them.
    package var attributeValue: AttributeValue {
        let named = values.map { (Name(text: $0.key), $0.value) }
        return .bytes([UInt8](fields: Dictionary(uniqueKeysWithValues: named)))
    }

    /// - Returns: nil also for two names that are the same text in Unicode.
    private init?(_ named: [Name: String]) {
        var values: [String: String] = [:]
        for (name, value) in named { values[name.text] = value }
        guard values.count == named.count else { return nil }
        self.init(values)
    }

    /// A name as its bytes, in whose order names are stored.
    private struct Name: Hashable, Comparable, ByteField {
        let text: String

        init(text: String) { self.text = text }

        init<E>(from reader: inout ByteReader<E>) throws(E) { text = try String(from: &reader) }

        func append(to bytes: inout [UInt8]) { text.append(to: &bytes) }

        func hash(into hasher: inout Hasher) { hasher.combine(Array(text.utf8)) }

        static func == (left: Name, right: Name) -> Bool { left.text.hasSameBytes(as: right.text) }

        static func < (left: Name, right: Name) -> Bool {
            left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
        }
    }

    /// Compares values by their bytes: two texts that are equal in Swift may be different values.
    package static func == (left: LookupAttributes, right: LookupAttributes) -> Bool {
        left.values.count == right.values.count && left.contain(right)
    }

    /// Whether these have all names of `others`, with values of the same bytes.
    package func contain(_ others: LookupAttributes) -> Bool { values.contain(others.values) }

    /// The attribute that says what an item's attributes mean.
    package static let schema = "xdg:schema"
    /// The schema of items without one. Programs search with it for items that were stored without
    /// it, and the other way round.
    package static let generalSchema = "org.freedesktop.Secret.Generic"
}

extension [String: String] {
    package var haveGeneralSchema: Bool {
        self[LookupAttributes.schema] == LookupAttributes.generalSchema
    }

    /// The same for attributes that differ only in whether they name the general schema.
    package var withoutGeneralSchema: [String: String] {
        haveGeneralSchema ? filter { $0.key != LookupAttributes.schema } : self
    }

    /// Whether a search for `wanted` finds an item that has these.
    package func areFound(by wanted: [String: String]) -> Bool {
        contain(wanted.withoutGeneralSchema)
            && (!wanted.haveGeneralSchema || haveGeneralSchema
                || self[LookupAttributes.schema] == nil)
    }

    /// Whether an item with these takes the place of one with `others`.
    package func areSameItem(as others: [String: String]) -> Bool {
        let (own, others) = (withoutGeneralSchema, others.withoutGeneralSchema)
        return own.count == others.count && own.contain(others)
    }

    /// Whether these have all names of `others` with their values, each with the same bytes.
    package func contain(_ others: [String: String]) -> Bool {
        others.allSatisfy { name, value in
            guard let index = index(forKey: name) else { return false }
            let (known, own) = self[index]
            return known.hasSameBytes(as: name) && own.hasSameBytes(as: value)
        }
    }
}

extension Attribute {
    /// Whether a search for `wanted` finds an item that has `stored`. A search for lookup
    /// attributes may name a subset of them.
    package func finds(_ wanted: AttributeValue, in stored: AttributeValue) -> Bool {
        guard self == .lookupAttributes else { return matches(wanted, stored) }
        // The same attributes have the same bytes.
        if wanted == stored { return true }
        guard let wanted = LookupAttributes(wanted), let stored = LookupAttributes(stored) else {
            return false
        }
        return stored.contain(wanted)
    }
}
