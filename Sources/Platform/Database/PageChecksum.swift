// SPDX-License-Identifier: Apache-2.0

/// The checksum in each page of a database: docs/FORMAT.md §2.2. It finds accidents, not attacks.
enum PageChecksum {
    static let pageByteCount = LogFormat.pageByteCount
    /// At the end of each page, SQLite leaves this many bytes to us.
    static let reservedByteCount = 16
    /// Where the checksum is: 8 bytes, the lowest first.
    static let place = pageByteCount - reservedByteCount
    /// Where the balance is: two words of 32 bits.
    static let balancePlace = place + 8

    /// The checksum of page `number`. Takes some 50 ns.
    ///
    /// Two sums for each of eight columns of words: their sum, and the sum of its values after each
    /// row. The second one depends on the order of the words.
    static func sum(_ page: UnsafeRawPointer, number: UInt32) -> UInt64 {
        var sums = SIMD8<UInt64>()
        var sumsOfSums = sums
        let rowByteCount = 64
        var place = 0
        while place < pageByteCount - rowByteCount {
            sums &+= unsafe row(page + place)
            sumsOfSums &+= sums
            place += rowByteCount
        }
        var last = unsafe row(page + place)
        (last[6], last[7]) = (UInt64(number), 0)
        sums &+= last
        sumsOfSums &+= sums
        var result: UInt64 = 0
        for column in 0..<8 {
            let product = distinct(sums[column], column)
                .multipliedFullWidth(by: distinct(sumsOfSums[column], column + 8))
            result &+= product.high ^ product.low
        }
        return result
    }

    /// Eight words of 64 bits, each with its lowest byte first.
    @inline(__always)
    private static func row(_ start: UnsafeRawPointer) -> SIMD8<UInt64> {
        var row = unsafe start.loadUnaligned(as: SIMD8<UInt64>.self)
        if UInt32(1).bigEndian == 1 {
            for column in 0..<8 { row[column] = row[column].byteSwapped }
        }
        return row
    }

    /// Equal sums of different columns become different numbers.
    @inline(__always)
    private static func distinct(_ sum: UInt64, _ place: Int) -> UInt64 {
        sum ^ UInt64(place + 1) &* 0x9e37_79b9_7f4a_7c15
    }
}

extension PageChecksum {
    /// The number of the page at an offset in the database, counted from 1; nil between pages.
    static func number(ofPageAt offset: Int64) -> UInt32? {
        guard offset % Int64(pageByteCount) == 0 else { return nil }
        return UInt32(exactly: offset / Int64(pageByteCount) + 1)
    }

    /// Whether the page has the checksum that it was written with.
    static func fits(_ page: UnsafeRawPointer, number: UInt32) -> Bool {
        let stored = unsafe page.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        return unsafe UInt64(littleEndian: stored) == sum(page, number: number)
    }

    /// Undoes the flip of one bit, if the checksum shows which one it was. A page with more changes
    /// stays as it is. Takes up to 2 ms.
    ///
    /// - Returns: Whether the page is as it was.
    static func mend(_ page: UnsafeMutableRawPointer, number: UInt32) -> Bool {
        let bytes = unsafe page.assumingMemoryBound(to: UInt8.self)
        for bit in 0..<8 * balancePlace {
            unsafe bytes[bit / 8] ^= 1 << (bit % 8)
            if unsafe fits(page, number: number) { return true }
            unsafe bytes[bit / 8] ^= 1 << (bit % 8)
        }
        return false
    }

    static func put(into page: UnsafeMutableRawPointer, number: UInt32) {
        let sum = unsafe sum(page, number: number).littleEndian
        unsafe page.storeBytes(of: sum, toByteOffset: place, as: UInt64.self)
    }

    /// Puts the checksum into a page whose frame in the log has its header already.
    ///
    /// SQLite has computed the sums of the frame over the old bytes. The balance changes by as much
    /// as keeps them right. Each pair of words `x`, `y` changes these sums `s`, `t`
    /// (https://www.sqlite.org/walformat.html, 4.2): `s += x + t`, `t += y + s`.
    static func putBalanced(
        into page: UnsafeMutableRawPointer, number: UInt32, isBigEndian: Bool
    ) {
        let old = unsafe words(page, at: place, isBigEndian)
        unsafe put(into: page, number: number)
        let new = unsafe words(page, at: place, isBigEndian)
        let first = new.0 &- old.0
        let second = first &+ new.1 &- old.1
        let balance = unsafe words(page, at: balancePlace, isBigEndian)
        let balanced = (balance.0 &- first &- second, balance.1 &- second)
        for (index, word) in [balanced.0, balanced.1].enumerated() {
            unsafe page.storeBytes(
                of: isBigEndian ? word.bigEndian : word.littleEndian,
                toByteOffset: balancePlace + 4 * index, as: UInt32.self)
        }
    }

    private static func words(
        _ page: UnsafeRawPointer, at place: Int, _ isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        let words = unsafe (
            page.loadUnaligned(fromByteOffset: place, as: UInt32.self),
            page.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
        )
        return isBigEndian
            ? (UInt32(bigEndian: words.0), UInt32(bigEndian: words.1))
            : (UInt32(littleEndian: words.0), UInt32(littleEndian: words.1))
    }
}
