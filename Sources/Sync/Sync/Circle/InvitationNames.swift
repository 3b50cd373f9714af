// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// P5: the names that the sponsor of an invitation has for the devices of its circle. docs/SYNC.md
/// §6.
///
/// It follows the joiner's yes, and nothing depends on it. The sponsor signs it together with the
/// mails before it: otherwise anybody who has seen the invitation could seal names.
package struct InvitationNames: Hashable, Sendable {
    /// The most bytes of a plaintext: that of the longest mail, with its padding.
    private static let maximalByteCount = 2 * 256 - 1

    package let names: [DeviceID: String]

    /// The names of as many devices as fit, the sponsor's first.
    package init(_ all: [DeviceID: String], sponsor: DeviceID) {
        var room = Self.maximalByteCount - Signature.byteCount - 1
        var names: [DeviceID: String] = [:]
        let others = all.filter { $0.key != sponsor }.sorted { $0.key < $1.key }
        for (device, name) in all.filter({ $0.key == sponsor }).map({ $0 }) + others {
            let byteCount = 16 + 1 + name.utf8.count
            guard byteCount <= room, !name.isEmpty,
                name.utf8.count <= InvitationRequest.maximalNameByteCount
            else { continue }
            room -= byteCount
            names[device] = name
        }
        self.names = names
    }

    /// The plaintext of P5.
    func plaintext(
        after transcript: Digest, signedBy pair: borrowing SigningPair
    ) -> [UInt8] {
        var list = [UInt8(names.count)]
        for (device, name) in names.sorted(by: { $0.key < $1.key }) {
            list += device.bytes + [UInt8(name.utf8.count)] + name.utf8
        }
        let signed = transcript.bytes + list
        return pair.signature(.syncNames, of: signed.span).bytes + list
    }

    /// Reads P5.
    ///
    /// - Throws: ``SyncError``: `malformed`: `form`, `limit`, `order`; `tampered`, `signature`.
    init(
        parsing plaintext: [UInt8], after transcript: Digest, signedBy sponsor: Member
    ) throws(SyncError) {
        var reader = ByteReader(plaintext, of: .mail)
        let signature: Signature = try reader.fixedBytes()
        let signed = transcript.bytes + plaintext.dropFirst(Signature.byteCount)
        guard signature.isValid(.syncNames, of: signed.span, by: sponsor.signU) else {
            throw .mail(.tampered, .signature)
        }
        var names: [DeviceID: String] = [:]
        var last: DeviceID?
        for _ in 0..<(try reader.integer(UInt8.self)) {
            let device = try DeviceID(from: &reader)
            guard last.map({ $0 < device }) ?? true else {
                throw .mail(.malformed, .order)
            }
            last = device
            let byteCount = try reader.integer(UInt8.self)
            guard byteCount > 0, byteCount <= InvitationRequest.maximalNameByteCount else {
                throw .mail(.malformed, .limit)
            }
            guard let name = String(utf8: try reader.bytes(Int(byteCount))) else {
                throw reader.malformed
            }
            names[device] = name
        }
        try reader.finish()
        self.names = names
    }
}
