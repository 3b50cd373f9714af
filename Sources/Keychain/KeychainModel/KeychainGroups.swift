// SPDX-License-Identifier: Apache-2.0

/// One of the places for the former values of an item.
///
/// A former value is an item of its own, with the attributes, dates and protection class of the
/// item that had it, in an access group that belongs to the keychain: docs/FORMAT.md §8.1.
package struct FormerValueSlot: Hashable, Sendable {
    /// The number of slots of each item, and so the most former values that the keychain keeps of
    /// it.
    package static let count = 10
    /// How many are kept unless the user says otherwise.
    package static let usualCount = 3

    private static let prefix = "valet.history."

    /// 1 to ``count``. It says nothing about the value's age.
    package let number: Int
    /// The group of the item.
    package let group: AccessGroup
    /// Whether the item is synchronizable. Its former values never are.
    package let isSynchronizable: Bool

    package init(_ number: Int, of group: AccessGroup, isSynchronizable: Bool) {
        self.number = number
        self.group = group
        self.isSynchronizable = isSynchronizable
    }

    /// The slot whose items are in `accessGroup`; nil for the group of an application.
    package init?(_ accessGroup: AccessGroup) {
        // By bytes: a dot and a mark after it are one character.
        let name = accessGroup.rawValue.utf8
        guard name.starts(with: Self.prefix.utf8) else { return nil }
        let rest = name.dropFirst(Self.prefix.utf8.count)
        guard let end = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let mark = Substring(rest[..<end])
        guard let number = Int(mark.prefix { $0.isNumber }), (1...Self.count).contains(number),
            mark == "\(number)" || mark == "\(number)s"
        else { return nil }
        self.init(
            number, of: AccessGroup(String(Substring(rest[rest.index(after: end)...]))),
            isSynchronizable: mark.last == "s")
    }

    /// The group that the former value is in.
    package var accessGroup: AccessGroup {
        AccessGroup("\(Self.prefix)\(number)\(isSynchronizable ? "s" : "").\(group.rawValue)")
    }

    /// All slots of items of a group.
    package static func all(of group: AccessGroup, isSynchronizable: Bool) -> [FormerValueSlot] {
        (1...count).map { FormerValueSlot($0, of: group, isSynchronizable: isSynchronizable) }
    }
}

/// A number that the `valet` command keeps in the keychain, in an item of a group of its own.
package enum KeychainSetting: String, CaseIterable, Sendable {
    /// How many former values of each item are kept.
    case history

    fileprivate static let group = AccessGroup("valet.settings")

    /// The item that stores the setting, as a decimal number.
    package var item: NewItem {
        NewItem(
            .genericPassword,
            attributes: [.service: .text(Self.group.rawValue), .account: .text(rawValue)],
            accessGroup: Self.group, protectionClass: .afterFirstUnlockThisDeviceOnly)
    }

    package var values: ClosedRange<Int> { 0...FormerValueSlot.count }
    package var usualValue: Int { FormerValueSlot.usualCount }
}

extension AccessGroup {
    /// Whether items of the group are the keychain's own, which no list shows.
    package var isOfKeychain: Bool {
        self == KeychainSetting.group || FormerValueSlot(self) != nil
    }
}
