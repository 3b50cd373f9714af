// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

/// Computes the hashes by which rows are found: docs/FORMAT.md §6.
///
/// The key is hashed once per keybag, so that each hash costs only its own bytes.
package final class IndexHasher: Sendable {
    private let places: KeyedHash
    private let attributes: KeyedHash
    /// Seals former rows.
    let former: KeyedHash
    private let services = ServiceCache()

    init(_ keybag: UnlockedKeybag) {
        places = KeyedHash(keybag.index, .place)
        attributes = KeyedHash(keybag.index, .index)
        former = KeyedHash(keybag.index, .former)
    }

    /// The hash of a primary key without its account; attributes that are missing count as their
    /// defaults.
    private func placeHash(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, group: AccessGroup,
        isSynchronizable: Bool
    ) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 256)
        parts.append(itemClass.rawValue)
        parts.append(group.rawValue)
        parts.append(UInt8(isSynchronizable ? 1 : 0))
        for attribute in itemClass.primaryKeyAttributes where attribute != .account {
            if let value = attributes[attribute] ?? attribute.defaultValue {
                Self.append(attribute, value, to: &parts)
            }
        }
        return places.indexHash(appending: parts)
    }

    /// The hash of one attribute's value in a group.
    func attribute(
        _ attribute: Attribute, _ value: AttributeValue, _ itemClass: ItemClass,
        group: AccessGroup
    ) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(itemClass.rawValue)
        parts.append(attribute.tag)
        parts.append(group.rawValue)
        Self.append(attribute, value, to: &parts)
        return attributes.indexHash(appending: parts)
    }

    /// The place of the item of that name in `group`.
    package func place(of name: PasswordName, in group: AccessGroup) -> ItemPlace {
        place(of: name.service, in: group).place(of: name.account)
    }

    /// The place of the item with these attributes.
    package func place(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, group: AccessGroup,
        isSynchronizable: Bool
    ) -> ItemPlace {
        if itemClass == .genericPassword, case .text(let service)? = attributes[.service],
            case .text(let account)? = attributes[.account],
            attributes[.syncViewHint] == nil, attributes[.tokenID] == nil
        {
            // The place does not depend on the protection class.
            let service = PasswordService(
                service: service, accessGroup: group, isSynchronizable: isSynchronizable,
                protectionClass: .whenUnlocked)
            return place(of: PasswordName(account, in: service), in: group)
        }
        let service = itemClass.placeAttribute
        return ItemPlace(
            service: ServiceHashes(
                group: self.group(group, itemClass),
                service: attribute(
                    service, attributes[service] ?? .text(""), itemClass, group: group),
                place: placeHash(
                    itemClass, attributes, group: group, isSynchronizable: isSynchronizable)),
            account: account(attributes, itemClass, group: group))
    }

    private func account(
        _ attributes: ItemAttributes, _ itemClass: ItemClass, group: AccessGroup
    ) -> IndexHash {
        attribute(.account, attributes[.account] ?? .text(""), itemClass, group: group)
    }

    /// The place of a service in `group`, from the cache if it is there.
    package func place(of service: PasswordService, in group: AccessGroup) -> ServicePlace {
        services.place(of: service, in: group) {
            let itemClass = ItemClass.genericPassword
            let name: ItemAttributes = [.service: .text(service.service)]
            var parts = LengthPrefixed(reservingByteCount: 192)
            parts.append(itemClass.rawValue)
            parts.append(Attribute.account.tag)
            parts.append(group.rawValue)
            return ServicePlace(
                hashes: ServiceHashes(
                    group: self.group(group, itemClass),
                    service: attribute(.service, .text(service.service), itemClass, group: group),
                    place: placeHash(
                        itemClass, name, group: group,
                        isSynchronizable: service.isSynchronizable)),
                accounts: attributes.appending(parts))
        }
    }

    package func group(_ group: AccessGroup, _ itemClass: ItemClass) -> IndexHash {
        attribute(.accessGroup, .text(group.rawValue), itemClass, group: group)
    }

    /// The hash that finds an item with a view hint or a token if a query names its whole primary
    /// key except these two: docs/FORMAT.md §6.4.
    ///
    /// - Parameter attributes: The attributes; a view hint and a token are ignored.
    func plainKey(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, group: AccessGroup,
        isSynchronizable: Bool
    ) -> IndexHash {
        let plain = attributes.filter { !Attribute.variants.contains($0.key) }
        let place = place(itemClass, plain, group: group, isSynchronizable: isSynchronizable)
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(itemClass.rawValue)
        parts.append(Self.plainKeyTag)
        parts.append(group.rawValue)
        parts.append(place.service.place)
        parts.append(place.account)
        return self.attributes.indexHash(appending: parts)
    }

    private static let plainKeyTag: UInt8 = 127

    /// The tags of lookup attributes in the column `hashes`, one for each, in the order of their
    /// names.
    static let lookupTags = UInt8(128)...UInt8(127 + LookupAttributes.maximalCount)

    /// The hashes of all lookup attributes, in the order of their names: docs/FORMAT.md §6.5.
    func lookupHashes(_ attributes: LookupAttributes, group: AccessGroup) -> [IndexHash] {
        attributes.values.sorted { $0.key < $1.key }.map { name, value in
            lookupHash(name, value, group: group)
        }
    }

    /// The hash of one lookup attribute of a generic password in `group`: docs/FORMAT.md §6.5.
    func lookupHash(_ name: LookupName, _ value: String, group: AccessGroup) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(ItemClass.genericPassword.rawValue)
        parts.append(Self.lookupTags.lowerBound)
        parts.append(group.rawValue)
        parts.append(name.text)
        parts.append(value)
        return attributes.indexHash(appending: parts)
    }

    /// All hashes of an item.
    ///
    /// - Parameter known: Its place, if that has been computed.
    package func hashes(
        _ itemClass: ItemClass, _ content: ItemContent, isSynchronizable: Bool,
        at known: ItemPlace? = nil
    ) -> IndexHashes {
        let group = content.accessGroup
        let values = content.attributes
        let place = itemClass.placeAttribute
        var others: [UInt8: IndexHash] = [:]
        for (attribute, value) in values
        where attribute.isHashed && attribute != .account && attribute != place
            && attribute != .lookupAttributes && value != attribute.defaultValue
        {
            others[attribute.tag] = self.attribute(attribute, value, itemClass, group: group)
        }
        if let lookup = LookupAttributes(values[.lookupAttributes]) {
            for (tag, hash) in zip(Self.lookupTags, lookupHashes(lookup, group: group)) {
                others[tag] = hash
            }
        }
        if Attribute.variants.contains(where: { others[$0.tag] != nil }) {
            others[Self.plainKeyTag] = plainKey(
                itemClass, values, group: group, isSynchronizable: isSynchronizable)
        }
        return IndexHashes(
            place: known
                ?? self.place(itemClass, values, group: group, isSynchronizable: isSynchronizable),
            others: others)
    }

    /// LP(kind u8 ‖ bytes): docs/FORMAT.md §6.1.
    private static func append(
        _ attribute: Attribute, _ value: AttributeValue, to parts: inout LengthPrefixed
    ) {
        if case .text(let text) = value {
            // Most values are text, and need no array of their own.
            let isBlob = attribute.family == .blob
            let kind: SearchKey.Kind = isBlob ? .blob : .text
            return parts.append(marker: kind.rawValue, text)
        }
        guard let key = attribute.searchKey(for: value) else { return }
        parts.append([key.kind.rawValue] + key.bytes)
    }
}

extension Attribute {
    /// Parts of the primary key that hardly any item has and hardly any query names.
    package static let variants: [Attribute] = [.syncViewHint, .tokenID]
}

/// The hashes of one item by which it is found without opening it: docs/FORMAT.md §6.
package struct IndexHashes: Hashable {
    /// The hashes by which the item is found by its name.
    package var place: ItemPlace
    /// Hashes of the other searchable attributes that are set and not at their default.
    package var others: [UInt8: IndexHash]

    /// The column `hashes`: tag u8 ‖ hash 16, in the order of the tags; empty for none.
    package var encodedOthers: [UInt8] {
        var bytes: [UInt8] = []
        for (tag, hash) in others.sorted(by: { $0.key < $1.key }) {
            bytes.append(tag)
            bytes += hash.bytes
        }
        return bytes
    }

    /// Parses the column `hashes`.
    ///
    /// - Throws: ``SystemError``: `damagedColumn` unless ``encodedOthers`` gives these bytes.
    package static func others(parsing bytes: [UInt8]) throws(SystemError) -> [UInt8: IndexHash] {
        Dictionary(uniqueKeysWithValues: try OtherHashes(bytes).map { ($0.tag, $0.hash) })
    }
}

/// The column `hashes` as ``IndexHashes/encodedOthers`` writes it. A search looks at thousands of
/// rows, so this makes no dictionary.
struct OtherHashes: RandomAccessCollection {
    private static let byteCount = 17
    private let bytes: [UInt8]

    let startIndex = 0
    var endIndex: Int { bytes.count / Self.byteCount }

    /// - Throws: ``SystemError``: `damagedColumn` unless some hashes have this encoding.
    init(_ bytes: [UInt8]) throws(SystemError) {
        guard bytes.count % Self.byteCount == 0 else { throw .row(.damagedColumn) }
        var last: UInt8 = 0
        for start in stride(from: 0, to: bytes.count, by: Self.byteCount) {
            guard bytes[start] > last else { throw .row(.damagedColumn) }
            last = bytes[start]
        }
        self.bytes = bytes
    }

    subscript(index: Int) -> (tag: UInt8, hash: IndexHash) {
        let start = index * Self.byteCount
        return (bytes[start], IndexHash(InlineArray { bytes[start + 1 + $0] }))
    }

    func contains(_ hash: IndexHash) -> Bool { contains { $0.hash == hash } }

    /// The hash with that tag; nil if there is none.
    func hash(tagged tag: UInt8) -> IndexHash? { first { $0.tag == tag }?.hash }
}

/// The hashes by which the row of one item is found: its primary key.
package struct ItemPlace: Hashable, Sendable {
    /// The hashes of its place.
    package let service: ServiceHashes
    package let account: IndexHash

    /// A name whose hashes are known.
    package init(service: ServiceHashes, account: IndexHash) {
        (self.service, self.account) = (service, account)
    }
}

/// The hashes of a row of table `place`.
package struct ServiceHashes: Hashable, Sendable {
    /// The hash of the access group.
    package let group: IndexHash
    /// The hash of the service or the server.
    package let service: IndexHash
    /// The hash of the whole primary key except the account.
    package let place: IndexHash

    /// In the order of their columns.
    var all: [IndexHash] { [group, service, place] }

    /// A place whose hashes are known.
    package init(group: IndexHash, service: IndexHash, place: IndexHash) {
        self.group = group
        self.service = service
        self.place = place
    }
}

/// The common part of the hashes of all items of a service in one group.
package final class ServicePlace: Sendable {
    /// The hashes of the place.
    package let hashes: ServiceHashes
    /// The state of an account's hash before the account itself is appended.
    private let accounts: KeyedHash

    /// The place of a service whose hashes are known.
    package init(hashes: ServiceHashes, accounts: consuming KeyedHash) {
        self.hashes = hashes
        self.accounts = accounts
    }

    /// The place of the item with that account.
    package func place(of account: String) -> ItemPlace {
        ItemPlace(
            service: hashes,
            account: accounts.indexHash(appending: SearchKey.Kind.blob.rawValue, account))
    }
}

/// Caches the places of services: most of a primary key is the same in every call of a process.
///
/// Its contents follow from names and the index key alone, so they stay valid as long as that key
/// does. It holds the first 64 services and no others.
final class ServiceCache: Sendable {
    private struct Key: Hashable {
        let service: PasswordService
        let group: AccessGroup
    }

    private static let capacity = 64

    private let places = Lock<[Key: ServicePlace]>([:])

    /// The place of `service` in `group`, computed by `compute` unless it is known.
    package func place(
        of service: PasswordService, in group: AccessGroup, _ compute: () -> ServicePlace
    ) -> ServicePlace {
        let key = Key(service: service, group: group)
        if let known = places.withLock({ $0[key] }) { return known }
        let place = compute()
        places.withLock { places in
            if places.count < Self.capacity { places[key] = place }
        }
        return place
    }
}
