// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// The bytes of SQLite's write-ahead log: https://www.sqlite.org/walformat.html.
enum LogFormat {
    static let headerByteCount = 32
    static let frameHeaderByteCount = 24
    static let pageByteCount = 4096
    static let frameByteCount = frameHeaderByteCount + pageByteCount
    private static let magic: UInt32 = 0x377f_0682
    private static let version: UInt32 = 3_007_000

    /// The byte order in which this machine writes checksums and the index.
    static let isMachineBigEndian = UInt32(1).bigEndian == 1

    /// Where frame `number`, counted from 0, begins.
    static func offset(ofFrame number: Int) -> Int {
        headerByteCount + number * frameByteCount
    }

    /// Whether a page of a frame begins at `offset`.
    static func isPage(at offset: Int64) -> Bool {
        let first = Int64(headerByteCount + frameHeaderByteCount)
        return offset >= first && (offset - first) % Int64(frameByteCount) == 0
    }

    /// Whether a log that begins with `magic` has checksums in the byte order of this machine.
    static func isNative(_ magic: UInt32) -> Bool {
        magic == LogFormat.magic | (isMachineBigEndian ? 1 : 0)
    }

    /// The checksum, which each frame continues from the one before.
    struct Checksum: Hashable {
        private var first: UInt32
        private var second: UInt32

        /// The checksum of no words.
        init() { (first, second) = (0, 0) }

        /// The checksum that is stored at `offset`: in the log always with the highest byte first.
        init(_ bytes: Span<UInt8>, at offset: Int, isBigEndian: Bool = true) {
            let (left, right) = (
                LogFormat.number(bytes, at: offset), LogFormat.number(bytes, at: offset + 4)
            )
            first = isBigEndian ? left : left.byteSwapped
            second = isBigEndian ? right : right.byteSwapped
        }

        /// Continues over an even number of 32-bit words.
        mutating func add(_ bytes: Span<UInt8>, isBigEndian: Bool) {
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let (left, right) = (
                    LogFormat.number(bytes, at: offset), LogFormat.number(bytes, at: offset + 4)
                )
                first &+= (isBigEndian ? left : left.byteSwapped) &+ second
                second &+= (isBigEndian ? right : right.byteSwapped) &+ first
            }
        }
    }

    /// The start of a log.
    struct Header {
        let salts: [UInt8]
        let isBigEndian: Bool

        /// - Returns: nil if the bytes are not a valid header.
        init?(_ bytes: Span<UInt8>) {
            let kind = LogFormat.number(bytes, at: 0)
            guard kind & ~1 == LogFormat.magic, LogFormat.number(bytes, at: 4) == LogFormat.version
            else { return nil }
            isBigEndian = kind & 1 == 1
            var sum = Checksum()
            sum.add(bytes.extracting(0..<24), isBigEndian: isBigEndian)
            guard sum == Checksum(bytes, at: 24) else { return nil }
            salts = LogFormat.salts(bytes, at: 16)
        }
    }

    /// The start of a frame.
    struct FrameHeader {
        let salts: [UInt8]
        /// The checksum that the next frame continues.
        let checksum: Checksum
        /// Whether the frame ends a transaction.
        let isCommit: Bool

        init(_ bytes: Span<UInt8>) {
            salts = LogFormat.salts(bytes, at: 8)
            checksum = Checksum(bytes, at: 16)
            isCommit = LogFormat.number(bytes, at: 0) != 0 && LogFormat.number(bytes, at: 4) != 0
        }
    }

    static func salts(_ bytes: Span<UInt8>, at offset: Int) -> [UInt8] {
        (offset..<offset + 8).map { bytes[$0] }
    }

    static func number(_ bytes: Span<UInt8>, at offset: Int) -> UInt32 {
        UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
            | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    }
}
