// SPDX-License-Identifier: Apache-2.0

import ValetSystem
import ValetTestValues

@testable import ValetSealing

extension Vector {
    /// All vectors of one operation of this module, which are at least one.
    static func sealing(_ operation: String) throws -> [Vector] {
        try all("sealing", operation)
    }

    func key<P>(_ field: String, as purpose: P.Type = P.self) throws -> SymmetricKey<P> {
        let bytes = try bytes(field)
        return try SymmetricKey(copying: bytes.span)
    }

    /// Runs `body`, which must do what the file says: end well, or throw that very code.
    func check(_ body: () throws -> Void) throws {
        try check({ (error: SystemError) in error.outcome }, body)
    }
}

extension SystemError {
    fileprivate var outcome: Vector.Outcome? {
        switch code {
        case .wrongKey: .wrongSecret
        case .tampered: .tampered
        case .malformed: .malformed
        case .unsupported: .unsupported
        default: nil
        }
    }
}

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
