// SPDX-License-Identifier: Apache-2.0

internal import ValetCSodium

/// Base64 (RFC 4648 §4) of secrets, by libsodium, whose time does not depend on the bytes.
package enum Base64 {
    /// The text for bytes.
    package static func encoded(_ bytes: Span<UInt8>) -> SecretValue {
        let variant = sodium_base64_VARIANT_ORIGINAL
        // With the null byte at its end.
        let capacity = sodium_base64_encoded_len(bytes.count, variant)
        let text = SecretBytes(byteCount: capacity)
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe text.start.withMemoryRebound(to: CChar.self, capacity: capacity) { start in
                _ = unsafe sodium_bin2base64(
                    start, capacity, source.baseAddress, source.count, variant)
            }
        }
        return SecretValue(text, byteCount: capacity - 1)
    }

    /// The bytes; nil for text that no encoder writes.
    package static func decoded(_ text: Span<UInt8>) -> SecretValue? {
        let bytes = SecretBytes(byteCount: text.count / 4 * 3)
        var count = 0
        let isRead = unsafe text.withUnsafeBufferPointer { source in
            guard let first = source.baseAddress else { return true }
            return unsafe first.withMemoryRebound(to: CChar.self, capacity: source.count) {
                unsafe sodium_base642bin(
                    bytes.start, bytes.byteCount, $0, source.count, nil, &count, nil,
                    sodium_base64_VARIANT_ORIGINAL) == 0
            }
        }
        return isRead ? SecretValue(bytes, byteCount: count) : nil
    }
}
