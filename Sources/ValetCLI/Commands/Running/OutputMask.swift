// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// Replaces secrets in a stream of output, also those that come in pieces. ``MaskingSupervisor``
/// has one for each stream.
struct OutputMask {
    /// What stands in place of a secret.
    static let replacement = Array("<hidden by valet>".utf8)
    /// Shorter texts occur by chance, and hiding them would tell where.
    static let shortestByteCount = 4
    /// The shortest line of a longer secret that is hidden by itself.
    private static let shortestLine = 8
    /// The longest text that is looked for.
    private static let longestByteCount = 256 << 10

    private let patterns: [SecretValue]
    private var isStart = [Bool](repeating: false, count: 256)
    /// Output that may be the beginning of a secret.
    private var held: [UInt8] = []

    /// A mask for secrets, for the same without a newline at the end, and for their lines.
    init(hiding secrets: [SecretValue]) {
        var patterns: [SecretValue] = []
        for secret in secrets {
            patterns += Self.pieces(of: secret)
        }
        // The longest first, so that no part of it remains.
        self.patterns = patterns.sorted { $0.byteCount > $1.byteCount }
        for pattern in patterns { isStart[Int(pattern.withBytes { $0[0] })] = true }
        // Growing would leave copies of secrets in memory.
        held.reserveCapacity(2 * Self.longestByteCount)
    }

    /// Whether the output may be the beginning of a secret, and waits for its end.
    var isHolding: Bool { !held.isEmpty }

    /// Whether a secret is long enough to be hidden.
    static func hides(_ secret: SecretValue) -> Bool { !pieces(of: secret).isEmpty }

    private static func pieces(of secret: SecretValue) -> [SecretValue] {
        secret.withBytes { bytes in
            var ranges: [Range<Int>] = []
            var start = 0
            for index in 0...bytes.count {
                guard index == bytes.count || bytes[index] == UInt8(ascii: "\n") else { continue }
                if index - start >= shortestLine { ranges.append(start..<index) }
                start = index + 1
            }
            let isLine = !bytes.isEmpty && bytes[bytes.count - 1] == UInt8(ascii: "\n")
            let whole = 0..<(bytes.count - (isLine ? 1 : 0))
            if !ranges.contains(whole) { ranges.append(whole) }
            return ranges.filter { shortestByteCount...longestByteCount ~= $0.count }
                .map { SecretValue(copying: bytes.extracting($0)) }
        }
    }

    /// Passes on what is known to be no part of a secret. The rest waits.
    ///
    /// - Parameter isEnd: Whether nothing waits, because no more output comes.
    mutating func pass(_ bytes: Span<UInt8>, isEnd: Bool = false, to body: (Span<UInt8>) -> Void) {
        for index in bytes.indices { held.append(bytes[index]) }
        keep(from: scan(isEnd: isEnd, to: body))
    }

    /// Passes on what is held, up to the possible beginning of a secret; returns its position.
    private func scan(isEnd: Bool, to body: (Span<UInt8>) -> Void) -> Int {
        var (start, position) = (0, 0)
        let span = held.span
        while position < span.count {
            guard isStart[Int(span[position])] else {
                position += 1
                continue
            }
            switch match(span, position, isEnd) {
            case .none: position += 1
            case .part:
                body(span.extracting(start..<position))
                return position
            case .whole(let count):
                body(span.extracting(start..<position))
                body(Self.replacement.span)
                position += count
                start = position
            }
        }
        body(span.extracting(start..<position))
        return position
    }

    private enum Match {
        case none, part
        case whole(Int)
    }

    private func match(_ output: Span<UInt8>, _ position: Int, _ isEnd: Bool) -> Match {
        for pattern in patterns {
            let room = output.count - position
            if room < pattern.byteCount, isEnd { continue }
            let count = min(room, pattern.byteCount)
            let isEqual = pattern.withBytes { bytes in
                (0..<count).allSatisfy { bytes[$0] == output[position + $0] }
            }
            if isEqual { return count < pattern.byteCount ? .part : .whole(count) }
        }
        return .none
    }

    /// Moves what waits to the front, and wipes the rest.
    private mutating func keep(from position: Int) {
        let count = held.count - position
        for index in 0..<count { held[index] = held[position + index] }
        for index in count..<held.count { held[index] = 0 }
        held.removeLast(held.count - count)
    }
}
