// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSystem

    /// A session whose key only this process and the TPM with the storage root key know. It
    /// encrypts secrets (AES-128 in CFB), so that an attacker on the bus cannot read them.
    ///
    /// TCG: TPM 2.0 Library part 1, 19.6 and 21.
    @safe struct TPMSession: ~Copyable {
        enum Kind {
            /// Proves knowledge of an authorization value.
            case authorization
            /// Fulfils a policy.
            case policy
            /// Computes the digest of a policy.
            case trial

            fileprivate var rawValue: TPM2_SE {
                switch self {
                case .authorization: TPM2_SE(0x00)
                case .policy: TPM2_SE(0x01)
                case .trial: TPM2_SE(0x03)
                }
            }
        }

        private let object: TPMObject
        private var context: TPMContext { object.context }
        /// The ESYS handle of the session.
        var handle: ESYS_TR { object.handle }

        /// Begins a session that is salted with the storage root key.
        init(_ kind: Kind, saltedWith root: borrowing StorageRootKey) throws(SystemError) {
            let (context, key) = (root.object.context, root.object.handle)
            let made = try TPMObject(context, .flush) { (handle) throws(SystemError) in
                var symmetric = TPMT_SYM_DEF()
                symmetric.algorithm = TPMAlgorithm.aes
                unsafe symmetric.keyBits.aes = 128
                unsafe symmetric.mode.aes = TPMAlgorithm.cfb
                try unsafe context.check(
                    context.functions.Esys_StartAuthSession(
                        context.pointer, key, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                        ESYS_TR_NONE,
                        nil, kind.rawValue, &symmetric, TPMAlgorithm.sha256, &handle))
            }
            // continueSession, decrypt and encrypt: part 2, 8.4.
            let attributes: TPMA_SESSION = 0x01 | 0x20 | 0x40
            try unsafe context.check(
                context.functions.Esys_TRSess_SetAttributes(
                    context.pointer, made.handle, attributes, 0xff))
            object = made
        }

        /// Adds the current values of the PCRs to the policy of the session: PolicyPCR.
        func bind(to pcrs: PCRSelection) throws(SystemError) {
            var selection = pcrs.structure
            try unsafe context.check(
                context.functions.Esys_PolicyPCR(
                    context.pointer, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil,
                    &selection))
        }

        /// The digest of the policy commands that this session has run.
        var policyDigest: [UInt8] {
            get throws(SystemError) {
                let answer = try unsafe TPMAnswer<TPM2B_DIGEST>(context) {
                    (digest) throws(SystemError) in
                    try unsafe context.check(
                        context.functions.Esys_PolicyGetDigest(
                            context.pointer, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                            &digest))
                }
                let byteCount = unsafe Int(answer.pointer.pointee.size)
                return unsafe withUnsafeBytes(of: &answer.pointer.pointee.buffer) { bytes in
                    unsafe Array(bytes.prefix(byteCount))
                }
            }
        }
    }

    extension PCRSelection {
        /// ESYS's structure of the selection.
        fileprivate var structure: TPML_PCR_SELECTION {
            var list = TPML_PCR_SELECTION()
            list.count = 1
            list.pcrSelections.0.hash = TPMAlgorithm.sha256
            list.pcrSelections.0.sizeofSelect = 3
            list.pcrSelections.0.pcrSelect.0 = UInt8(truncatingIfNeeded: bits)
            list.pcrSelections.0.pcrSelect.1 = UInt8(truncatingIfNeeded: bits >> 8)
            list.pcrSelections.0.pcrSelect.2 = UInt8(truncatingIfNeeded: bits >> 16)
            return list
        }
    }

    /// Numbers of algorithms: TCG Algorithm Registry, 6.10. Their macros are casts, which Swift
    /// does not import.
    enum TPMAlgorithm {
        static let aes: UInt16 = 0x0006
        static let keyedHash: UInt16 = 0x0008
        static let sha256: UInt16 = 0x000b
        static let null: UInt16 = 0x0010
        static let ecc: UInt16 = 0x0023
        static let cfb: UInt16 = 0x0043
    }
#endif
