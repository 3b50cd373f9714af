// SPDX-License-Identifier: Apache-2.0

#if TPM
    package import ValetSystem
    package import ValetSealing

    /// The calls of a program with the trait `TPM`. Every call opens a connection and leaves
    /// nothing in the TPM. Beside the errors that it names, each throws ``SystemError``:
    /// `libraryAbsent`, `noDevice`, `noPermission`, `timedOut`, `connectionLost`, `outOfOrder`,
    /// `full`, `refused`, `malformedAnswer`. The deadline covers all waiting of a call.
    extension TPMDevice {
        /// Whether the program was built with the trait `TPM`.
        package static var isBuilt: Bool { true }

        package func status(until deadline: Deadline) throws(SystemError) -> TPMStatus {
            try visit(Operation.status, until: deadline) { (context) throws(SystemError) in
                try context.status
            }
        }

        /// Seals a secret of 32 bytes. Every program with access to this TPM can unseal it; with
        /// PCRs, only while they have their current values. Unseals the object once before it
        /// returns it.
        ///
        /// - Throws: ``SystemError/Code/pcrsUnavailable``.
        package func sealDeviceSecret(
            _ secret: borrowing SecretBytes, boundTo pcrs: PCRSelection = .none,
            until deadline: Deadline
        ) throws(SystemError) -> SealedObject {
            try visit(Operation.sealDeviceSecret, until: deadline) {
                (context) throws(SystemError) in
                let object = try context.seal(secret, boundTo: pcrs)
                let opened = try context.unseal(object)
                guard opened.isEqual(to: secret) else { throw context.error(.malformedAnswer) }
                return object
            }
        }

        /// Seals a secret of 32 bytes under an authorization value of at most 32 bytes. Unseals the
        /// object once before it returns it.
        ///
        /// - Throws: ``SystemError/Code/lockedOut``: in lockout it could not be unsealed.
        package func sealPasscodeSecret(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes,
            until deadline: Deadline
        ) throws(SystemError) -> SealedObject {
            try visit(Operation.sealPasscodeSecret, until: deadline) {
                (context) throws(SystemError) in
                let object = try context.seal(secret, authorization: authorization)
                let opened = try context.unseal(
                    object, authorization: authorization, isForced: true)
                guard opened.isEqual(to: secret) else { throw context.error(.malformedAnswer) }
                return object
            }
        }

        /// The secret of ``sealDeviceSecret(_:boundTo:until:)``.
        ///
        /// - Throws: ``SystemError``: `malformed`, `otherTPM`, `damagedObject`, `policyFailed`.
        package func unsealDeviceSecret(
            _ object: SealedObject, until deadline: Deadline
        ) throws(SystemError) -> SecretBytes {
            try visit(Operation.unsealDeviceSecret, until: deadline) {
                (context) throws(SystemError) in
                try context.unseal(object)
            }
        }

        /// The secret of ``sealPasscodeSecret(_:authorization:until:)``. The TPM counts a
        /// wrong value. Nothing is tried when fewer than half of the tries are left, unless forced.
        ///
        /// - Throws: ``SystemError``: `wrongAuthorization`, `tooFewTries`, `lockedOut`;
        ///   `malformed`, `otherTPM`, `damagedObject`.
        package func unsealPasscodeSecret(
            _ object: SealedObject, authorization: borrowing SecretBytes, isForced: Bool = false,
            until deadline: Deadline
        ) throws(SystemError) -> SecretBytes {
            try visit(Operation.unsealPasscodeSecret, until: deadline) {
                (context) throws(SystemError) in
                try context.unseal(object, authorization: authorization, isForced: isForced)
            }
        }

        private func visit<R: ~Copyable>(
            _ operation: String, until deadline: Deadline,
            _ body: (TPMContext) throws(SystemError) -> R
        ) throws(SystemError) -> R {
            try QuietThread.run { () throws(SystemError) -> R in
                do throws(SystemError) {
                    return try body(TPMContext(self, during: operation, until: deadline))
                } catch {
                    guard error.code == .full, try removeLeftovers(operation, deadline) else {
                        throw error
                    }
                }
                return try body(TPMContext(self, during: operation, until: deadline))
            }
        }

        /// Makes room in a TPM without a resource manager: removes what dead processes and scripts
        /// left.
        ///
        /// - Returns: Whether something was removed.
        private func removeLeftovers(
            _ operation: String, _ deadline: Deadline
        ) throws(SystemError) -> Bool {
            try TPMChannel(place, during: operation, until: deadline).removeLeftovers() > 0
        }
    }
#endif
