// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSecretMemory

    extension TPMContext {
        /// What was sealed without an authorization value.
        ///
        /// - Throws: ``TPMError``: `malformed`, `otherTPM`, `damaged`, `policyFailed`, or as every
        ///   visit.
        func unseal(_ object: SealedObject) throws(TPMError) -> SecretBytes {
            let attributes =
                object.pcrs.isEmpty ? TPMAttributes.deviceSecret : TPMAttributes.boundDeviceSecret
            let root = try StorageRootKey.named(object.storageRootKeyName, self)
            let loaded = try load(object, attributes, under: root)
            guard !object.pcrs.isEmpty else {
                return try unseal(loaded, TPMSession(.authorization, saltedWith: root))
            }
            let session = try TPMSession(.policy, saltedWith: root)
            try session.bind(to: object.pcrs)
            return try unseal(loaded, session)
        }

        /// What was sealed with an authorization value. The TPM's counter is read before anything
        /// is tried, so that nobody locks the TPM without knowing.
        ///
        /// - Throws: As without, and ``TPMError``: `tooFewTries`, `lockedOut`,
        ///   `wrongAuthorization`.
        func unseal(
            _ object: SealedObject, authorization: borrowing SecretBytes, isForced: Bool
        ) throws(TPMError) -> SecretBytes {
            let before = try dictionaryAttack
            try before.check(isForced: isForced, during: operation)
            let root = try StorageRootKey.named(object.storageRootKeyName, self)
            let loaded = try load(object, TPMAttributes.passcodeSecret, under: root)
            let session = try TPMSession(.authorization, saltedWith: root)
            try setAuthorization(authorization, of: loaded.handle)
            do throws(TPMError) {
                let secret = try unseal(loaded, session)
                try setAuthorization(SecretBytes(byteCount: 0), of: loaded.handle)
                return secret
            } catch {
                try setAuthorization(SecretBytes(byteCount: 0), of: loaded.handle)
                throw explained(error, before)
            }
        }

        /// A refused authorization value, with what the TPM says of tries now, if it does.
        private func explained(_ error: TPMError, _ before: DictionaryAttack) -> TPMError {
            if error.response?.says(.lockout) == true {
                return error.meaning(.lockedOut(before.recoveryInterval))
            }
            guard error.code == .wrongAuthorization(triesLeft: nil) else { return error }
            let left: Int?
            do throws(TPMError) { left = try dictionaryAttack.triesLeft } catch { left = nil }
            return error.meaning(.wrongAuthorization(triesLeft: left))
        }

        private func load(
            _ object: SealedObject, _ attributes: TPMA_OBJECT, under root: borrowing StorageRootKey
        ) throws(TPMError) -> TPMObject {
            var publicArea = try publicArea(of: object)
            var privateArea = try privateArea(of: object)
            guard publicArea.publicArea.objectAttributes == attributes else {
                throw error(.malformed)
            }
            let key = root.object.handle
            do throws(TPMError) {
                return try TPMObject(self, .flush) { (made) throws(TPMError) in
                    // The key has no value to prove, and the TPM itself encrypted what it is given:
                    // a session would only take its time.
                    try unsafe check(
                        functions.Esys_Load(
                            pointer, key, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE,
                            &privateArea, &publicArea, &made))
                }
            } catch {
                // The key is the right one by its name: it is the object that does not fit.
                let isObject = error.code == .refused && error.response?.isAboutInput == true
                throw isObject ? error.meaning(.damaged) : error
            }
        }

        private func unseal(
            _ loaded: borrowing TPMObject, _ session: borrowing TPMSession
        ) throws(TPMError) -> SecretBytes {
            let (object, handle) = (loaded.handle, session.handle)
            let answer = try unsafe TPMAnswer<TPM2B_SENSITIVE_DATA>(self) {
                (data) throws(TPMError) in
                try unsafe check(
                    functions.Esys_Unseal(
                        pointer, object, handle, ESYS_TR_NONE, ESYS_TR_NONE, &data))
            }
            // A long answer to another command, over what ESYS still has of the last one.
            _ = try dictionaryAttack
            return try unsafe copy(
                answer.pointer.pointee.size, of: &answer.pointer.pointee.buffer)
        }
    }
#endif
