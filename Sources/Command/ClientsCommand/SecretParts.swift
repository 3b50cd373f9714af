// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

// What helpers and imports ask of the bytes of secrets.

extension SecretValue {
    var isUTF8: Bool { withBytes { (try? UTF8Span(validating: $0)) != nil } }
}

extension Span<UInt8> {
    func equals(_ text: String) -> Bool {
        count == text.utf8.count && zip(indices, text.utf8).allSatisfy { self[$0] == $1 }
    }

    /// The ranges of the lines, without their newlines. What follows the last newline is a line,
    /// too, unless it is empty.
    var lines: [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        for index in indices where self[index] == UInt8(ascii: "\n") {
            lines.append(start..<index)
            start = index + 1
        }
        if start < count { lines.append(start..<count) }
        return lines
    }

    func firstIndex(of byte: UInt8) -> Int? { indices.first { self[$0] == byte } }
}
