// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSystem

    /// What the TPM says about itself: TPM 2.0 Library part 3, 30.2.
    extension TPMContext {
        /// TPM_PT_PERMANENT and variable properties: part 2, 6.13.
        private enum Property {
            static let permanent: UInt32 = 0x200
            static let lockoutCounter: UInt32 = 0x20e
            static let maxAuthFail: UInt32 = 0x20f
            static let lockoutInterval: UInt32 = 0x210
        }

        /// The state of the TPM's protection against dictionary attacks.
        var dictionaryAttack: DictionaryAttack {
            get throws(SystemError) { try dictionaryAttack(properties()) }
        }

        /// What `valet status` shows.
        var status: TPMStatus {
            get throws(SystemError) {
                let properties = try properties()
                // TPMA_PERMANENT: part 2, 8.6. Bit 2 is lockoutAuthSet.
                let permanent = properties[Property.permanent, default: 0]
                return TPMStatus(
                    dictionaryAttack: try dictionaryAttack(properties),
                    hasPersistentStorageRootKey: try hasHandle(StorageRootKey.persistentHandle),
                    hasLockoutAuthorization: permanent >> 2 & 1 == 1)
            }
        }

        private func dictionaryAttack(
            _ properties: [UInt32: UInt32]
        ) throws(SystemError) -> DictionaryAttack {
            guard let permanent = properties[Property.permanent],
                let failed = properties[Property.lockoutCounter],
                let limit = properties[Property.maxAuthFail],
                let interval = properties[Property.lockoutInterval]
            else { throw error(.malformedAnswer) }
            return DictionaryAttack(
                failedTries: Int(failed), limit: Int(limit), recoveryInterval: .seconds(interval),
                saysLockedOut: permanent >> 9 & 1 == 1)
        }

        private func properties() throws(SystemError) -> [UInt32: UInt32] {
            let answer = try capability(0x6, from: Property.permanent, count: 32)
            let list = unsafe answer.pointer.pointee.data.tpmProperties
            return unsafe withUnsafeBytes(of: list.tpmProperty) { bytes in
                let list = unsafe bytes.bindMemory(to: TPMS_TAGGED_PROPERTY.self)
                    .prefix(Int(list.count))
                return unsafe Dictionary(
                    list.map { ($0.property, $0.value) }, uniquingKeysWith: { first, _ in first })
            }
        }

        /// Whether the TPM has an object at this handle, persistent or not.
        func hasHandle(_ handle: TPM2_HANDLE) throws(SystemError) -> Bool {
            let answer = try capability(0x1, from: handle, count: 1)
            let list = unsafe answer.pointer.pointee.data.handles
            return list.count > 0 && list.handle.0 == handle
        }

        /// Checks that the TPM's SHA-256 bank has all of the registers.
        ///
        /// - Throws: ``SystemError/Code/pcrsUnavailable``: a policy on a missing register would
        ///   always hold.
        func check(_ pcrs: PCRSelection) throws(SystemError) {
            let answer = try capability(0x5, from: 0, count: 1)
            let list = unsafe answer.pointer.pointee.data.assignedPCR
            let kept = unsafe withUnsafeBytes(of: list.pcrSelections) { bytes in
                unsafe bytes.bindMemory(to: TPMS_PCR_SELECTION.self).prefix(Int(list.count))
                    .filter { $0.hash == TPMAlgorithm.sha256 }
                    .reduce(UInt32(0)) { bits, bank in
                        let select = bank.pcrSelect
                        return bits | UInt32(select.0) | UInt32(select.1) << 8
                            | UInt32(select.2) << 16
                    }
            }
            guard pcrs.bits & ~kept == 0 else { throw error(.pcrsUnavailable) }
        }

        private func capability(
            _ capability: TPM2_CAP, from property: UInt32, count: UInt32
        ) throws(SystemError) -> TPMAnswer<TPMS_CAPABILITY_DATA> {
            try unsafe TPMAnswer(self) { (data) throws(SystemError) in
                var hasMore = TPMI_YES_NO()
                try unsafe check(
                    functions.Esys_GetCapability(
                        pointer, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, capability, property,
                        count,
                        &hasMore, &data))
            }
        }
    }
#endif
