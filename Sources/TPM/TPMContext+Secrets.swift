// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSecretMemory

    /// Secrets in and out of ESYS's structures.
    extension TPMContext {
        /// Has ESYS prove, from now on, that it knows this value of what has that handle; an empty
        /// one wipes what ESYS knew.
        func setAuthorization(
            _ value: borrowing SecretBytes, of handle: ESYS_TR
        ) throws(TPMError) {
            try unsafe value.authorizationStructure.withStructure(TPM2B_AUTH.self) {
                (value) throws(TPMError) in
                try unsafe check(functions.Esys_TR_SetAuth(pointer, handle, value))
            }
        }

        /// Copies the first `byteCount` bytes of a structure's field into guarded memory.
        func copy<Field>(
            _ byteCount: UInt16, of field: inout Field
        ) throws(TPMError) -> SecretBytes {
            guard Int(byteCount) <= MemoryLayout<Field>.size else { throw error(.malformedAnswer) }
            return unsafe withUnsafeBytes(of: &field) { bytes in
                let used = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(byteCount)])
                return unsafe SecretBytes(copying: used.bindMemory(to: UInt8.self).span)
            }
        }
    }
#endif
