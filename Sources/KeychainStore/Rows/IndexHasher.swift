// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import KeychainModel
internal import Sealing

/// Computes the hashes by which rows are found: docs/FORMAT.md §6.
///
/// The keyed states are made once per keybag; a hash then costs what its own bytes cost.
final class IndexHasher: Sendable {
    private let primaryKeys: KeyedHash
    private let attributes: KeyedHash
    private let programs: KeyedHash

    init(_ keybag: UnlockedKeybag) {
        primaryKeys = KeyedHash(keybag.index, .primaryKey)
        attributes = KeyedHash(keybag.index, .index)
        programs = KeyedHash(keybag.index, .program)
    }

    /// The hash of a primary key; attributes that are missing count as their defaults.
    func primaryKey(
        _ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue], group: AccessGroup,
        isSynchronizable: Bool
    ) -> Digest {
        var parts = LengthPrefixed(reservingByteCount: 256)
        parts.append(itemClass.rawValue)
        parts.append(group.rawValue)
        parts.append(UInt8(isSynchronizable ? 1 : 0))
        for attribute in itemClass.primaryKeyAttributes {
            if let value = attributes[attribute] ?? attribute.defaultValue {
                Self.append(attribute, value, to: &parts)
            }
        }
        return primaryKeys.digest(appending: parts)
    }

    /// The hash of one attribute's value in a group.
    func attribute(
        _ attribute: Attribute, _ value: AttributeValue, _ itemClass: ItemClass,
        group: AccessGroup
    ) -> Digest {
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(itemClass.rawValue)
        parts.append(attribute.tag)
        parts.append(group.rawValue)
        Self.append(attribute, value, to: &parts)
        return attributes.digest(appending: parts)
    }

    /// Where the row of the item of that name in `group` is.
    func place(of name: PasswordName, in group: AccessGroup) -> ItemPlace {
        let itemClass = ItemClass.genericPassword.rawValue
        let blob = SearchKey.Kind.blob.rawValue
        let text = SearchKey.Kind.text.rawValue
        var parts = LengthPrefixed(reservingByteCount: 256)
        parts.append(itemClass)
        parts.append(Attribute.account.tag)
        parts.append(group.rawValue)
        parts.append(marker: blob, name.account)
        let account = attributes.digest(appending: parts)
        parts.removeAll()
        parts.append(itemClass)
        parts.append(group.rawValue)
        parts.append(UInt8(name.service.isSynchronizable ? 1 : 0))
        parts.append(marker: blob, name.service.service)
        parts.append(text)
        parts.append(text)
        parts.append(marker: blob, name.account)
        return ItemPlace(account: account, primaryKey: primaryKeys.digest(appending: parts))
    }

    /// The hash of an access group.
    func group(_ group: AccessGroup, _ itemClass: ItemClass) -> Digest {
        attribute(.accessGroup, .text(group.rawValue), itemClass, group: group)
    }

    /// The hash by which an item with a view hint or a token is found when a query names all of
    /// its primary key but these two: docs/FORMAT.md §6.4.
    func plainKey(
        _ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue], group: AccessGroup,
        isSynchronizable: Bool
    ) -> Digest {
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(itemClass.rawValue)
        parts.append(Self.plainKeyTag)
        parts.append(group.rawValue)
        parts.append(
            primaryKey(itemClass, attributes, group: group, isSynchronizable: isSynchronizable))
        return self.attributes.digest(appending: parts)
    }

    private static let plainKeyTag: UInt8 = 127

    /// The hash of a program under an application identifier.
    func program(_ applicationIdentifier: String, path: String) -> Digest {
        var parts = LengthPrefixed(reservingByteCount: 256)
        parts.append(applicationIdentifier)
        parts.append(path)
        return programs.digest(appending: parts)
    }

    /// All hashes of an item.
    func hashes(
        _ itemClass: ItemClass, _ content: ItemContent, isSynchronizable: Bool
    ) -> IndexHashes {
        let group = content.accessGroup
        let values = content.attributes
        let place = itemClass.placeAttribute
        var others: [UInt8: Digest] = [:]
        for (attribute, value) in values
        where attribute.isHashed && attribute != .account && attribute != place
            && value != attribute.defaultValue
        {
            others[attribute.tag] = self.attribute(attribute, value, itemClass, group: group)
        }
        if Attribute.variants.contains(where: { others[$0.tag] != nil }) {
            let plain = values.filter { !Attribute.variants.contains($0.key) }
            others[Self.plainKeyTag] = plainKey(
                itemClass, plain, group: group, isSynchronizable: isSynchronizable)
        }
        return IndexHashes(
            primaryKey: primaryKey(
                itemClass, values, group: group, isSynchronizable: isSynchronizable),
            account: attribute(
                .account, values[.account] ?? .text(""), itemClass, group: group),
            group: self.group(group, itemClass),
            place: attribute(place, values[place] ?? .text(""), itemClass, group: group),
            others: others)
    }

    /// LP(kind u8 ‖ bytes): docs/FORMAT.md §6.1.
    private static func append(
        _ attribute: Attribute, _ value: AttributeValue, to parts: inout LengthPrefixed
    ) {
        guard let key = attribute.searchKey(for: value) else { return }
        parts.append([key.kind.rawValue] + key.bytes)
    }
}

extension Attribute {
    /// Parts of the primary key that next to no item has and next to no query names.
    static let variants: [Attribute] = [.syncViewHint, .tokenID]
}

/// The hashes by which the row of one item is found.
struct ItemPlace: Sendable {
    let account: Digest
    let primaryKey: Digest
}
