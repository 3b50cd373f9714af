// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import Glibc

    /// The functions of tpm2-tss.
    enum TPMLibrary {
        /// Loads the libraries and finds every function that is called.
        ///
        /// They stay loaded: they leave threads' and OpenSSL's state behind that outlives a call.
        /// - Throws: ``TPMError/Code/libraryMissing(_:)``, also for one that lacks a function.
        static func load(
            _ names: TPMDevice.Libraries, during operation: String
        ) throws(TPMError) -> valet_tpm_functions {
            guard let esys = unsafe dlopen(names.esys, RTLD_NOW | RTLD_LOCAL) else {
                throw TPMError(.libraryMissing(names.esys), during: operation)
            }
            guard let marshalling = unsafe dlopen(names.marshalling, RTLD_NOW | RTLD_LOCAL) else {
                throw TPMError(.libraryMissing(names.marshalling), during: operation)
            }
            var functions = valet_tpm_functions()
            if unsafe valet_find_tpm_functions(&functions, esys, marshalling) != nil {
                throw TPMError(.libraryMissing(names.esys), during: operation)
            }
            return functions
        }
    }
#endif
