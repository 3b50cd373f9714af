// SPDX-License-Identifier: Apache-2.0

// Listed items as bytes that sort like the list. `SortedListing` keeps them in this form, because
// comparing bytes is faster than comparing text.

internal import ValetKeychainModel

/// How a list is sorted.
struct ListOrder: Hashable, Sendable {
    /// What decides first. Equal items are sorted by owner, name, group and kind, each by its UTF-8
    /// bytes. Items of the desktop's programs are sorted by their labels before their names.
    enum Key: String, CaseIterable, Sendable {
        case owner, name, app, modified, size
    }

    var key = Key.owner
    var isReversed = false
}

extension ListedItem {
    /// The item as bytes that sort in `order`. Only equal items have equal bytes.
    func packed(_ order: ListOrder = ListOrder()) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(192)
        switch order.key {
        case .owner: break
        case .name: Self.pack(title, to: &bytes)
        case .app: Self.pack(group, to: &bytes)
        case .size: Self.pack(byteCount.map { UInt64(clamping: $0) }, to: &bytes)
        case .modified: Self.pack(modified.map(Self.sortable), to: &bytes)
        }
        Self.pack(owner.name, to: &bytes)
        Self.pack(desktopLabel ?? "", to: &bytes)
        Self.pack(name, to: &bytes)
        Self.pack(group, to: &bytes)
        Self.pack(owner.kind.rawValue, to: &bytes)
        Self.pack(accessibility, to: &bytes)
        Self.pack(requirement ?? "", to: &bytes)
        Self.pack(label, to: &bytes)
        bytes.append(login == nil ? 0 : 1)
        for part in login?.parts ?? [] { Self.pack(part, to: &bytes) }
        bytes.append(requirement == nil ? 0 : 1)
        bytes.append(isCloud ? 1 : 0)
        Self.pack(byteCount.map { UInt64(clamping: $0) }, to: &bytes)
        Self.pack(modified.map(\.bitPattern), to: &bytes)
        bytes += id
        // No packed item is a prefix of another one, so this reverses the order.
        if order.isReversed { for index in bytes.indices { bytes[index] = ~bytes[index] } }
        return bytes
    }

    /// Unpacks ``packed(_:)``; nil for other bytes.
    init?(packed: ArraySlice<UInt8>, _ order: ListOrder = ListOrder()) {
        var rest = order.isReversed ? ArraySlice(packed.map { ~$0 }) : packed
        switch order.key {
        case .owner: break
        case .name, .app: _ = Self.text(&rest)
        case .size, .modified: _ = Self.number(&rest)
        }
        guard let owner = Self.text(&rest), Self.text(&rest) != nil,
            let name = Self.text(&rest), let group = Self.text(&rest),
            let kind = Self.text(&rest).flatMap(ItemOwner.Kind.init(rawValue:)),
            let accessibility = Self.text(&rest), let requirement = Self.text(&rest),
            let label = Self.text(&rest), let isLogin = rest.popFirst(),
            let parts = Self.texts(isLogin == 1 ? 5 : 0, &rest),
            let hasRequirement = rest.popFirst(), let cloud = rest.popFirst(),
            let byteCount = Self.number(&rest), let modified = Self.number(&rest)
        else { return nil }
        self.init(
            name: name, owner: ItemOwner(kind: kind, name: owner), group: group,
            accessibility: accessibility, isCloud: cloud == 1,
            byteCount: byteCount.value.map { Int(clamping: $0) },
            modified: modified.value.map(Double.init(bitPattern:)),
            requirement: hasRequirement == 1 ? requirement : nil, label: label,
            login: LoginDetails(parts: parts), id: Array(rest))
    }

    /// A number as an unsigned integer that sorts as the number does.
    private static func sortable(_ number: Double) -> UInt64 {
        number.sign == .minus ? ~number.bitPattern : number.bitPattern | 1 << 63
    }

    /// Appends text and a zero byte. A zero in the text is followed by 0xFF, which UTF-8 never
    /// contains.
    private static func pack(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xFF) }
        }
        bytes.append(0)
    }

    private static func pack(_ number: UInt64?, to bytes: inout [UInt8]) {
        bytes.append(number == nil ? 0 : 1)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: (number ?? 0) >> shift))
        }
    }

    private static func text(_ bytes: inout ArraySlice<UInt8>) -> String? {
        var text: [UInt8] = []
        while let end = bytes.firstIndex(of: 0) {
            let piece = bytes[..<end]
            bytes = bytes[(end + 1)...]
            guard bytes.first == 0xFF else { return String(utf8: text + piece) }
            bytes.removeFirst()
            text += piece + [0]
        }
        return nil
    }

    private static func texts(_ count: Int, _ bytes: inout ArraySlice<UInt8>) -> [String]? {
        var texts: [String] = []
        for _ in 0..<count {
            guard let text = text(&bytes) else { return nil }
            texts.append(text)
        }
        return texts
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> (value: UInt64?, Void)? {
        guard bytes.count >= 9, let mark = bytes.popFirst() else { return nil }
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        bytes.removeFirst(8)
        return (mark == 1 ? number : nil, ())
    }
}
