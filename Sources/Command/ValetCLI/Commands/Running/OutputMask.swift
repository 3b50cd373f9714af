// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Replaces secrets in a stream of output, also secrets that arrive in several pieces.
/// ``MaskedStream`` has a mask.
///
/// A byte waits as long as it may belong to a secret, however long that takes. Matches that
/// overlap are hidden as one.
struct OutputMask {
    /// The replacement of a secret.
    static let replacement = Array("<hidden by valet>".utf8)
    /// Shorter texts occur by chance, and hiding them would reveal where.
    static let shortestByteCount = 4
    /// The longest text that is looked for.
    private static let longestByteCount = 256 << 10

    /// What becomes of a byte of output.
    private enum Fate: UInt8 {
        case shown
        /// It is in a secret.
        case hidden
        /// It is the first byte of a secret, or of several that overlap.
        case replaced
    }

    /// All texts to hide, one after the other.
    private let texts: SecretValue
    private let ranges: [Range<Int>]
    /// The failure table of Knuth, Morris and Pratt: for each position in `texts`, the length of
    /// the longest proper prefix of its text that ends there.
    private var borders: [Int32]
    /// For each byte, the texts that begin with it.
    private var byFirst = [[Int]](repeating: [], count: 256)
    /// For each text, the length of its longest proper prefix that ends the output so far.
    private var matched: [Int]
    /// The texts of which at least one byte is matched.
    private var active: [Int] = []
    /// The waiting output, with what is known of each byte.
    private var held: [UInt8] = []
    private var fates: [Fate] = []

    /// A mask for secrets without the blanks around them, with either kind of line ends, and for
    /// their lines.
    init(hiding secrets: [SecretValue]) {
        let pieces = secrets.flatMap(HiddenForms.pieces).filter {
            $0.byteCount <= Self.longestByteCount
        }
        var all = SecretBytes(byteCount: pieces.reduce(0) { $0 + $1.byteCount })
        var ranges: [Range<Int>] = []
        for piece in pieces {
            let start = ranges.last?.upperBound ?? 0
            piece.withBytes { all.write($0, at: start) }
            ranges.append(start..<start + piece.byteCount)
        }
        texts = SecretValue(all)
        self.ranges = ranges
        matched = Array(repeating: 0, count: ranges.count)
        borders = Array(repeating: 0, count: texts.byteCount)
        texts.withBytes { text in
            for (index, range) in ranges.enumerated() {
                byFirst[Int(text[range.lowerBound])].append(index)
                Self.fill(&borders, range, text)
            }
        }
        // Growing would leave copies of secrets in memory.
        let longest = ranges.map(\.count).max() ?? 0
        held.reserveCapacity(longest + MaskedStream.bufferByteCount)
        fates.reserveCapacity(longest + MaskedStream.bufferByteCount)
    }

    private static func fill(_ borders: inout [Int32], _ range: Range<Int>, _ text: Span<UInt8>) {
        var count = 0
        for position in range.dropFirst() {
            while count > 0, text[range.lowerBound + count] != text[position] {
                count = Int(borders[range.lowerBound + count - 1])
            }
            if text[range.lowerBound + count] == text[position] { count += 1 }
            borders[position] = Int32(count)
        }
    }

    /// Whether output waits, because it may be the beginning of a secret.
    var isHolding: Bool { !held.isEmpty }

    /// Whether the secret, and each of its lines with a letter or digit, is hidden.
    static func hides(_ secret: SecretValue) -> Bool {
        secret.byteCount <= longestByteCount && HiddenForms.isComplete(secret)
    }

    /// Appends to `output` the bytes that cannot be part of a secret. The rest waits.
    ///
    /// - Parameter isEnd: Whether no more output comes. A beginning of a secret that is long enough
    ///   to be a secret is hidden then; a shorter one is shown.
    mutating func pass(
        _ bytes: Span<UInt8>, isEnd: Bool = false, into output: inout [UInt8]
    ) {
        let texts = texts
        texts.withBytes { text in
            for index in bytes.indices {
                held.append(bytes[index])
                fates.append(.shown)
                step(bytes[index], text)
            }
        }
        var waiting = active.reduce(0) { max($0, matched[$1]) }
        if isEnd {
            // Blanks and line ends at the end of the match reveal nothing.
            var count = waiting
            while count > 0, HiddenForms.isSpace(held[held.count - waiting + count - 1]) {
                count -= 1
            }
            if count >= Self.shortestByteCount {
                let start = held.count - waiting
                hide(start..<start + count)
            }
            for index in active { matched[index] = 0 }
            active.removeAll()
            waiting = 0
        }
        emit(held.count - waiting, into: &output)
    }

    /// Advances the matches of all texts by one byte, and hides those that are complete.
    private mutating func step(_ byte: UInt8, _ text: Span<UInt8>) {
        let starting = byFirst[Int(byte)]
        guard !active.isEmpty || !starting.isEmpty else { return }
        var going: [Int] = []
        for index in active {
            let start = ranges[index].lowerBound
            var count = matched[index]
            while count > 0, text[start + count] != byte {
                count = Int(borders[start + count - 1])
            }
            if text[start + count] == byte { count += 1 }
            if count == ranges[index].count {
                hide(held.count - count..<held.count)
                count = Int(borders[start + count - 1])
            }
            matched[index] = count
            if count > 0 { going.append(index) }
        }
        for index in starting where matched[index] == 0 {
            matched[index] = 1
            going.append(index)
        }
        active = going
    }

    /// Hides bytes, as one range with hidden ranges that they overlap.
    private mutating func hide(_ range: Range<Int>) {
        if fates[range.lowerBound] == .shown { fates[range.lowerBound] = .replaced }
        for position in range.dropFirst() { fates[position] = .hidden }
    }

    /// Appends the first bytes that wait, moves the others to the front, and wipes the rest.
    private mutating func emit(_ count: Int, into output: inout [UInt8]) {
        for position in 0..<count {
            switch fates[position] {
            case .shown: output.append(held[position])
            case .replaced: output += Self.replacement
            case .hidden: continue
            }
        }
        let rest = held.count - count
        for position in 0..<rest {
            held[position] = held[count + position]
            fates[position] = fates[count + position]
        }
        for position in rest..<held.count { held[position] = 0 }
        held.removeLast(count)
        fates.removeLast(count)
    }
}

/// The texts by which a secret is recognized in output.
private enum HiddenForms {
    /// The secret without blanks and line ends around it, the same with the other kind of line
    /// ends, and its lines without blanks around them. None is shorter than the shortest text that
    /// can be hidden.
    static func pieces(of secret: SecretValue) -> [SecretValue] {
        var pieces = secret.withBytes { bytes in
            let whole = trimmed(bytes, 0..<bytes.count)
            var ranges = Set(lines(bytes).map { trimmed(bytes, $0) })
            ranges.insert(whole)
            return ranges.filter { $0.count >= OutputMask.shortestByteCount }
                .map { SecretValue(copying: bytes.extracting($0)) }
        }
        for ending in [[0x0A], [0x0D, 0x0A]] as [[UInt8]] {
            if let other = withLineEnds(secret, ending) { pieces.append(other) }
        }
        return pieces
    }

    /// Whether the secret and each line with a letter or digit is long enough to be hidden.
    static func isComplete(_ secret: SecretValue) -> Bool {
        secret.withBytes { bytes in
            guard trimmed(bytes, 0..<bytes.count).count >= OutputMask.shortestByteCount else {
                return false
            }
            return lines(bytes).map { trimmed(bytes, $0) }.allSatisfy { line in
                line.count >= OutputMask.shortestByteCount
                    || !line.contains { isLetterOrDigit(bytes[$0]) }
            }
        }
    }

    /// The trimmed secret with `ending` as its line ends; nil if it has one line, or these line
    /// ends.
    private static func withLineEnds(_ secret: SecretValue, _ ending: [UInt8]) -> SecretValue? {
        secret.withBytes { bytes in
            let range = trimmed(bytes, 0..<bytes.count)
            guard range.count >= OutputMask.shortestByteCount else { return nil }
            var copy = SecretBytes(byteCount: 2 * range.count)
            var (count, isChanged) = (0, false)
            for position in range {
                let byte = bytes[position]
                let isBeforeNewline = byte == 0x0D && bytes[position + 1] == 0x0A
                if isBeforeNewline { continue }
                if byte == 0x0A {
                    let isLong = bytes[position - 1] == 0x0D
                    isChanged = isChanged || isLong != (ending.count == 2)
                    copy.write(ending.span, at: count)
                    count += ending.count
                } else {
                    copy.write(bytes.extracting(position..<position + 1), at: count)
                    count += 1
                }
            }
            return isChanged ? SecretValue(copy, byteCount: count) : nil
        }
    }

    private static func lines(_ bytes: Span<UInt8>) -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        for index in 0...bytes.count {
            guard index == bytes.count || bytes[index] == 0x0A || bytes[index] == 0x0D else {
                continue
            }
            if index > start { lines.append(start..<index) }
            start = index + 1
        }
        return lines
    }

    private static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isSpace(bytes[start]) { start += 1 }
        while end > start, isSpace(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        byte >= 0x80 || 0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20
    }
}
