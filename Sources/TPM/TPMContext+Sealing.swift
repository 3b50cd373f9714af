// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSecretMemory

    extension TPMContext {
        /// Seals the secret without an authorization value, bound to the registers if there are
        /// any.
        ///
        /// - Throws: ``TPMError``: `pcrsUnavailable`, or as every visit.
        func seal(
            _ secret: borrowing SecretBytes, boundTo pcrs: PCRSelection
        ) throws(TPMError) -> SealedObject {
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

        /// Seals the secret with an authorization value whose guesses the TPM counts.
        func seal(
            _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes
        ) throws(TPMError) -> SealedObject {
            let root = try StorageRootKey.current(self)
            let sensitive = Self.sensitive(secret, authorization: authorization)
            return try create(sensitive, TPMAttributes.passcodeSecret, boundTo: .none, under: root)
        }

        private static func policy(
            of pcrs: PCRSelection, _ root: borrowing StorageRootKey
        ) throws(TPMError) -> [UInt8] {
            let session = try TPMSession(.trial, saltedWith: root)
            try session.bind(to: pcrs)
            return try session.policyDigest
        }

        private func create(
            _ sensitive: borrowing SecretBytes, _ attributes: TPMA_OBJECT, policy: [UInt8] = [],
            boundTo pcrs: PCRSelection, under root: borrowing StorageRootKey
        ) throws(TPMError) -> SealedObject {
            let session = try TPMSession(.authorization, saltedWith: root)
            let (key, handle) = (root.object.handle, session.handle)
            var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
            let publicArea = try unsafe TPMAnswer<TPM2B_PUBLIC>(self) {
                (publicArea) throws(TPMError) in
                var template = Self.template(attributes, policy: policy)
                var (data, noPCRs) = (TPM2B_DATA(), TPML_PCR_SELECTION())
                try unsafe sensitive.withStructure(TPM2B_SENSITIVE_CREATE.self) {
                    (sensitive) throws(TPMError) in
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
#endif
