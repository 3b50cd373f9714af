// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
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

    package let values: [LookupName: String]

    /// - Returns: nil for more than ``maximalCount``, or more than ``maximalByteCount`` bytes.
    package init?(_ values: [LookupName: String]) {
        let byteCount = values.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.utf8.count }
        guard values.count <= Self.maximalCount, byteCount <= Self.maximalByteCount else {
            return nil
        }
        self.values = values
    }

    /// Parses ``attributeValue``; nil for anything else.
    package init?(_ value: AttributeValue?) {
        guard case .bytes(let bytes)? = value, let values = EncodedLookup(bytes).values else {
            return nil
        }
        self.init(values)
    }

    /// The form in which an item stores them.
    package var attributeValue: AttributeValue { .bytes([UInt8](fields: values)) }

    /// Compares values by their bytes: two texts that are equal in Swift may be different values.
    package static func == (left: LookupAttributes, right: LookupAttributes) -> Bool {
        left.values.count == right.values.count && left.contain(right)
    }

    /// Whether these have all names of `others`, with values of the same bytes.
    package func contain(_ others: LookupAttributes) -> Bool { values.contain(others.values) }

    /// The attribute that says what an item's attributes mean.
    package static let schema: LookupName = "xdg:schema"
    /// The schema of items without one. Programs search with it for items that were stored without
    /// it, and the other way round.
    package static let generalSchema = "org.freedesktop.Secret.Generic"
}

/// The name of a lookup attribute: its bytes, in whose order names are stored.
///
/// A name is any text that a program sends. `String` compares and hashes a normal form, which takes
/// quadratic time for a letter with many accents.
package struct LookupName: Hashable, Comparable, Sendable {
    package let text: String
    /// Of all bytes, so that a name is read once, however often it is looked up.
    private let digest: Int

    package init(_ text: String) {
        self.text = text
        var hasher = Hasher()
        hasher.combine(Array(text.utf8))
        digest = hasher.finalize()
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    package static func == (left: LookupName, right: LookupName) -> Bool {
        left.digest == right.digest && left.text.hasSameBytes(as: right.text)
    }

    package static func < (left: LookupName, right: LookupName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension LookupName: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self.init(try String(from: &reader))
    }

    package func append(to bytes: inout [UInt8]) { text.append(to: &bytes) }
}

extension LookupName: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) { self.init(text) }
}

extension [LookupName: String] {
    /// - Returns: nil for a name with two values.
    package init?(pairs: [(name: String, value: String)]) {
        self.init(pairs.map { (LookupName($0.name), $0.value) }) { $1 }
        guard count == pairs.count else { return nil }
    }

    /// In the order of the names.
    package var pairs: [(name: String, value: String)] {
        sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    }

    package var haveGeneralSchema: Bool {
        self[LookupAttributes.schema]?.hasSameBytes(as: LookupAttributes.generalSchema) == true
    }

    /// The same for attributes that differ only in whether they name the general schema.
    package var withoutGeneralSchema: [LookupName: String] {
        haveGeneralSchema ? filter { $0.key != LookupAttributes.schema } : self
    }

    /// Whether a search for `wanted` finds an item that has these.
    package func areFound(by wanted: [LookupName: String]) -> Bool {
        contain(wanted.withoutGeneralSchema)
            && (!wanted.haveGeneralSchema || haveGeneralSchema
                || self[LookupAttributes.schema] == nil)
    }

    /// Whether an item with these takes the place of one with `others`.
    package func areSameItem(as others: [LookupName: String]) -> Bool {
        let counts = [self, others].map { $0.count - ($0.haveGeneralSchema ? 1 : 0) }
        return counts[0] == counts[1] && contain(others.withoutGeneralSchema)
    }

    /// Whether these have all names of `others` with their values, each with the same bytes.
    package func contain(_ others: [LookupName: String]) -> Bool {
        others.allSatisfy { name, value in self[name]?.hasSameBytes(as: value) == true }
    }
}

extension Attribute {
    /// Whether a search for `wanted` finds an item that has `stored`. A search for lookup
    /// attributes may name a subset of them.
    package func finds(_ wanted: AttributeValue, in stored: AttributeValue) -> Bool {
        guard self == .lookupAttributes else { return matches(wanted, stored) }
        guard case (.bytes(let wanted), .bytes(let stored)) = (wanted, stored) else {
            return false
        }
        return EncodedLookup(stored).contains(EncodedLookup(wanted))
    }
}

/// The names and values of encoded ``LookupAttributes``, in the order of the names. A search looks
/// into thousands, so this takes them apart without a copy and without generic code, which is slow
/// in another module.
private struct EncodedLookup: Sequence, IteratorProtocol {
    /// How many pairs follow.
    private var count: Int?
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
        count = number()
    }

    /// nil at the end, and where the bytes are malformed.
    mutating func next() -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard let count, count > 0, let name = text(), let value = text() else { return nil }
        self.count = count - 1
        return (name, value)
    }

    /// nil if the bytes are anything but the one encoding of a dictionary.
    var values: [LookupName: String]? {
        var pairs = self
        var (values, last): ([LookupName: String], LookupName?) = ([:], nil)
        while let (name, value) = pairs.next() {
            guard let name = String(validating: name, as: UTF8.self).map({ LookupName($0) }),
                let value = String(validating: value, as: UTF8.self),
                last.map({ $0 < name }) ?? true
            else { return nil }
            (values[name], last) = (value, name)
        }
        return pairs.count == 0 && pairs.rest.isEmpty ? values : nil
    }

    /// Whether these have all names of `others`, with values of the same bytes.
    func contains(_ others: Self) -> Bool {
        var own = self
        return others.allSatisfy { name, value in
            while let pair = own.next() {
                if pair.name == name { return pair.value == value }
            }
            return false
        }
    }

    private mutating func number() -> Int? {
        let byteCount = MemoryLayout<UInt32>.size
        guard rest.count >= byteCount else { return nil }
        defer { rest = rest.dropFirst(byteCount) }
        return rest.prefix(byteCount).reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func text() -> ArraySlice<UInt8>? {
        guard let byteCount = number(), rest.count >= byteCount else { return nil }
        defer { rest = rest.dropFirst(byteCount) }
        return rest.prefix(byteCount)
    }
}
