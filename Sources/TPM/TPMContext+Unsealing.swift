// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import CTPM2
    internal import SecretMemory

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
                throw try explained(error, before)
            }
        }

        /// A refused authorization value, with what the TPM says of tries now.
        private func explained(
            _ error: TPMError, _ before: DictionaryAttack
        ) throws(TPMError) -> TPMError {
            if error.response?.says(.lockout) == true {
                return error.meaning(.lockedOut(before.recoveryInterval))
            }
            guard error.code == .wrongAuthorization(triesLeft: nil) else { return error }
            return error.meaning(.wrongAuthorization(triesLeft: try dictionaryAttack.triesLeft))
        }

        private func load(
            _ object: SealedObject, _ attributes: TPMA_OBJECT, under root: borrowing StorageRootKey
        ) throws(TPMError) -> TPMObject {
            var publicArea = try publicArea(of: object)
            var privateArea = try privateArea(of: object)
            guard publicArea.publicArea.objectAttributes == attributes else {
                throw error(.malformed)
            }
            let session = try TPMSession(.authorization, saltedWith: root)
            let (key, handle) = (root.object.handle, session.handle)
            do throws(TPMError) {
                return try TPMObject(self, .flush) { (made) throws(TPMError) in
                    try unsafe check(
                        functions.Esys_Load(
                            pointer, key, handle, ESYS_TR_NONE, ESYS_TR_NONE, &privateArea,
                            &publicArea, &made))
                }
            } catch {
                // The key is the right one by its name: it is the object that does not fit.
                throw error.response?.isAboutInput == true ? error.meaning(.damaged) : error
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
