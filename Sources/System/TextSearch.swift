// SPDX-License-Identifier: Apache-2.0

// Searching in text without Swift's regular expressions: the standard library's `contains(_:)` and
// `replacing(_:with:)` of texts link them, and two megabytes more have to be mapped at each start
// of the `valet` command. `scripts/check-libraries` finds them.

extension StringProtocol {
    /// Whether `part` occurs in the text, byte by byte.
    package func hasPart(_ part: String) -> Bool {
        let bytes = Array(utf8)
        let part = Array(part.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: part) } || part.isEmpty
    }
}
