// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSystem

    /// One visit to a TPM: ESYS, and the channel beneath it. Objects and sessions keep it alive.
    @safe final class TPMContext {
        /// What is being done, for errors.
        let operation: String
        /// What is called with ``pointer``.
        let functions: valet_tpm_functions
        /// ESYS's own context.
        let pointer: OpaquePointer
        private let transport: TPMTransport

        /// Loads tpm2-tss and opens the way to the TPM.
        ///
        /// - Throws: ``TPMError``: `libraryMissing`, or what ``TPMChannel`` throws.
        init(
            _ device: TPMDevice, during operation: String, until deadline: Deadline
        ) throws(TPMError) {
            self.operation = operation
            functions = try TPMLibrary.load(device.libraries, during: operation)
            transport = try TPMTransport(
                TPMChannel(device.place, during: operation, until: deadline))
            var made: OpaquePointer?
            let code = unsafe functions.Esys_Initialize(
                &made, OpaquePointer(transport.pointer), nil)
            guard code == 0, let made = unsafe made else {
                throw TPMError(.refused, during: operation, response: TPMResponse(code))
            }
            unsafe pointer = made
        }

        deinit {
            var ending: OpaquePointer? = unsafe pointer
            unsafe functions.Esys_Finalize(&ending)
        }

        /// Every return code of tpm2-tss goes through here.
        ///
        /// - Throws: ``TPMError``, decoded, for all but success.
        func check(_ code: TSS2_RC) throws(TPMError) {
            guard code != 0 else { return }
            if let failure = transport.failure { throw failure }
            throw TPMError(TPMResponse(code), during: operation)
        }

        /// The error of this visit with that meaning.
        func error(_ code: TPMError.Code) -> TPMError { TPMError(code, during: operation) }
    }
#endif
