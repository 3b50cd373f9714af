// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Which of 4,096 blocks are taken, 64 to a word.
///
/// The blocks of one allocation lie within one word, so that one compare-and-swap takes them.
/// There is no lock that a thread could hold while another one forks.
struct BlockBitmap: ~Copyable, Sendable {
    static let wordCount = 64

    /// Words of which blocks are taken.
    enum Region: CaseIterable {
        /// For whatever is secret.
        case common
        /// For keys alone: however many values somebody holds, there is room for these.
        case keys

        var words: Range<Int> {
            switch self {
            case .common: 0..<48
            case .keys: 48..<BlockBitmap.wordCount
            }
        }
    }

    /// The largest run that can be taken.
    static let maximumRun = 64

    private let words = InlineArray<64, Atomic<UInt64>> { _ in Atomic(0) }
    /// The word of each region that had room last time, counted from the region's first.
    private let commonHint = Atomic<Int>(0)
    private let keysHint = Atomic<Int>(0)

    /// Takes `count` adjacent free blocks, 1 to 64.
    ///
    /// - Returns: The index of the first, or nil if no word of the region has such a run left.
    borrowing func take(_ count: Int, of region: Region) -> Int? {
        switch region {
        case .common: take(count, of: region.words, startingAt: commonHint)
        case .keys: take(count, of: region.words, startingAt: keysHint)
        }
    }

    private borrowing func take(
        _ count: Int, of words: Range<Int>, startingAt hint: borrowing Atomic<Int>
    ) -> Int? {
        let first = hint.load(ordering: .relaxed)
        for step in 0..<words.count {
            let offset = (first + step) % words.count
            let word = words.lowerBound + offset
            guard let bit = takeRun(of: count, in: word) else { continue }
            if offset != first { hint.store(offset, ordering: .relaxed) }
            return word * 64 + bit
        }
        return nil
    }

    /// Gives back the `count` blocks from `index` on, which `take` returned.
    ///
    /// The next owner of the blocks sees what was written to them before.
    borrowing func giveBack(_ index: Int, count: Int) {
        let run = mask(of: count) << UInt64(index % 64)
        words[index / 64].bitwiseAnd(~run, ordering: .releasing)
    }

    /// The lowest `count` bits; `count` is 1 to 64.
    private borrowing func mask(of count: Int) -> UInt64 { ~0 >> UInt64(64 - count) }

    private borrowing func takeRun(of count: Int, in word: Int) -> Int? {
        var seen = words[word].load(ordering: .relaxed)
        while true {
            let starts = freeRuns(of: count, in: ~seen)
            guard starts != 0 else { return nil }
            let bit = starts.trailingZeroBitCount
            let (exchanged, original) = words[word].weakCompareExchange(
                expected: seen, desired: seen | (mask(of: count) << UInt64(bit)),
                ordering: .acquiring)
            if exchanged { return bit }
            seen = original
        }
    }

    /// The bits at which a run of `count` set bits of `free` starts.
    private borrowing func freeRuns(of count: Int, in free: UInt64) -> UInt64 {
        var starts = free
        var length = 1
        while length < count {
            let step = min(length, count - length)
            starts &= starts >> UInt64(step)
            length += step
        }
        return starts
    }
}
