// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2

    /// What ESYS knows by a handle, and how it dies.
    @safe struct TPMObject: ~Copyable {
        /// What becomes of it in the end.
        enum Disposal {
            /// It is removed from the TPM, which has room for three.
            case flush
            /// It stays in the TPM, ESYS forgets it.
            case close
        }

        /// Whose it is.
        let context: TPMContext
        /// ESYS's number for it, not the TPM's.
        let handle: ESYS_TR
        private let disposal: Disposal

        /// Takes over what the call makes.
        ///
        /// - Throws: What the call throws; then there is nothing to dispose of.
        init(
            _ context: TPMContext, _ disposal: Disposal,
            _ call: (inout ESYS_TR) throws(TPMError) -> Void
        ) throws(TPMError) {
            var handle = ESYS_TR_NONE
            try call(&handle)
            self.context = context
            self.handle = handle
            self.disposal = disposal
        }

        // Nobody can be told of a failure, and nothing could be done: the channel is broken then,
        // and a resource manager removes what was its client's.
        deinit {
            switch disposal {
            case .flush: unsafe _ = context.functions.Esys_FlushContext(context.pointer, handle)
            case .close:
                var closing = handle
                unsafe _ = context.functions.Esys_TR_Close(context.pointer, &closing)
            }
        }

        /// The algorithm and the digest of its public area.
        var name: [UInt8] {
            get throws(TPMError) {
                let answer = try unsafe TPMAnswer<TPM2B_NAME>(context) { (name) throws(TPMError) in
                    try unsafe context.check(
                        context.functions.Esys_TR_GetName(context.pointer, handle, &name))
                }
                let byteCount = unsafe Int(answer.pointer.pointee.size)
                return unsafe withUnsafeBytes(of: &answer.pointer.pointee.name) { bytes in
                    unsafe Array(bytes.prefix(byteCount))
                }
            }
        }
    }
#endif
