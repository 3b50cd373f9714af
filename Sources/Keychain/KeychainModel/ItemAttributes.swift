// SPDX-License-Identifier: Apache-2.0

/// The attributes of an item, or of a request for items, without its group and its value.
///
/// An item has about a dozen at most, so a linear search costs less than a hash table.
package struct ItemAttributes: Hashable, Sendable {
    private var list = AttributeList()

    package init() {}

    /// The attributes in `list`; nil if it has an entry that is none of an item of that class.
    package init?(_ list: consuming AttributeList, of itemClass: ItemClass) {
        let areKnown = list.entries.allSatisfy { entry in
            Attribute(tag: entry.tag)?.exists(in: itemClass) == true
        }
        guard areKnown else { return nil }
        self.list = list
    }

    package subscript(attribute: Attribute) -> AttributeValue? {
        get { list[attribute.tag] }
        set { list[attribute.tag] = newValue }
    }

    package func filter(_ isKept: (Element) throws -> Bool) rethrows -> ItemAttributes {
        var kept = ItemAttributes()
        for element in self where try isKept(element) { kept[element.key] = element.value }
        return kept
    }

    /// These attributes and those of `others`. Where both have one, the value is that of `others`.
    package func overwritten(by others: ItemAttributes) -> ItemAttributes {
        var all = self
        for (attribute, value) in others { all[attribute] = value }
        return all
    }
}

extension ItemAttributes: RandomAccessCollection {
    package typealias Element = (key: Attribute, value: AttributeValue)

    package var startIndex: Int { list.entries.startIndex }
    package var endIndex: Int { list.entries.endIndex }

    package subscript(position: Int) -> Element {
        let entry = list.entries[position]
        guard let attribute = Attribute(tag: entry.tag) else {
            preconditionFailure("a tag of no attribute was set")
        }
        return (attribute, entry.value)
    }

    package var keys: [Attribute] { map(\.key) }
}

extension ItemAttributes: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (Attribute, AttributeValue)...) {
        for (attribute, value) in elements { self[attribute] = value }
    }
}
