// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// Padding to a multiple of a step, so that sealed bytes tell less about the plaintext's length.
///
/// ISO/IEC 7816-4: one byte 0x80, then zeros; there is always at least the 0x80.
package enum Padding {
    /// The length of `byteCount` bytes once padded; `step` is at least 1.
    package static func paddedByteCount(_ byteCount: Int, toMultipleOf step: Int) -> Int {
        precondition(step > 0, "padding needs a positive step")
        return (byteCount / step + 1) * step
    }

    /// Copies and pads `plaintext`. Wiping the original remains its owner's duty.
    package static func padded(_ plaintext: Span<UInt8>, toMultipleOf step: Int) -> SecretBytes {
        let byteCount = paddedByteCount(plaintext.count, toMultipleOf: step)
        return SecretBytes(byteCount: byteCount) { (bytes: inout MutableSpan<UInt8>) in
            Sodium.copy(plaintext, to: &bytes)
            bytes[plaintext.count] = 0x80
        }
    }

    /// Copies and pads a value.
    package static func padded(_ value: SecretValue, toMultipleOf step: Int) -> SecretBytes {
        let byteCount = paddedByteCount(value.byteCount, toMultipleOf: step)
        return SecretBytes(byteCount: byteCount) { (bytes: inout MutableSpan<UInt8>) in
            value.withBytes { plaintext in Sodium.copy(plaintext, to: &bytes) }
            bytes[value.byteCount] = 0x80
        }
    }

    /// Pads `plaintext` in place, for attributes.
    package static func pad(_ plaintext: inout [UInt8], toMultipleOf step: Int) {
        let byteCount = paddedByteCount(plaintext.count, toMultipleOf: step)
        plaintext.reserveCapacity(byteCount)
        plaintext.append(0x80)
        while plaintext.count < byteCount { plaintext.append(0) }
    }

    /// The length that `padded` had before it was padded.
    ///
    /// For plaintexts that have been authenticated: the time tells where the padding starts.
    /// - Throws: ``SealingError/Code/malformed`` if this is not padded to a multiple of `step`.
    package static func unpaddedByteCount(
        _ padded: Span<UInt8>, step: Int
    ) throws(SealingError) -> Int {
        guard step > 0, !padded.isEmpty, padded.count % step == 0 else { throw malformed }
        let first = padded.count - step
        var index = padded.count - 1
        while index > first, padded[index] == 0 { index -= 1 }
        guard padded[index] == 0x80 else { throw malformed }
        return index
    }

    private static var malformed: SealingError {
        SealingError(.malformed, during: .unpad, of: "plaintext")
    }
}
