// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetSealing

/// The hashes by which the row of one item is found.
struct ItemPlace: Hashable, Sendable {
    let group: IndexHash
    let place: IndexHash
    let primaryKey: IndexHash
}

/// What the hashes of all items of a service in one group have in common.
final class ServicePlace: Sendable {
    let group: IndexHash
    let place: IndexHash
    /// Has taken in everything of the primary key but the account, which is its last part.
    private let primaryKeys: KeyedHash

    init(group: IndexHash, place: IndexHash, primaryKeys: consuming KeyedHash) {
        self.group = group
        self.place = place
        self.primaryKeys = primaryKeys
    }

    /// Where the row of the item with that account is.
    func place(of account: String) -> ItemPlace {
        ItemPlace(
            group: group, place: place,
            primaryKey: primaryKeys.indexHash(appending: SearchKey.Kind.blob.rawValue, account))
    }
}

/// Remembers the services that a process uses: most of a primary key is the same in every call.
///
/// What it holds follows from names and the index key alone, so that it never goes stale while the
/// key lives; it ends with the key. It holds the first 64 services and then no more.
final class ServiceCache: Sendable {
    private struct Key: Hashable {
        let service: PasswordService
        let group: AccessGroup
    }

    private static let capacity = 64

    private let places = Mutex<[Key: ServicePlace]>([:])

    /// The place of `service` in `group`, computed by `compute` unless it is known.
    func place(
        of service: PasswordService, in group: AccessGroup, _ compute: () -> ServicePlace
    ) -> ServicePlace {
        // Two texts that Swift calls equal may differ in their bytes, and lead elsewhere then.
        guard service.hasOneSpelling else { return compute() }
        let key = Key(service: service, group: group)
        if let known = places.withLock({ $0[key] }) { return known }
        let place = compute()
        places.withLock { places in
            if places.count < Self.capacity { places[key] = place }
        }
        return place
    }
}
