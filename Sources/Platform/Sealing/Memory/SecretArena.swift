// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCSodium
internal import ValetSystem

/// The guarded memory that all secrets of this process share.
///
/// It is a single `sodium_malloc` of 256 KiB (guard pages on both sides, left out of core dumps),
/// locked into RAM, made at first use and never freed: a `sodium_malloc` per secret would cost
/// 22 µs and four memory maps. It is divided into blocks of 64 bytes. Free blocks are zero. A
/// quarter of them is reserved for keys.
// Sendable because the bitmap gives each block to one owner; the rest is constant or atomic.
@safe package struct SecretArena: ~Copyable, @unchecked Sendable {
    /// True while the arena is guarded and cannot be swapped out.
    package static var isLocked: Bool { shared.lockFailure == nil }

    /// Why a secret of up to 4 KiB is or was outside of guarded memory that cannot be swapped out;
    /// nil if none was.
    ///
    /// Makes the arena unless it exists. In a forked child the answer is about the child.
    package static var failure: MemoryWeakness? {
        shared.lockFailure ?? shared.overflow
    }

    static let shared = SecretArena()
    static let blockByteCount = 64
    static let byteCount = 256 << 10
    /// The largest allocation.
    static let maximumByteCount = BlockBitmap.maximumRun * blockByteCount

    /// The first block; nil if there is no guarded memory.
    private let base: UnsafeMutablePointer<UInt8>?
    private let bitmap = BlockBitmap()
    /// The process that last locked the arena: a child of `fork` does not inherit memory locks.
    private let lockedIn = Atomic<UInt64>(0)
    private let lockErrorNumber = Atomic<Int32>(0)
    /// The size of the last secret that did not fit; 0 for none. A child inherits it together with
    /// the secrets in ordinary memory.
    private let overflowByteCount = Atomic<Int>(0)

    init() {
        Libsodium.start()
        guard let memory = unsafe sodium_malloc(Self.byteCount) else {
            unsafe base = nil
            return
        }
        // sodium_malloc aligns the end of an allocation with the end of a page.
        precondition(Int(bitPattern: memory) % Self.blockByteCount == 0, "misaligned arena")
        unsafe sodium_memzero(memory, Self.byteCount)
        unsafe base = memory.bindMemory(to: UInt8.self, capacity: Self.byteCount)
    }

    /// Allocates `byteCount` zero bytes, aligned to 64 bytes.
    ///
    /// - Returns: nil if the request is larger than 4 KiB or there is no room.
    borrowing func allocate(
        byteCount: Int, for use: SecretUse
    ) -> UnsafeMutablePointer<UInt8>? {
        guard byteCount <= Self.maximumByteCount, let base = unsafe base else { return nil }
        lockOncePerProcess()
        guard let block = takeBlocks(blockCount(for: byteCount), for: use) else {
            overflowByteCount.store(max(1, byteCount), ordering: .relaxed)
            return nil
        }
        return unsafe base + block * Self.blockByteCount
    }

    private borrowing func takeBlocks(_ count: Int, for use: SecretUse) -> Int? {
        switch use {
        case .values: bitmap.take(count, of: .common)
        case .keys: bitmap.take(count, of: .keys) ?? bitmap.take(count, of: .common)
        }
    }

    /// Wipes and frees what `allocate` returned for the same number of bytes.
    ///
    /// - Returns: False, with nothing done, if `pointer` is not in the arena.
    borrowing func release(_ pointer: UnsafeMutablePointer<UInt8>, byteCount: Int) -> Bool {
        guard contains(Int(bitPattern: pointer)) else { return false }
        let offset = Int(bitPattern: pointer) - Int(bitPattern: unsafe base)
        let blocks = blockCount(for: byteCount)
        unsafe sodium_memzero(pointer, blocks * Self.blockByteCount)
        bitmap.giveBack(offset / Self.blockByteCount, count: blocks)
        return true
    }

    /// Whether an address is in the arena.
    borrowing func contains(_ address: Int) -> Bool {
        let offset = address - Int(bitPattern: unsafe base)
        return unsafe base != nil && offset >= 0 && offset < Self.byteCount
    }

    private borrowing func blockCount(for byteCount: Int) -> Int {
        max(1, (byteCount + Self.blockByteCount - 1) / Self.blockByteCount)
    }

    private var overflow: MemoryWeakness? {
        let byteCount = overflowByteCount.load(ordering: .relaxed)
        guard byteCount > 0 else { return nil }
        return MemoryWeakness(
            code: .full, operation: .allocate, byteCount: byteCount, errorNumber: ENOMEM)
    }

    private var lockFailure: MemoryWeakness? {
        guard unsafe base != nil else {
            return MemoryWeakness(
                code: .notGuarded, operation: .makeArena, byteCount: Self.byteCount,
                errorNumber: ENOMEM)
        }
        lockOncePerProcess()
        let error = lockErrorNumber.load(ordering: .relaxed)
        guard error != 0 else { return nil }
        return MemoryWeakness(
            code: .notLocked, operation: .lockArena, byteCount: Self.byteCount, errorNumber: error)
    }

    private borrowing func lockOncePerProcess() {
        let generation = ProcessGeneration.current
        guard lockedIn.load(ordering: .relaxed) != generation else { return }
        lock(in: generation)
    }

    /// Locks the arena. `sodium_malloc` has tried already, but does not report failure.
    @inline(never)
    private borrowing func lock(in generation: UInt64) {
        guard let base = unsafe base else { return }
        let failed = unsafe sodium_mlock(base, Self.byteCount) != 0
        lockErrorNumber.store(failed ? errno : 0, ordering: .relaxed)
        lockedIn.store(generation, ordering: .relaxed)
    }
}

/// Which of 4,096 blocks are taken, 64 to a word.
///
/// The blocks of one allocation lie within one word, so that one compare-and-swap takes them.
/// There is no lock that a thread could hold while another one forks.
struct BlockBitmap: ~Copyable, Sendable {
    static let wordCount = 64

    /// A range of words, by the secrets that may take blocks from it.
    enum Region: CaseIterable {
        /// For every secret.
        case common
        /// Reserved for keys, so that values cannot take all room.
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

    /// One bit for each block: set while it is taken.
    private let words = InlineArray<64, Atomic<UInt64>> { _ in Atomic(0) }
    /// For each region, the index of the word that last had room.
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

    /// Frees the `count` blocks from `index` on, which `take` returned.
    ///
    /// The next owner of the blocks sees earlier writes to them.
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

/// libsodium's initialisation: it chooses the implementations that fit the processor, once.
enum Libsodium {
    private static let isStarted = sodium_init() >= 0

    /// Initialises libsodium if that has not been done.
    static func start() {
        // Fails only without a source of randomness, and then nothing can be kept secret.
        precondition(isStarted, "libsodium could not be initialised")
    }
}
