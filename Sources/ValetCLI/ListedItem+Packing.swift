// SPDX-License-Identifier: Apache-2.0

/// Listed items as bytes whose order is the order of a list: by owner, name, group and kind, each
/// by the bytes of its UTF-8.
extension ListedItem {
    /// The item as bytes. Only items that are equal have the same.
    var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        for text in sortKey + [accessibility, requirement ?? ""] { Self.pack(text, to: &bytes) }
        bytes.append(requirement == nil ? 0 : 1)
        bytes.append(isCloud ? 1 : 0)
        Self.pack(byteCount.map(UInt64.init), to: &bytes)
        Self.pack(modified.map(\.bitPattern), to: &bytes)
        return bytes + id
    }

    /// Unpacks ``packed``; nil for other bytes.
    init?(packed bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard let owner = Self.text(&rest), let name = Self.text(&rest),
            let group = Self.text(&rest),
            let kind = Self.text(&rest).flatMap(ItemOwner.Kind.init(rawValue:)),
            let accessibility = Self.text(&rest), let requirement = Self.text(&rest),
            let hasRequirement = rest.popFirst(), let cloud = rest.popFirst(),
            let byteCount = Self.number(&rest), let modified = Self.number(&rest)
        else { return nil }
        self.init(
            name: name, owner: ItemOwner(kind: kind, name: owner), group: group,
            accessibility: accessibility, isCloud: cloud == 1,
            byteCount: byteCount.value.map(Int.init),
            modified: modified.value.map(Double.init(bitPattern:)),
            requirement: hasRequirement == 1 ? requirement : nil, id: Array(rest))
    }

    /// Text that ends with a zero byte. A zero in it is followed by 0xFF, which UTF-8 never has.
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
        while let byte = bytes.popFirst() {
            guard byte == 0 else {
                text.append(byte)
                continue
            }
            guard bytes.first == 0xFF else { return String(validating: text, as: UTF8.self) }
            bytes.removeFirst()
            text.append(0)
        }
        return nil
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> (value: UInt64?, Void)? {
        guard bytes.count >= 9, let mark = bytes.popFirst() else { return nil }
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        bytes.removeFirst(8)
        return (mark == 1 ? number : nil, ())
    }
}
