// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import Glibc

    /// A structure that ESYS allocated. It is wiped before it is freed: some hold secrets.
    @safe struct TPMAnswer<Structure>: ~Copyable {
        /// What ESYS gave.
        let pointer: UnsafeMutablePointer<Structure>
        private let context: TPMContext

        /// Makes the call, which stores the address of the structure.
        ///
        /// - Throws: ``TPMError``, if the call fails or gives nothing.
        init(
            _ context: TPMContext,
            _ call: (inout UnsafeMutablePointer<Structure>?) throws(TPMError) -> Void
        ) throws(TPMError) {
            var made: UnsafeMutablePointer<Structure>?
            try unsafe call(&made)
            guard let made = unsafe made else { throw context.error(.malformedAnswer) }
            unsafe pointer = made
            self.context = context
        }

        deinit {
            unsafe explicit_bzero(pointer, MemoryLayout<Structure>.size)
            unsafe context.functions.Esys_Free(pointer)
        }
    }
#endif
