// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SecretMemory

@Suite struct `A bitmap of blocks` {
    @Test(arguments: [1, 2, 3, 5, 8, 31, 32, 33, 63, 64])
    func `gives out as many runs as fit, none across a word`(run: Int) {
        let bitmap = BlockBitmap()
        var taken: Set<Int> = []
        while let first = bitmap.take(run) {
            #expect(first / 64 == (first + run - 1) / 64)
            #expect(taken.isDisjoint(with: first..<(first + run)))
            taken.formUnion(first..<(first + run))
        }
        #expect(taken.count == 64 * (64 / run) * run)
    }

    @Test func `gives out again what was given back`() {
        let bitmap = BlockBitmap()
        while bitmap.take(1) != nil {}
        bitmap.giveBack(130, count: 3)
        #expect(bitmap.take(4) == nil)
        #expect(bitmap.take(3) == 130)
        #expect(bitmap.take(1) == nil)
    }

    @Test func `finds the gap that is large enough`() {
        let bitmap = BlockBitmap()
        while bitmap.take(1) != nil {}
        bitmap.giveBack(5, count: 2)
        bitmap.giveBack(10, count: 6)
        #expect(bitmap.take(5) == 10)
    }
}
