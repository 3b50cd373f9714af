// SPDX-License-Identifier: Apache-2.0

/// Stand-in until the arena is there.
package final class SecretValue: Sendable {
    package let byteCount: Int
    private let bytes: [UInt8]
    package init(copying span: Span<UInt8>) {
        var bytes: [UInt8] = []
        for index in span.indices { bytes.append(span[index]) }
        self.bytes = bytes
        byteCount = bytes.count
    }
    package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        let copy = bytes
        let span = copy.span
        return try body(span)
    }
}
