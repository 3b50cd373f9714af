// SPDX-License-Identifier: Apache-2.0

#if TPM
    internal import ValetCTPM2
    internal import ValetSystem

    /// A ``TPMChannel`` in the form that ESYS calls: TSS 2.0 TCTI, 3.2.
    @safe final class TPMTransport {
        /// The structure for ESYS; it lives as long as this object.
        let pointer: UnsafeMutablePointer<valet_tcti>
        /// Why the channel failed, which ESYS cannot express.
        private(set) var failure: SystemError?
        private let channel: TPMChannel
        private var command: [UInt8] = []
        private var kept: [UInt8]?

        init(_ channel: TPMChannel) {
            self.channel = channel
            unsafe pointer = .allocate(capacity: 1)
            unsafe pointer.initialize(to: valet_tcti())
            // The magic number is any but 0. Version 1 has no more functions than these.
            unsafe pointer.pointee.common.magic = 0x5641_4c45_5454_504d
            unsafe pointer.pointee.common.version = 1
            unsafe pointer.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
            unsafe pointer.pointee.common.transmit = { context, byteCount, bytes in
                guard let owner = unsafe TPMTransport.owner(of: context), let bytes = unsafe bytes
                else { return TPMTransport.badReference }
                owner.kept = nil
                unsafe owner.command = Array(UnsafeBufferPointer(start: bytes, count: byteCount))
                return 0
            }
            unsafe pointer.pointee.common.receive = { context, byteCount, bytes, _ in
                guard let owner = unsafe TPMTransport.owner(of: context),
                    let byteCount = unsafe byteCount
                else { return TPMTransport.badReference }
                return unsafe owner.receive(into: bytes, &byteCount.pointee)
            }
            unsafe pointer.pointee.common.finalize = { _ in }
            unsafe pointer.pointee.common.cancel = { _ in TPMTransport.notImplemented }
            unsafe pointer.pointee.common.getPollHandles = { _, _, _ in TPMTransport.notImplemented
            }
            unsafe pointer.pointee.common.setLocality = { _, _ in TPMTransport.notImplemented }
        }

        deinit { unsafe pointer.deallocate() }

        private static let badReference: UInt32 = 0xa_0005
        private static let notImplemented: UInt32 = 0xa_0002
        private static let insufficientBuffer: UInt32 = 0xa_0006
        private static let inputOutput: UInt32 = 0xa_000a

        private static func owner(of context: OpaquePointer?) -> TPMTransport? {
            guard let context = unsafe UnsafeMutablePointer<valet_tcti>(context),
                let owner = unsafe context.pointee.owner
            else { return nil }
            return unsafe Unmanaged<TPMTransport>.fromOpaque(owner).takeUnretainedValue()
        }

        /// Without `bytes`, sets the length only, and keeps the answer for the next call.
        private func receive(
            into bytes: UnsafeMutablePointer<UInt8>?, _ byteCount: inout Int
        ) -> UInt32 {
            // After a failure, an answer could belong to an earlier command: nothing more is sent.
            guard failure == nil else { return Self.inputOutput }
            do {
                let answer = if let kept { kept } else { try channel.exchange(command) }
                kept = answer
                let room = byteCount
                byteCount = answer.count
                guard let bytes = unsafe bytes else { return 0 }
                guard answer.count <= room else { return Self.insufficientBuffer }
                unsafe bytes.update(from: answer, count: answer.count)
                kept = nil
                return 0
            } catch {
                failure = error
                return Self.inputOutput
            }
        }
    }
#endif
