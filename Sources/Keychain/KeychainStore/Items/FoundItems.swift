// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// The result of a search: the items that can be read, and the damage that the search met.
///
/// A damaged row may match, or may come before the items that can be read. So a caller decides
/// what damage means. ``items`` is for decisions: which item is the one, the first or the last, and
/// whether there is none. ``readable(noting:)`` is for lists, which show what can be read and
/// report the damage.
package struct FoundItems<Item> {
    private let sound: [Item]
    private let damage: KeychainFailure?

    /// - Parameters:
    ///   - sound: The items that can be read, in the order of the search.
    ///   - damage: Set if rows that may match are damaged. A search for a limited number of items
    ///     ends at its limit, and does not look at damaged rows behind it.
    package init(_ sound: [Item] = [], damage: KeychainFailure? = nil) {
        (self.sound, self.damage) = (sound, damage)
    }

    /// The results of several searches as one.
    package init(joining results: [FoundItems]) {
        self.init(results.flatMap(\.sound), damage: results.lazy.compactMap(\.damage).first)
    }

    /// All items, in the order of the search.
    ///
    /// - Throws: `damaged` if a row that may match is damaged.
    package var items: [Item] {
        get throws(KeychainFailure) {
            if let damage { throw damage }
            return sound
        }
    }

    /// The items that can be read, in the order of the search.
    ///
    /// - Parameter damage: Set to the damage that the search met, unless it is set already. The
    ///   caller reports it.
    package func readable(noting damage: inout KeychainFailure?) -> [Item] {
        damage = damage ?? self.damage
        return sound
    }

    /// Whether nothing was found, not even a damaged row.
    package var isEmpty: Bool { sound.isEmpty && damage == nil }

    /// Whether an item was found.
    ///
    /// - Throws: `damaged` if nothing but damaged rows was found.
    package func hasItem() throws(KeychainFailure) -> Bool {
        if sound.isEmpty, let damage { throw damage }
        return !sound.isEmpty
    }

    /// The result without the items for which `isIncluded` is false.
    package func filter(_ isIncluded: (Item) -> Bool) -> FoundItems {
        FoundItems(sound.filter(isIncluded), damage: damage)
    }

    /// The result with what `transform` makes of each item, without nil.
    package func compactMap<Other>(_ transform: (Item) -> Other?) -> FoundItems<Other> {
        FoundItems<Other>(sound.compactMap(transform), damage: damage)
    }
}

extension FoundItems: Sendable where Item: Sendable {}
