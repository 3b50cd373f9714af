// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import Glibc
    internal import ValetCTPM2
    internal import ValetSystem
    internal import ValetSealing

    /// One connection of ESYS to a TPM, for one call of ``TPMDevice``. Objects and sessions keep it
    /// alive.
    @safe final class TPMContext {
        let operation: String
        let functions: valet_tpm_functions
        /// ESYS's context.
        let pointer: OpaquePointer
        private let transport: TPMTransport

        /// Loads tpm2-tss and opens the connection to the TPM.
        ///
        /// - Throws: ``SystemError``: `libraryAbsent`, or what ``TPMChannel`` throws.
        init(
            _ device: TPMDevice, during operation: String, until deadline: Deadline
        ) throws(SystemError) {
            self.operation = operation
            functions = try TPMLibrary.load(device.libraries, during: operation)
            transport = try TPMTransport(
                TPMChannel(device.place, during: operation, until: deadline))
            var made: OpaquePointer?
            let code = unsafe functions.Esys_Initialize(
                &made, OpaquePointer(transport.pointer), nil)
            guard code == 0, let made = unsafe made else {
                throw SystemError.tpm(TPMResponse(code), during: operation)
            }
            unsafe pointer = made
        }

        deinit {
            var ending: OpaquePointer? = unsafe pointer
            unsafe functions.Esys_Finalize(&ending)
        }

        /// Checks a return code of tpm2-tss; every one goes through here.
        ///
        /// - Throws: ``SystemError``, decoded, for all but success.
        func check(_ code: TSS2_RC) throws(SystemError) {
            guard code != 0 else { return }
            if let failure = transport.failure { throw failure }
            throw SystemError.tpm(TPMResponse(code), during: operation)
        }

        /// An error of this call.
        func error(_ code: SystemError.Code) -> SystemError {
            .tpm(code, during: operation)
        }
    }

    /// Loading tpm2-tss.
    enum TPMLibrary {
        /// Loads the libraries and finds every function that is called.
        ///
        /// They stay loaded: state of threads and of OpenSSL outlives a call.
        /// - Throws: ``SystemError/Code/libraryAbsent``, also for one that lacks a function.
        static func load(
            _ names: TPMDevice.Libraries, during operation: String
        ) throws(SystemError) -> valet_tpm_functions {
            guard let esys = DynamicLibrary(names.esys) else {
                throw SystemError.tpm(.libraryAbsent(names.esys), during: operation)
            }
            guard let marshalling = DynamicLibrary(names.marshalling) else {
                throw SystemError.tpm(.libraryAbsent(names.marshalling), during: operation)
            }
            var functions = valet_tpm_functions()
            if unsafe valet_find_tpm_functions(&functions, esys.handle, marshalling.handle) != nil {
                throw SystemError.tpm(.libraryAbsent(names.esys), during: operation)
            }
            return functions
        }
    }

    /// A structure that ESYS allocated. It is wiped before it is freed: some hold secrets.
    @safe struct TPMAnswer<Structure>: ~Copyable {
        let pointer: UnsafeMutablePointer<Structure>
        private let context: TPMContext

        /// Makes the call, which stores the address of the structure.
        ///
        /// - Throws: ``SystemError``, if the call fails or gives nothing.
        init(
            _ context: TPMContext,
            _ call: (inout UnsafeMutablePointer<Structure>?) throws(SystemError) -> Void
        ) throws(SystemError) {
            var made: UnsafeMutablePointer<Structure>?
            try unsafe call(&made)
            guard let made = unsafe made else { throw context.error(.malformedAnswer) }
            unsafe pointer = made
            self.context = context
        }

        deinit {
            unsafe explicit_bzero(pointer, MemoryLayout<Structure>.size)
            unsafe context.functions.Esys_Free(pointer)
        }
    }

    /// Converts areas of objects to bytes and back, with tpm2-tss's code.
    extension TPMContext {
        func marshal(_ area: borrowing TPMAnswer<TPM2B_PUBLIC>) throws(SystemError) -> [UInt8] {
            try unsafe bytes { (bytes, room, offset) throws(SystemError) in
                try unsafe check(
                    functions.Tss2_MU_TPM2B_PUBLIC_Marshal(area.pointer, bytes, room, &offset))
            }
        }

        func marshal(_ area: borrowing TPMAnswer<TPM2B_PRIVATE>) throws(SystemError) -> [UInt8] {
            try unsafe bytes { (bytes, room, offset) throws(SystemError) in
                try unsafe check(
                    functions.Tss2_MU_TPM2B_PRIVATE_Marshal(area.pointer, bytes, room, &offset))
            }
        }

        /// The public area of a sealed object, if it has the form that this module makes.
        ///
        /// - Throws: ``SystemError/Code/malformed`` for another form.
        func publicArea(of object: SealedObject) throws(SystemError) -> TPM2B_PUBLIC {
            var (area, offset) = (TPM2B_PUBLIC(), 0)
            let bytes = object.publicArea
            let code = unsafe functions.Tss2_MU_TPM2B_PUBLIC_Unmarshal(
                bytes, bytes.count, &offset, &area)
            let attributes = area.publicArea.objectAttributes
            guard code == 0, offset == bytes.count, area.publicArea.type == TPMAlgorithm.keyedHash,
                area.publicArea.nameAlg == TPMAlgorithm.sha256,
                object.pcrs.isEmpty == (attributes != TPMAttributes.boundDeviceSecret)
            else { throw error(.malformed) }
            return area
        }

        /// The private area of a sealed object.
        ///
        /// - Throws: ``SystemError/Code/malformed``.
        func privateArea(of object: SealedObject) throws(SystemError) -> TPM2B_PRIVATE {
            var (area, offset) = (TPM2B_PRIVATE(), 0)
            let bytes = object.privateArea
            let code = unsafe functions.Tss2_MU_TPM2B_PRIVATE_Unmarshal(
                bytes, bytes.count, &offset, &area)
            guard code == 0, offset == bytes.count else { throw error(.malformed) }
            return area
        }

        private func bytes(
            _ marshal: (UnsafeMutablePointer<UInt8>?, Int, inout Int) throws(SystemError) -> Void
        ) throws(SystemError) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: TPMChannel.maximalByteCount)
            var offset = 0
            try unsafe marshal(&bytes, bytes.count, &offset)
            return Array(bytes[..<offset])
        }
    }

    /// Copies secrets into ESYS's structures and out of them.
    extension TPMContext {
        /// Makes ESYS use this authorization value for the handle from now on. An empty value wipes
        /// the one before.
        func setAuthorization(
            _ value: borrowing SecretBytes, of handle: ESYS_TR
        ) throws(SystemError) {
            try unsafe value.authorizationStructure.withStructure(TPM2B_AUTH.self) {
                (value) throws(SystemError) in
                try unsafe check(functions.Esys_TR_SetAuth(pointer, handle, value))
            }
        }

        /// Copies the first `byteCount` bytes of a structure's field into guarded memory.
        func copy<Field>(
            _ byteCount: UInt16, of field: inout Field
        ) throws(SystemError) -> SecretBytes {
            guard Int(byteCount) <= MemoryLayout<Field>.size else { throw error(.malformedAnswer) }
            return unsafe withUnsafeBytes(of: &field) { bytes in
                let used = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(byteCount)])
                return unsafe SecretBytes(copying: used.bindMemory(to: UInt8.self).span)
            }
        }
    }

    /// Structures of tpm2-tss that hold secrets, in guarded memory.
    extension SecretBytes {
        /// Makes a structure of zeros and calls `body` to fill it in.
        init<Structure>(
            as type: Structure.Type, _ body: (UnsafeMutablePointer<Structure>) -> Void
        ) {
            self.init(byteCount: MemoryLayout<Structure>.stride)
            withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { bytes in
                    // Secrets are aligned to 64 bytes, more than any structure needs.
                    guard let start = bytes.baseAddress else { return }
                    unsafe body(start.bindMemory(to: type, capacity: 1))
                }
            }
        }

        /// Lends the structure that the initialiser made.
        func withStructure<Structure>(
            _ type: Structure.Type,
            _ body: (UnsafePointer<Structure>) throws(SystemError) -> Void
        ) throws(SystemError) {
            try withBytes { (bytes) throws(SystemError) in
                try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemError) in
                    guard let start = bytes.baseAddress else { return }
                    try unsafe body(start.bindMemory(to: type, capacity: 1))
                }
            }
        }

        /// Copies these bytes into a field, which must be large enough.
        func copy(into field: UnsafeMutableRawBufferPointer) -> UInt16 {
            precondition(byteCount <= field.count, "a secret that has no room in its structure")
            withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in unsafe field.copyMemory(from: bytes) }
            }
            return UInt16(byteCount)
        }

        /// These bytes as ESYS's structure of an authorization value.
        var authorizationStructure: SecretBytes {
            unsafe SecretBytes(as: TPM2B_AUTH.self) { value in
                unsafe value.pointee.size = withUnsafeMutableBytes(of: &value.pointee.buffer) {
                    unsafe copy(into: $0)
                }
            }
        }
    }
#endif
