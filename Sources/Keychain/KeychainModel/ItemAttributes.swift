// SPDX-License-Identifier: Apache-2.0

/// The attributes of an item, or of a request for items, without its group and its value.
///
/// An item has about a dozen at most, so a search from the first to the last costs less than a
/// table would.
package struct ItemAttributes: Hashable, Sendable {
    private var entries: [AttributeList.Entry] = []

    package init() {}

    package subscript(attribute: Attribute) -> AttributeValue? {
        get {
            let tag = attribute.tag
            return entries.first { $0.tag == tag }?.value
        }
        set {
            let tag = attribute.tag
            let index = entries.firstIndex { $0.tag >= tag } ?? entries.endIndex
            let isSet = index < entries.endIndex && entries[index].tag == tag
            switch (newValue, isSet) {
            case (let value?, true): entries[index] = AttributeList.Entry(tag: tag, value: value)
            case (let value?, false):
                entries.insert(AttributeList.Entry(tag: tag, value: value), at: index)
            case (nil, true): entries.remove(at: index)
            case (nil, false): break
            }
        }
    }

    package func filter(_ isKept: (Element) throws -> Bool) rethrows -> ItemAttributes {
        var kept = ItemAttributes()
        for element in self where try isKept(element) { kept[element.key] = element.value }
        return kept
    }

    /// These attributes, with the values of `others` for those that others have.
    package func overwritten(by others: ItemAttributes) -> ItemAttributes {
        var all = self
        for (attribute, value) in others { all[attribute] = value }
        return all
    }
}

extension ItemAttributes: RandomAccessCollection {
    package typealias Element = (key: Attribute, value: AttributeValue)

    package var startIndex: Int { entries.startIndex }
    package var endIndex: Int { entries.endIndex }

    package subscript(position: Int) -> Element {
        let entry = entries[position]
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
