// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

extension SymmetricKey {
    /// Takes a key out of a payload.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` unless there are 32 bytes.
    init(payload bytes: Span<UInt8>) throws(LockStateError) {
        do throws(SealingError) {
            try self.init(copying: bytes)
        } catch {
            throw LockStateError(.malformed, during: .parse)
        }
    }

    /// Another owner of the same key.
    borrowing func copied() throws(LockStateError) -> SymmetricKey {
        try withBytes { (bytes: Span<UInt8>) throws(LockStateError) in
            try SymmetricKey(payload: bytes)
        }
    }
}

extension FixedBytes {
    /// Takes a name or digest out of a payload.
    ///
    /// - Throws: ``LockStateError/Code/malformed`` for another number of bytes.
    init(payload bytes: Span<UInt8>) throws(LockStateError) {
        do throws(SealingError) {
            try self.init(copying: bytes)
        } catch {
            throw LockStateError(.malformed, during: .parse)
        }
    }
}
