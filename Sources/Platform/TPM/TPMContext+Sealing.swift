// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSealing
    internal import ValetSystem

    // Seals and unseals secrets with a TPM. `TPMDevice` calls it.

    extension TPMContext {
        /// Seals the secret without an authorization value, bound to `pcrs` unless it is empty.
        ///
        /// - Throws: ``SystemError``: `pcrsUnavailable`, or those of every call.
        func seal(
            _ secret: borrowing SecretBytes, boundTo pcrs: PCRSelection
        ) throws(SystemError) -> SealedObject {
            if !pcrs.isEmpty { try check(pcrs) }
            let root = try StorageRootKey.current(self)
            let sensitive = Self.sensitive(secret, authorization: SecretBytes(byteCount: 0))
            guard !pcrs.isEmpty else {
                return try create(sensitive, TPMAttributes.deviceSecret, boundTo: pcrs, under: root)
            }
            let policy = try Self.policy(of: pcrs, root)
            return try create(
                sensitive, TPMAttributes.boundDeviceSecret, policy: policy, boundTo: pcrs,
                under: root)
        }

        /// Seals the secret with an authorization value; the TPM counts wrong guesses.
        func seal(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes
        ) throws(SystemError) -> SealedObject {
            let root = try StorageRootKey.current(self)
            let sensitive = Self.sensitive(secret, authorization: authorization)
            return try create(sensitive, TPMAttributes.passcodeSecret, boundTo: .none, under: root)
        }

        private static func policy(
            of pcrs: PCRSelection, _ root: borrowing StorageRootKey
        ) throws(SystemError) -> [UInt8] {
            let session = try TPMSession(.trial, saltedWith: root)
            try session.bind(to: pcrs)
            return try session.policyDigest
        }

        private func create(
            _ sensitive: borrowing SecretBytes, _ attributes: TPMA_OBJECT, policy: [UInt8] = [],
            boundTo pcrs: PCRSelection, under root: borrowing StorageRootKey
        ) throws(SystemError) -> SealedObject {
            let session = try TPMSession(.authorization, saltedWith: root)
            let (key, handle) = (root.object.handle, session.handle)
            var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
            let publicArea = try unsafe TPMAnswer<TPM2B_PUBLIC>(self) {
                (publicArea) throws(SystemError) in
                var template = Self.template(attributes, policy: policy)
                var (data, noPCRs) = (TPM2B_DATA(), TPML_PCR_SELECTION())
                try unsafe sensitive.withStructure(TPM2B_SENSITIVE_CREATE.self) {
                    (sensitive) throws(SystemError) in
                    try unsafe check(
                        functions.Esys_Create(
                            pointer, key, handle, ESYS_TR_NONE, ESYS_TR_NONE, sensitive, &template,
                            &data, &noPCRs, &privateArea, &publicArea, nil, nil, nil))
                }
            }
            let ownedPrivateArea = try unsafe TPMAnswer<TPM2B_PRIVATE>(self) {
                unsafe $0 = privateArea
            }
            return SealedObject(
                publicArea: try marshal(publicArea), privateArea: try marshal(ownedPrivateArea),
                storageRootKeyName: root.name, pcrs: pcrs)
        }

        private static func template(_ attributes: TPMA_OBJECT, policy: [UInt8]) -> TPM2B_PUBLIC {
            var template = TPM2B_PUBLIC()
            template.publicArea.type = TPMAlgorithm.keyedHash
            template.publicArea.nameAlg = TPMAlgorithm.sha256
            template.publicArea.objectAttributes = attributes
            unsafe template.publicArea.parameters.keyedHashDetail.scheme.scheme = TPMAlgorithm.null
            template.publicArea.authPolicy.size = UInt16(policy.count)
            unsafe withUnsafeMutableBytes(of: &template.publicArea.authPolicy.buffer) {
                unsafe $0.copyBytes(from: policy)
            }
            return template
        }

        private static func sensitive(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes
        ) -> SecretBytes {
            unsafe SecretBytes(as: TPM2B_SENSITIVE_CREATE.self) { created in
                unsafe created.pointee.sensitive.userAuth.size = withUnsafeMutableBytes(
                    of: &created.pointee.sensitive.userAuth.buffer
                ) { unsafe authorization.copy(into: $0) }
                unsafe created.pointee.sensitive.data.size = withUnsafeMutableBytes(
                    of: &created.pointee.sensitive.data.buffer
                ) { unsafe secret.copy(into: $0) }
            }
        }
    }

    extension TPMContext {
        /// Unseals a secret that was sealed without an authorization value.
        ///
        /// - Throws: ``SystemError``: `malformed`, `otherTPM`, `damagedObject`, `policyFailed`, or
        ///   those of every call.
        func unseal(_ object: SealedObject) throws(SystemError) -> SecretBytes {
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

        /// Unseals a secret that was sealed with an authorization value. Reads the TPM's counter of
        /// wrong tries first, so that no user locks the TPM unknowingly.
        ///
        /// - Throws: As without an authorization value, and ``SystemError``: `tooFewTries`,
        ///   `lockedOut`, `wrongAuthorization`.
        func unseal(
            _ object: SealedObject, authorization: borrowing SecretBytes, isForced: Bool
        ) throws(SystemError) -> SecretBytes {
            let before = try dictionaryAttack
            try before.check(isForced: isForced, during: operation)
            let root = try StorageRootKey.named(object.storageRootKeyName, self)
            let loaded = try load(object, TPMAttributes.passcodeSecret, under: root)
            let session = try TPMSession(.authorization, saltedWith: root)
            try setAuthorization(authorization, of: loaded.handle)
            do {
                let secret = try unseal(loaded, session)
                try setAuthorization(SecretBytes(byteCount: 0), of: loaded.handle)
                return secret
            } catch {
                try setAuthorization(SecretBytes(byteCount: 0), of: loaded.handle)
                throw explained(error, before)
            }
        }

        /// The error of a refused authorization value, with the tries that are left, if the TPM
        /// reports them.
        private func explained(_ error: SystemError, _ before: DictionaryAttack) -> SystemError {
            if error.code == .lockedOut { return self.error(.lockedOut(before.recoveryInterval)) }
            guard error.code == .wrongAuthorization, let now = try? dictionaryAttack else {
                return error
            }
            return self.error(.wrongAuthorization(triesLeft: now.triesLeft))
        }

        private func load(
            _ object: SealedObject, _ attributes: TPMA_OBJECT, under root: borrowing StorageRootKey
        ) throws(SystemError) -> TPMObject {
            var publicArea = try publicArea(of: object)
            var privateArea = try privateArea(of: object)
            guard publicArea.publicArea.objectAttributes == attributes else {
                throw error(.malformed)
            }
            let key = root.object.handle
            do {
                return try TPMObject(self, .flush) { (made) throws(SystemError) in
                    // The parent has no authorization value, and the TPM itself encrypted the
                    // private area: a session would only cost time.
                    try unsafe check(
                        functions.Esys_Load(
                            pointer, key, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE,
                            &privateArea, &publicArea, &made))
                }
            } catch {
                // `StorageRootKey.named` has compared the parent's Name. So the object is damaged.
                throw error.code == .refusedInput ? self.error(.damagedObject) : error
            }
        }

        private func unseal(
            _ loaded: borrowing TPMObject, _ session: borrowing TPMSession
        ) throws(SystemError) -> SecretBytes {
            let (object, handle) = (loaded.handle, session.handle)
            let answer = try unsafe TPMAnswer<TPM2B_SENSITIVE_DATA>(self) {
                (data) throws(SystemError) in
                try unsafe check(
                    functions.Esys_Unseal(
                        pointer, object, handle, ESYS_TR_NONE, ESYS_TR_NONE, &data))
            }
            // A long answer to another command overwrites the secret in ESYS's buffer.
            _ = try dictionaryAttack
            return try unsafe copy(
                answer.pointer.pointee.size, of: &answer.pointer.pointee.buffer)
        }
    }
#endif
