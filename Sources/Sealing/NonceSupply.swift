// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// Random nonces, each handed out once: three are made at a time, because asking for random bytes
/// costs a system call, and a row has three sealed parts.
///
/// It has no copy, so that no nonce serves twice.
package struct NonceSupply: ~Copyable {
    private static let byteCount = Sodium.nonceByteCount

    private var bytes = InlineArray<72, UInt8>(repeating: 0)
    private var usedByteCount: Int

    /// Makes no nonce before the first is asked for.
    package init() {
        usedByteCount = bytes.count
    }

    /// A nonce that was never handed out.
    mutating func next() -> Nonce {
        if usedByteCount == bytes.count {
            var fresh = bytes.mutableSpan
            Randomness.fill(&fresh)
            usedByteCount = 0
        }
        let start = usedByteCount
        usedByteCount += Self.byteCount
        return Nonce(InlineArray { bytes[start + $0] })
    }
}
