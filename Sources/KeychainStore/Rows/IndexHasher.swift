// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing

/// Computes the hashes by which rows are found: docs/FORMAT.md §6.
///
/// The keyed states are made once per keybag; a hash then costs what its own bytes cost.
final class IndexHasher: Sendable {
    private let primaryKeys: KeyedHash
    private let attributes: KeyedHash
    private let programs: KeyedHash
    private let services = ServiceCache()

    init(_ keybag: UnlockedKeybag) {
        primaryKeys = KeyedHash(keybag.index, .primaryKey)
        attributes = KeyedHash(keybag.index, .index)
        programs = KeyedHash(keybag.index, .program)
    }

    /// The hash of a primary key; attributes that are missing count as their defaults.
    func primaryKey(
        _ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue], group: AccessGroup,
        isSynchronizable: Bool
    ) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 256)
        parts.append(itemClass.rawValue)
        parts.append(group.rawValue)
        parts.append(UInt8(isSynchronizable ? 1 : 0))
        for attribute in itemClass.primaryKeyAttributes {
            if let value = attributes[attribute] ?? attribute.defaultValue {
                Self.append(attribute, value, to: &parts)
            }
        }
        return primaryKeys.indexHash(appending: parts)
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

    /// Where the row of the item of that name in `group` is.
    func place(of name: PasswordName, in group: AccessGroup) -> ItemPlace {
        place(of: name.service, in: group).place(of: name.account)
    }

    /// Where the row of the item with these attributes is.
    func place(
        _ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue], group: AccessGroup,
        isSynchronizable: Bool
    ) -> ItemPlace {
        if itemClass == .genericPassword, case .text(let service)? = attributes[.service],
            case .text(let account)? = attributes[.account],
            attributes[.syncViewHint] == nil, attributes[.tokenID] == nil
        {
            // The class has no part in it.
            let service = PasswordService(
                service: service, accessGroup: group, isSynchronizable: isSynchronizable,
                protectionClass: .whenUnlocked)
            return place(of: PasswordName(account, in: service), in: group)
        }
        let place = itemClass.placeAttribute
        return ItemPlace(
            group: self.group(group, itemClass),
            place: attribute(place, attributes[place] ?? .text(""), itemClass, group: group),
            primaryKey: primaryKey(
                itemClass, attributes, group: group, isSynchronizable: isSynchronizable))
    }

    /// Where the rows of the items of a service in `group` are.
    func place(of service: PasswordService, in group: AccessGroup) -> ServicePlace {
        services.place(of: service, in: group) {
            let itemClass = ItemClass.genericPassword
            let text = SearchKey.Kind.text.rawValue
            var parts = LengthPrefixed(reservingByteCount: 256)
            parts.append(itemClass.rawValue)
            parts.append(group.rawValue)
            parts.append(UInt8(service.isSynchronizable ? 1 : 0))
            parts.append(marker: SearchKey.Kind.blob.rawValue, service.service)
            // View hint and token, at their defaults.
            parts.append(text)
            parts.append(text)
            return ServicePlace(
                group: self.group(group, itemClass),
                place: attribute(.service, .text(service.service), itemClass, group: group),
                primaryKeys: primaryKeys.appending(parts))
        }
    }

    /// The hash of an access group.
    func group(_ group: AccessGroup, _ itemClass: ItemClass) -> IndexHash {
        attribute(.accessGroup, .text(group.rawValue), itemClass, group: group)
    }

    /// The hash by which an item with a view hint or a token is found when a query names all of
    /// its primary key but these two: docs/FORMAT.md §6.4.
    func plainKey(
        _ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue], group: AccessGroup,
        isSynchronizable: Bool
    ) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 192)
        parts.append(itemClass.rawValue)
        parts.append(Self.plainKeyTag)
        parts.append(group.rawValue)
        parts.append(
            primaryKey(itemClass, attributes, group: group, isSynchronizable: isSynchronizable))
        return self.attributes.indexHash(appending: parts)
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
        var others: [UInt8: IndexHash] = [:]
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
            place: self.place(itemClass, values, group: group, isSynchronizable: isSynchronizable),
            account: attribute(
                .account, values[.account] ?? .text(""), itemClass, group: group),
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
    /// Parts of the primary key that next to no item has and next to no query names.
    static let variants: [Attribute] = [.syncViewHint, .tokenID]
}
