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

    /// The text for bytes that are not secret.
    package static func text(_ bytes: [UInt8]) -> String {
        encoded(bytes.span).withBytes { $0.text ?? "" }
    }

    /// The bytes, which are not secret; nil for text that no encoder writes.
    package static func bytes(_ text: Span<UInt8>) -> [UInt8]? {
        decoded(text)?.withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }
}

/// Hexadecimal digits (RFC 4648 §8, lower case), by libsodium.
package enum Hexadecimal {
    /// Two digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        // With the null byte at its end.
        let capacity = 2 * bytes.count + 1
        return unsafe String(unsafeUninitializedCapacity: capacity) { text in
            guard let first = text.baseAddress else { return 0 }
            return unsafe first.withMemoryRebound(to: CChar.self, capacity: capacity) { first in
                _ = unsafe sodium_bin2hex(first, capacity, bytes, bytes.count)
                return capacity - 1
            }
        }
    }

    /// The bytes; nil for anything but pairs of lower-case digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        let isCapital = digits.contains { (0x41...0x46).contains($0) }
        guard digits.count % 2 == 0, !isCapital else { return nil }
        var bytes = [UInt8](repeating: 0, count: digits.count / 2)
        let code = unsafe digits.withUnsafeBufferPointer { digits in
            guard let first = digits.baseAddress else { return Int32(0) }
            return unsafe first.withMemoryRebound(to: CChar.self, capacity: digits.count) { text in
                unsafe sodium_hex2bin(&bytes, bytes.count, text, digits.count, nil, nil, nil)
            }
        }
        return code == 0 ? bytes : nil
    }
}
