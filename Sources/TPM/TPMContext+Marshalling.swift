// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2

    /// Areas of objects to bytes and back, by tpm2-tss's own code.
    extension TPMContext {
        func marshal(_ area: borrowing TPMAnswer<TPM2B_PUBLIC>) throws(TPMError) -> [UInt8] {
            try unsafe bytes { (bytes, room, offset) throws(TPMError) in
                try unsafe check(
                    functions.Tss2_MU_TPM2B_PUBLIC_Marshal(area.pointer, bytes, room, &offset))
            }
        }

        func marshal(_ area: borrowing TPMAnswer<TPM2B_PRIVATE>) throws(TPMError) -> [UInt8] {
            try unsafe bytes { (bytes, room, offset) throws(TPMError) in
                try unsafe check(
                    functions.Tss2_MU_TPM2B_PRIVATE_Marshal(area.pointer, bytes, room, &offset))
            }
        }

        /// The public area of a sealed object, which is of a shape that we make.
        ///
        /// - Throws: ``TPMError/Code/malformed`` for any other.
        func publicArea(of object: SealedObject) throws(TPMError) -> TPM2B_PUBLIC {
            var (area, offset) = (TPM2B_PUBLIC(), 0)
            let bytes = object.publicArea
            let code = unsafe functions.Tss2_MU_TPM2B_PUBLIC_Unmarshal(
                bytes, bytes.count, &offset, &area)
            let attributes = area.publicArea.objectAttributes
            guard code == 0, offset == bytes.count, area.publicArea.type == TPMAlgorithm.keyedHash,
                area.publicArea.nameAlg == TPMAlgorithm.sha256,
                object.pcrs.isEmpty == (attributes != TPMAttributes.boundDeviceSecret)
            else { throw error(.malformed) }
            return area
        }

        /// The private area of a sealed object.
        ///
        /// - Throws: ``TPMError/Code/malformed``.
        func privateArea(of object: SealedObject) throws(TPMError) -> TPM2B_PRIVATE {
            var (area, offset) = (TPM2B_PRIVATE(), 0)
            let bytes = object.privateArea
            let code = unsafe functions.Tss2_MU_TPM2B_PRIVATE_Unmarshal(
                bytes, bytes.count, &offset, &area)
            guard code == 0, offset == bytes.count else { throw error(.malformed) }
            return area
        }

        private func bytes(
            _ marshal: (UnsafeMutablePointer<UInt8>?, Int, inout Int) throws(TPMError) -> Void
        ) throws(TPMError) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: TPMChannel.maximalByteCount)
            var offset = 0
            try unsafe marshal(&bytes, bytes.count, &offset)
            return Array(bytes[..<offset])
        }
    }
#endif
