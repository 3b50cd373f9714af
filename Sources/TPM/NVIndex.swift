// SPDX-License-Identifier: Apache-2.0

internal import SecretMemory

/// Where in a TPM an erasure secret is kept: an index of the range that is the owner's to give.
///
/// TCG: Registry of Reserved TPM 2.0 Handles and Localities, 2.2.2.
package struct NVIndex: Hashable, Sendable {
    /// From 0x01800000 to 0x01bfffff.
    package let rawValue: UInt32

    /// An index of that range; nil for any other number.
    package init?(rawValue: UInt32) {
        guard (0x0180_0000...0x01bf_ffff).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Any index of the range: which are taken only the TPM knows.
    static func random() -> NVIndex {
        let random = Randomness.bytes(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return NVIndex(number: 0x0180_0000 | random & 0x3f_ffff)
    }

    private init(number: UInt32) { rawValue = number }
}
