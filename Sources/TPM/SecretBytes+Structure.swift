// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSecretMemory

    /// Structures of tpm2-tss that hold secrets, in guarded memory.
    extension SecretBytes {
        /// Room for a structure, all zeros, that `body` fills in.
        init<Structure>(
            as type: Structure.Type, _ body: (UnsafeMutablePointer<Structure>) -> Void
        ) {
            self.init(byteCount: MemoryLayout<Structure>.stride)
            withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { bytes in
                    // Secrets are aligned to 64 bytes, more than any structure wants.
                    guard let start = bytes.baseAddress else { return }
                    unsafe body(start.bindMemory(to: type, capacity: 1))
                }
            }
        }

        /// Lends the structure that the initialiser made.
        func withStructure<Structure>(
            _ type: Structure.Type,
            _ body: (UnsafePointer<Structure>) throws(TPMError) -> Void
        ) throws(TPMError) {
            try withBytes { (bytes) throws(TPMError) in
                try unsafe bytes.withUnsafeBytes { (bytes) throws(TPMError) in
                    guard let start = bytes.baseAddress else { return }
                    try unsafe body(start.bindMemory(to: type, capacity: 1))
                }
            }
        }

        /// Copies these bytes into a field that has room for them.
        func copy(into field: UnsafeMutableRawBufferPointer) -> UInt16 {
            precondition(byteCount <= field.count, "a secret that has no room in its structure")
            withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in unsafe field.copyMemory(from: bytes) }
            }
            return UInt16(byteCount)
        }

        /// The authorization value, as ESYS takes it.
        var authorizationStructure: SecretBytes {
            unsafe SecretBytes(as: TPM2B_AUTH.self) { value in
                unsafe value.pointee.size = withUnsafeMutableBytes(of: &value.pointee.buffer) {
                    unsafe copy(into: $0)
                }
            }
        }
    }
#endif
