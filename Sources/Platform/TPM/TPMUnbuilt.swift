// SPDX-License-Identifier: Apache-2.0

#if !TPM
    package import ValetSystem
    package import ValetSealing

    // The calls of TPMDevice+Calls.swift in a program without the trait `TPM`. They exist so that
    // callers need no conditions.
    extension TPMDevice {
        /// Whether the program was built with the trait `TPM`.
        package static var isBuilt: Bool { false }

        /// - Throws: ``SystemError/Code/notBuilt``.
        package func status(until deadline: Deadline) throws(SystemError) -> TPMStatus {
            throw SystemError.tpm(.notBuilt, during: Operation.status)
        }

        /// - Throws: ``SystemError/Code/notBuilt``.
        package func sealDeviceSecret(
            _ secret: borrowing SecretBytes, boundTo pcrs: PCRSelection = .none,
            until deadline: Deadline
        ) throws(SystemError) -> SealedObject {
            throw SystemError.tpm(.notBuilt, during: Operation.sealDeviceSecret)
        }

        /// - Throws: ``SystemError/Code/notBuilt``.
        package func sealPasscodeSecret(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes,
            until deadline: Deadline
        ) throws(SystemError) -> SealedObject {
            throw SystemError.tpm(.notBuilt, during: Operation.sealPasscodeSecret)
        }

        /// - Throws: ``SystemError/Code/notBuilt``.
        package func unsealDeviceSecret(
            _ object: SealedObject, until deadline: Deadline
        ) throws(SystemError) -> SecretBytes {
            throw SystemError.tpm(.notBuilt, during: Operation.unsealDeviceSecret)
        }

        /// - Throws: ``SystemError/Code/notBuilt``.
        package func unsealPasscodeSecret(
            _ object: SealedObject, authorization: borrowing SecretBytes, isForced: Bool = false,
            until deadline: Deadline
        ) throws(SystemError) -> SecretBytes {
            throw SystemError.tpm(.notBuilt, during: Operation.unsealPasscodeSecret)
        }
    }
#endif
