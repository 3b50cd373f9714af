// SPDX-License-Identifier: Apache-2.0

#if !TPM
    package import ValetDatabase
    package import ValetSecretMemory

    // The calls of TPMDevice+Calls.swift in a program that was built without the trait: callers
    // need to know nothing of it.
    extension TPMDevice {
        /// Whether the program was built with the trait `TPM`.
        package static var isBuilt: Bool { false }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func status(until deadline: Deadline) throws(TPMError) -> TPMStatus {
            throw TPMError(.notBuilt, during: Operation.status)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func sealDeviceSecret(
            _ secret: borrowing SecretBytes, boundTo pcrs: PCRSelection = .none,
            until deadline: Deadline
        ) throws(TPMError) -> SealedObject {
            throw TPMError(.notBuilt, during: Operation.sealDeviceSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func sealPasscodeSecret(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes,
            until deadline: Deadline
        ) throws(TPMError) -> SealedObject {
            throw TPMError(.notBuilt, during: Operation.sealPasscodeSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func unsealDeviceSecret(
            _ object: SealedObject, until deadline: Deadline
        ) throws(TPMError) -> SecretBytes {
            throw TPMError(.notBuilt, during: Operation.unsealDeviceSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func unsealPasscodeSecret(
            _ object: SealedObject, authorization: borrowing SecretBytes, isForced: Bool = false,
            until deadline: Deadline
        ) throws(TPMError) -> SecretBytes {
            throw TPMError(.notBuilt, during: Operation.unsealPasscodeSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func keepErasureSecret(
            _ new: borrowing KeptSecret, at place: ErasurePlace, beside object: SealedObject,
            owner: borrowing SecretBytes, until deadline: Deadline
        ) throws(TPMError) {
            throw TPMError(.notBuilt, during: Operation.keepErasureSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func hasErasureSecret(
            at place: ErasurePlace, until deadline: Deadline
        ) throws(TPMError) -> Bool {
            throw TPMError(.notBuilt, during: Operation.status)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func checkOwner(
            _ owner: borrowing SecretBytes, until deadline: Deadline
        ) throws(TPMError) {
            throw TPMError(.notBuilt, during: Operation.checkOwner)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func erasureSecret(
            at index: NVIndex, beside object: SealedObject, authorization: borrowing SecretBytes,
            until deadline: Deadline
        ) throws(TPMError) -> SecretBytes {
            throw TPMError(.notBuilt, during: Operation.readErasureSecret)
        }

        /// - Throws: ``TPMError/Code/notBuilt``.
        package func destroyErasureSecret(
            at place: ErasurePlace, owner: borrowing SecretBytes, until deadline: Deadline
        ) throws(TPMError) {
            throw TPMError(.notBuilt, during: Operation.destroyErasureSecret)
        }
    }
#endif
