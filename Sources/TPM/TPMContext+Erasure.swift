// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSecretMemory

    /// A secret in the TPM's own memory, which can be destroyed for certain.
    ///
    /// TCG: TPM 2.0 Library part 1, 37; part 3, 31.
    extension TPMContext {
        /// Keeps the secret at an index.
        ///
        /// - Throws: ``TPMError``: `indexTaken`, `ownerAuthorizationNeeded`, `full`, or as every
        ///   visit.
        func keepErasureSecret(
            _ new: borrowing KeptSecret, at place: ErasurePlace, beside object: SealedObject,
            owner: borrowing SecretBytes
        ) throws(TPMError) {
            let root = try StorageRootKey.named(object.storageRootKeyName, self)
            let session = try TPMSession(.authorization, saltedWith: root)
            try setAuthorization(owner, of: ESYS_TR_RH_OWNER)
            do throws(TPMError) {
                let object = try define(place, new, session)
                try setAuthorization(new.authorization, of: object.handle)
                try write(new.secret, to: object, session)
            } catch {
                throw error.response?.says(.nvDefined) == true
                    ? error.meaning(.indexTaken) : owned(error)
            }
        }

        /// Whether the secret is there, and is ours.
        func hasErasureSecret(at place: ErasurePlace) throws(TPMError) -> Bool {
            guard try hasHandle(place.index.rawValue) else { return false }
            return try isOurs(open(place.index, disposal: .close), place)
        }

        /// Looks whether the owner's authorization is right, by a policy that nothing uses.
        ///
        /// - Throws: ``TPMError``: `ownerAuthorizationNeeded`, or as every visit.
        func checkOwner(_ owner: borrowing SecretBytes) throws(TPMError) {
            let root = try StorageRootKey.current(self)
            let session = try TPMSession(.authorization, saltedWith: root)
            let trial = try TPMSession(.trial, saltedWith: root)
            try setAuthorization(owner, of: ESYS_TR_RH_OWNER)
            do throws(TPMError) {
                try unsafe check(
                    functions.Esys_PolicySecret(
                        pointer, ESYS_TR_RH_OWNER, trial.handle, session.handle, ESYS_TR_NONE,
                        ESYS_TR_NONE, nil, nil, nil, 0, nil, nil))
            } catch {
                throw owned(error)
            }
        }

        /// Reads the secret.
        ///
        /// - Throws: ``TPMError``: `noErasureSecret`, `wrongAuthorization`, or as every visit.
        func erasureSecret(
            at index: NVIndex, beside object: SealedObject, authorization: borrowing SecretBytes
        ) throws(TPMError) -> SecretBytes {
            let root = try StorageRootKey.named(object.storageRootKeyName, self)
            let session = try TPMSession(.authorization, saltedWith: root)
            let object = try open(index, disposal: .close)
            try setAuthorization(authorization, of: object.handle)
            let (place, handle) = (object.handle, session.handle)
            do throws(TPMError) {
                let answer = try unsafe TPMAnswer<TPM2B_MAX_NV_BUFFER>(self) {
                    (data) throws(TPMError) in
                    try unsafe check(
                        functions.Esys_NV_Read(
                            pointer, place, place, handle, ESYS_TR_NONE, ESYS_TR_NONE, 32, 0, &data)
                    )
                }
                _ = try dictionaryAttack
                return try unsafe copy(
                    answer.pointer.pointee.size, of: &answer.pointer.pointee.buffer)
            } catch {
                // It is exempt from the counting of tries, so the TPM says "bad" and not "failed".
                throw error.response?.says(.badAuth) == true
                    ? error.meaning(.wrongAuthorization(triesLeft: nil)) : error
            }
        }

        /// Destroys the secret: nobody can read it any more, whatever they have. What is somebody
        /// else's stays.
        ///
        /// - Throws: ``TPMError``: `noErasureSecret`, `ownerAuthorizationNeeded`, or as every
        ///   visit.
        func destroyErasureSecret(
            at place: ErasurePlace, owner: borrowing SecretBytes
        ) throws(TPMError) {
            let root = try StorageRootKey.current(self)
            let session = try TPMSession(.authorization, saltedWith: root)
            // Undefining it disposes of it.
            let object = try open(place.index, disposal: .keep)
            guard try isOurs(object, place) else { throw error(.noErasureSecret) }
            try setAuthorization(owner, of: ESYS_TR_RH_OWNER)
            do throws(TPMError) {
                try unsafe check(
                    functions.Esys_NV_UndefineSpace(
                        pointer, ESYS_TR_RH_OWNER, object.handle, session.handle, ESYS_TR_NONE,
                        ESYS_TR_NONE))
            } catch {
                throw owned(error)
            }
        }

        private func define(
            _ place: ErasurePlace, _ new: borrowing KeptSecret, _ session: borrowing TPMSession
        ) throws(TPMError) -> TPMObject {
            var area = TPM2B_NV_PUBLIC()
            area.nvPublic.nvIndex = place.index.rawValue
            area.nvPublic.nameAlg = TPMAlgorithm.sha256
            area.nvPublic.attributes = TPMAttributes.erasureSecret
            area.nvPublic.dataSize = UInt16(new.secret.byteCount)
            // No command that these attributes allow asks for a policy: it is there to be read.
            area.nvPublic.authPolicy.size = UInt16(place.mark.count)
            unsafe withUnsafeMutableBytes(of: &area.nvPublic.authPolicy.buffer) {
                unsafe $0.copyBytes(from: place.mark)
            }
            let handle = session.handle
            let value = new.authorization.authorizationStructure
            return try TPMObject(self, .close) { (made) throws(TPMError) in
                try unsafe value.withStructure(TPM2B_AUTH.self) { (value) throws(TPMError) in
                    try unsafe check(
                        functions.Esys_NV_DefineSpace(
                            pointer, ESYS_TR_RH_OWNER, handle, ESYS_TR_NONE, ESYS_TR_NONE, value,
                            &area, &made))
                }
            }
        }

        private func write(
            _ secret: borrowing SecretBytes, to object: borrowing TPMObject,
            _ session: borrowing TPMSession
        ) throws(TPMError) {
            let data = unsafe SecretBytes(as: TPM2B_MAX_NV_BUFFER.self) { data in
                unsafe data.pointee.size = withUnsafeMutableBytes(of: &data.pointee.buffer) {
                    unsafe secret.copy(into: $0)
                }
            }
            let (place, handle) = (object.handle, session.handle)
            try unsafe data.withStructure(TPM2B_MAX_NV_BUFFER.self) { (data) throws(TPMError) in
                try unsafe check(
                    functions.Esys_NV_Write(
                        pointer, place, place, handle, ESYS_TR_NONE, ESYS_TR_NONE, data, 0))
            }
        }

        private func open(
            _ index: NVIndex, disposal: TPMObject.Disposal
        ) throws(TPMError) -> TPMObject {
            guard try hasHandle(index.rawValue) else { throw error(.noErasureSecret) }
            return try TPMObject(self, disposal) { (handle) throws(TPMError) in
                try unsafe check(
                    functions.Esys_TR_FromTPMPublic(
                        pointer, index.rawValue, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &handle))
            }
        }

        /// Whether an index is of the form that we give it, and has our mark.
        private func isOurs(
            _ object: borrowing TPMObject, _ place: ErasurePlace
        ) throws(TPMError) -> Bool {
            let handle = object.handle
            let answer = try unsafe TPMAnswer<TPM2B_NV_PUBLIC>(self) { (area) throws(TPMError) in
                try unsafe check(
                    functions.Esys_NV_ReadPublic(
                        pointer, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &area, nil))
            }
            var area = unsafe answer.pointer.pointee.nvPublic
            let markByteCount = Int(area.authPolicy.size)
            let mark = unsafe withUnsafeBytes(of: &area.authPolicy.buffer) { bytes in
                unsafe Array(bytes.prefix(markByteCount))
            }
            return mark == place.mark && area.nameAlg == TPMAlgorithm.sha256
                && area.dataSize == 32
                && area.attributes & ~TPMAttributes.written == TPMAttributes.erasureSecret
        }

        /// The owner's value may count as a try, or not: it is the owner's that is wrong, either
        /// way.
        private func owned(_ error: TPMError) -> TPMError {
            error.response?.says(.authFail) == true
                ? error.meaning(.ownerAuthorizationNeeded) : error
        }
    }
#endif
