// SPDX-License-Identifier: Apache-2.0

import ValetSecretMemory

@testable import ValetSealing

extension SecretBytes {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension SymmetricKey {
    /// A copy, to compare with.
    var array: [UInt8] { withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

extension [UInt8] {
    /// The same bytes with one bit changed.
    func flipping(_ index: Int) -> [UInt8] {
        var bytes = self
        bytes[index] ^= 1
        return bytes
    }
}
