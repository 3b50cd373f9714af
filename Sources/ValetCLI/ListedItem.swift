// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// An item as `list` shows it.
struct ListedItem: Hashable, Sendable {
    /// The account. Data is shown as hexadecimal digits behind "0x", numbers in decimal.
    var name: String
    /// What keeps the item.
    var owner: ItemOwner
    var group: String
    var accessibility: String
    var isCloud: Bool
    /// nil for an item without a value.
    var byteCount: Int?
    /// Seconds since 2001-01-01 00:00 UTC.
    var modified: Double?
    /// What it takes to read the value; nil for nothing.
    var requirement: String?
    /// Tells apart items that look alike: the id of a stored item, or the place in a backup.
    var id: [UInt8] = []

    /// Whether this is the item by which a valet tries the keychain, not a secret of anybody's.
    var isCanary: Bool { owner.isValet && name == ServiceName.canaryAccount }
}

extension ListedItem {
    /// What is shown of a stored item.
    init(_ item: StoredItem) {
        name = Self.text(item.attributes[.account])
        owner = ItemOwner(item)
        group = item.accessGroup.rawValue
        accessibility = item.protectionClass.word
        isCloud = item.isSynchronizable
        byteCount = item.valueByteCount
        modified =
            if case .date(let seconds) = item.attributes[.modificationDate] {
                seconds
            } else {
                nil
            }
        requirement = item.accessControl?.requirement
        id = item.reference.itemID
    }

    /// What is shown of an item in a backup, which has `place` items before this one.
    init(_ item: BackedUpItem, at place: UInt64) {
        let attributes = item.properties.attributes
        name = Self.text(attributes[.account])
        owner =
            switch item.properties.itemClass {
            case .genericPassword:
                ItemOwner(service: Self.text(attributes[.service]), group: item.accessGroup)
            case .internetPassword:
                ItemOwner(kind: .internet, name: Self.text(attributes[.server]))
            }
        group = item.accessGroup.rawValue
        accessibility = item.properties.protectionClass.word
        isCloud = item.properties.isSynchronizable
        byteCount = item.valueByteCount
        modified =
            if case .date(let seconds) = attributes[.modificationDate] { seconds } else { nil }
        id = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: place >> $0) }
    }

    /// An attribute's value in a line of text.
    static func text(_ value: AttributeValue?) -> String {
        switch value {
        case .text(let text): text
        case .bytes(let bytes), .accessControl(let bytes): "0x" + Escaping.hexadecimal(bytes)
        case .number(let number): String(number)
        case .date(let seconds): Timestamp.text(secondsSince2001: seconds) ?? ""
        case nil: ""
        }
    }
}
