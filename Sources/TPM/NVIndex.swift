// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

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
    package static func random() -> NVIndex {
        let random = Randomness.bytes(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return NVIndex(number: 0x0180_0000 | random & 0x3f_ffff)
    }

    private init(number: UInt32) { rawValue = number }
}

/// An index with what tells that it is ours.
package struct ErasurePlace: Hashable, Sendable {
    /// Where.
    package let index: NVIndex
    /// What the index is marked with, 32 bytes: whose it is.
    let mark: [UInt8]

    /// Names an index.
    ///
    /// - Parameter mark: 32 bytes, not secret.
    package init(_ index: NVIndex, mark: [UInt8]) {
        precondition(mark.count == 32, "a mark has as many bytes as a SHA-256 digest")
        self.index = index
        self.mark = mark
    }
}

/// A secret that is to be kept at an index, and what it is read with.
package struct KeptSecret: ~Copyable, Sendable {
    let secret: SecretBytes
    let authorization: SecretBytes

    /// Takes over both, 32 bytes each.
    package init(_ secret: consuming SecretBytes, readWith authorization: consuming SecretBytes) {
        self.secret = secret
        self.authorization = authorization
    }
}
