// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `A bitmap of blocks` {
    @Test(arguments: [1, 2, 3, 5, 8, 31, 32, 33, 63, 64])
    func `A bitmap of blocks gives out as many runs as fit, none across a word or a region`(
        run: Int
    ) {
        let bitmap = BlockBitmap()
        var taken: Set<Int> = []
        for region in BlockBitmap.Region.allCases {
            var count = 0
            while let first = bitmap.take(run, of: region) {
                #expect(first / 64 == (first + run - 1) / 64)
                #expect(region.words.contains(first / 64))
                #expect(taken.isDisjoint(with: first..<(first + run)))
                taken.formUnion(first..<(first + run))
                count += 1
            }
            #expect(count == region.words.count * (64 / run))
        }
    }

    @Test func `A bitmap of blocks has regions that are all of it`() {
        let words = BlockBitmap.Region.allCases.flatMap { Array($0.words) }
        #expect(words.sorted() == Array(0..<BlockBitmap.wordCount))
    }

    @Test(arguments: [(BlockBitmap.Region.common, 130), (.keys, 50 * 64 + 2)])
    func `A bitmap of blocks gives out again what was given back`(
        _ region: BlockBitmap.Region, _ block: Int
    ) {
        let bitmap = BlockBitmap()
        while bitmap.take(1, of: region) != nil {}
        bitmap.giveBack(block, count: 3)
        #expect(bitmap.take(4, of: region) == nil)
        #expect(bitmap.take(3, of: region) == block)
        #expect(bitmap.take(1, of: region) == nil)
    }

    @Test func `A bitmap of blocks finds the gap that is large enough`() {
        let bitmap = BlockBitmap()
        while bitmap.take(1, of: .common) != nil {}
        bitmap.giveBack(5, count: 2)
        bitmap.giveBack(10, count: 6)
        #expect(bitmap.take(5, of: .common) == 10)
    }
}
