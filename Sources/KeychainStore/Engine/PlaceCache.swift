// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import Synchronization

/// Remembers where rows are: two hashes cost as much as opening a value.
///
/// What it holds follows from names and the index key alone, so that it never goes stale while the
/// key lives; it ends with the key. It holds the first 1,024 names and then no more: a larger table
/// costs a program that goes through all of them more in misses of the processor's caches than the
/// hashes cost.
final class PlaceCache: Sendable {
    private struct Key: Hashable {
        let name: PasswordName
        let group: AccessGroup

        /// Two texts that Swift calls equal may differ in their bytes, and lead elsewhere then.
        static func == (left: Key, right: Key) -> Bool {
            left.name == right.name && left.group == right.group
                && left.name.account.utf8.elementsEqual(right.name.account.utf8)
                && left.name.service.service.utf8.elementsEqual(right.name.service.service.utf8)
        }

        /// Few applications have more than one group, and most names are in one only.
        func hash(into hasher: inout Hasher) {
            hasher.combine(name)
        }
    }

    private static let capacity = 1024

    private let places = Mutex<[Key: ItemPlace]>([:])

    /// The place of `name` in `group`, computed by `hasher` unless it is known.
    func place(of name: PasswordName, in group: AccessGroup, _ hasher: IndexHasher) -> ItemPlace {
        let key = Key(name: name, group: group)
        if let known = places.withLock({ $0[key] }) { return known }
        let place = hasher.place(of: name, in: group)
        places.withLock { places in
            if places.count < Self.capacity { places[key] = place }
        }
        return place
    }
}
