// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainServices
import ValetTestValues

@testable import ValetCLI

@Suite struct `A list of many items` {
    /// Items in no order; some look alike, and some names have bytes that packing uses itself.
    static let items: [ListedItem] = {
        var generator = SplitMix(seed: 7)
        let names = ["", "a", "a\0", "a\0b", "\0", "ab", "ä", "\u{10FFFF}", "a b", "zz"]
        let kinds = ItemOwner.Kind.allCases
        var items: [ListedItem] = []
        for number in 0..<2000 {
            let name = names[Int.random(in: names.indices, using: &generator)]
            let owner = names[Int.random(in: names.indices, using: &generator)]
            let kind = kinds[Int.random(in: kinds.indices, using: &generator)]
            var item = ListedItem(
                name: number % 3 == 0 ? name : "\(name)\(number)",
                owner: ItemOwner(kind: kind, name: owner), group: "group",
                accessibility: "when-unlocked", isCloud: number % 2 == 0)
            if number % 5 != 0 { item.byteCount = number }
            if number % 7 != 0 { item.modified = Double(number) - 0.25 }
            if number % 4 == 0 { item.requirement = "user-presence" }
            if number % 6 == 0 {
                item.group = DesktopItem.group.rawValue
                item.owner = ItemOwner(kind: .generic, name: "collection/" + owner)
                item.label = name
            }
            item.id = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
            items.append(item)
        }
        return items
    }()

    private static func isOrdered(_ one: ListedItem, _ two: ListedItem) -> Bool {
        let keys = [one, two].map {
            [
                $0.owner.name, $0.desktopLabel ?? "", $0.name, $0.group, $0.owner.kind.rawValue,
            ].map { Array($0.utf8) }
        }
        for (left, right) in zip(keys[0], keys[1]) where left != right {
            return left.lexicographicallyPrecedes(right)
        }
        return true
    }

    @Test func `Packed items keep all their properties`() {
        for item in Self.items { #expect(ListedItem(packed: item.packed()[...]) == item) }
        #expect(ListedItem(packed: []) == nil)
        let packed = Self.items[0].packed()
        #expect((0..<10).allSatisfy { ListedItem(packed: packed[..<$0]) == nil })
    }

    @Test(arguments: [1, 200, 1000, 10_000, 50_000, SortedListing.usualByteCount])
    func `A long list is complete and in order, however little memory it may use`(_ byteCount: Int)
    {
        let items = byteCount < 1000 ? Array(Self.items.prefix(60)) : Self.items
        var written: [ListedItem] = []
        var last: [UInt8]?
        var (isCut, passCount) = (true, 0)
        while isCut, passCount < 3000 {
            var listing = SortedListing(after: last, byteCount: byteCount)
            for item in items { listing.add(item) }
            listing.sort()
            listing.forEach { written.append($0) }
            (last, isCut, passCount) = (listing.lastPacked, listing.isCut, passCount + 1)
        }
        #expect(written.count == items.count)
        #expect(Set(written) == Set(items))
        #expect(zip(written, written.dropFirst()).allSatisfy(Self.isOrdered))
        #expect((passCount == 1) == (byteCount == SortedListing.usualByteCount))
    }

    @Test(arguments: ListOrder.Key.allCases, [false, true])
    func `A list can be sorted by each key in both directions`(
        _ key: ListOrder.Key, _ isReversed: Bool
    ) {
        let order = ListOrder(key: key, isReversed: isReversed)
        var listing = SortedListing(order: order)
        for item in Self.items { listing.add(item) }
        listing.sort()
        var written: [ListedItem] = []
        listing.forEach { written.append($0) }
        #expect(Set(written) == Set(Self.items) && written.count == Self.items.count)
        let pairs = zip(written, written.dropFirst()).map { isReversed ? ($1, $0) : ($0, $1) }
        #expect(
            pairs.allSatisfy { one, two in
                switch key {
                case .owner: Self.isOrdered(one, two)
                case .name: !two.title.utf8.lexicographicallyPrecedes(one.title.utf8)
                case .app: !two.group.utf8.lexicographicallyPrecedes(one.group.utf8)
                case .modified: (one.modified ?? -.infinity) <= (two.modified ?? -.infinity)
                case .size: (one.byteCount ?? -1) <= (two.byteCount ?? -1)
                }
            })
    }

    @Test func `A long list uses no more memory than allowed`() {
        let byteCount = 4 << 20
        var listing = SortedListing(byteCount: byteCount)
        var most = 0
        for number in 0..<60_000 {
            listing.add(
                ListedItem(
                    name: "\(number)", owner: ItemOwner(kind: .valet, name: "owner"),
                    group: "group", accessibility: "when-unlocked", isCloud: false))
            most = max(most, listing.reservedByteCount)
        }
        #expect(listing.isCut)
        // The allocator rounds up to whole pages.
        #expect(most <= byteCount + (16 << 10))
    }
}
