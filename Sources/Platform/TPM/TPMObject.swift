// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSystem

    /// The parent key of our objects: the persistent one if the machine has it, else one made from
    /// the TCG's template, which is the same each time until the TPM is cleared.
    ///
    /// TCG: TPM v2.0 Provisioning Guidance, 7.5.1.
    @safe struct StorageRootKey: ~Copyable {
        static let persistentHandle: TPM2_HANDLE = 0x8100_0001

        /// The key.
        let object: TPMObject
        /// Its Name, by which objects recognise it.
        let name: [UInt8]

        private init(_ object: consuming TPMObject) throws(SystemError) {
            name = try object.name
            self.object = object
        }

        /// The key to make new objects under.
        static func current(_ context: TPMContext) throws(SystemError) -> StorageRootKey {
            if let key = try persistent(context) { return key }
            return try template(context)
        }

        /// The key with this Name, persistent or from the template.
        ///
        /// - Throws: ``SystemError/Code/otherTPM`` if the TPM does not have it.
        static func named(
            _ name: [UInt8], _ context: TPMContext
        ) throws(SystemError) -> StorageRootKey {
            if let key = try persistent(context), key.name == name { return key }
            let key = try template(context)
            guard key.name == name else { throw context.error(.otherTPM) }
            return key
        }

        private static func persistent(
            _ context: TPMContext
        ) throws(SystemError) -> StorageRootKey? {
            guard try context.hasHandle(persistentHandle) else { return nil }
            let object = try TPMObject(context, .close) { (handle) throws(SystemError) in
                try unsafe context.check(
                    context.functions.Esys_TR_FromTPMPublic(
                        context.pointer, persistentHandle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                        &handle))
            }
            return try StorageRootKey(object)
        }

        private static func template(_ context: TPMContext) throws(SystemError) -> StorageRootKey {
            let object = try TPMObject(context, .flush) { (handle) throws(SystemError) in
                var area = publicArea
                var (sensitive, data) = (TPM2B_SENSITIVE_CREATE(), TPM2B_DATA())
                var pcrs = TPML_PCR_SELECTION()
                try unsafe context.check(
                    context.functions.Esys_CreatePrimary(
                        context.pointer, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE,
                        ESYS_TR_NONE, &sensitive, &area, &data, &pcrs, &handle, nil, nil, nil, nil))
            }
            return try StorageRootKey(object)
        }

        /// ECC P-256 for storage, with a unique field of zeros.
        private static var publicArea: TPM2B_PUBLIC {
            var area = TPM2B_PUBLIC()
            area.publicArea.type = TPMAlgorithm.ecc
            area.publicArea.nameAlg = TPMAlgorithm.sha256
            area.publicArea.objectAttributes = TPMAttributes.storageRootKey
            unsafe area.publicArea.parameters.eccDetail.symmetric.algorithm = TPMAlgorithm.aes
            unsafe area.publicArea.parameters.eccDetail.symmetric.keyBits.aes = 128
            unsafe area.publicArea.parameters.eccDetail.symmetric.mode.aes = TPMAlgorithm.cfb
            unsafe area.publicArea.parameters.eccDetail.scheme.scheme = TPMAlgorithm.null
            unsafe area.publicArea.parameters.eccDetail.curveID = 0x0003
            unsafe area.publicArea.parameters.eccDetail.kdf.scheme = TPMAlgorithm.null
            unsafe area.publicArea.unique.ecc.x.size = 32
            unsafe area.publicArea.unique.ecc.y.size = 32
            return area
        }
    }

    /// TPMA_OBJECT: TPM 2.0 Library part 2, 8.3.
    enum TPMAttributes {
        private static let fixedTPM: UInt32 = 1 << 1
        private static let fixedParent: UInt32 = 1 << 4
        private static let sensitiveDataOrigin: UInt32 = 1 << 5
        private static let userWithAuth: UInt32 = 1 << 6
        private static let noDA: UInt32 = 1 << 10
        private static let restricted: UInt32 = 1 << 16
        private static let decrypt: UInt32 = 1 << 17

        static let storageRootKey =
            fixedTPM | fixedParent | sensitiveDataOrigin | userWithAuth | noDA | restricted
            | decrypt
        /// Every user of the TPM may unseal it.
        static let deviceSecret = fixedTPM | fixedParent | userWithAuth | noDA
        /// Only a policy unseals it.
        static let boundDeviceSecret = fixedTPM | fixedParent | noDA
        /// Wrong guesses count.
        static let passcodeSecret = fixedTPM | fixedParent | userWithAuth
    }

    /// A handle of ESYS, and how it is released.
    @safe struct TPMObject: ~Copyable {
        /// How a handle is released.
        enum Disposal {
            /// The TPM removes the object: it has room for only three.
            case flush
            /// The object stays in the TPM; ESYS forgets it.
            case close
        }

        /// The connection that it belongs to.
        let context: TPMContext
        /// ESYS's number for it, not the TPM's.
        let handle: ESYS_TR
        private let disposal: Disposal

        /// Takes over the handle that the call makes.
        ///
        /// - Throws: The error of the call; then there is nothing to release.
        init(
            _ context: TPMContext, _ disposal: Disposal,
            _ call: (inout ESYS_TR) throws(SystemError) -> Void
        ) throws(SystemError) {
            var handle = ESYS_TR_NONE
            try call(&handle)
            self.context = context
            self.handle = handle
            self.disposal = disposal
        }

        // A failure cannot be reported, and nothing could be done: the channel is broken then, and
        // a resource manager removes the objects of its client.
        deinit {
            switch disposal {
            case .flush: unsafe _ = context.functions.Esys_FlushContext(context.pointer, handle)
            case .close:
                var closing = handle
                unsafe _ = context.functions.Esys_TR_Close(context.pointer, &closing)
            }
        }

        /// The Name: the algorithm and the digest of the public area.
        var name: [UInt8] {
            get throws(SystemError) {
                let answer = try unsafe TPMAnswer<TPM2B_NAME>(context) {
                    (name) throws(SystemError) in
                    try unsafe context.check(
                        context.functions.Esys_TR_GetName(context.pointer, handle, &name))
                }
                let byteCount = unsafe Int(answer.pointer.pointee.size)
                return unsafe withUnsafeBytes(of: &answer.pointer.pointee.name) { bytes in
                    unsafe Array(bytes.prefix(byteCount))
                }
            }
        }
    }
#endif
