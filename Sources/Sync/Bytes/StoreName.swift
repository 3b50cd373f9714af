// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing

/// What something is called in a folder that devices share: docs/SYNC.md §7.
///
/// A name has a hash of the bytes, so that equal names mean equal bytes, and no tool that copies
/// the folder overwrites anything.
package enum StoreName: Hashable, Sendable {
    /// A roster entry, by its number.
    case rosterEntry(UInt32)
    /// A message of a device.
    case message(DeviceID, KeyScope, MessageName)
    /// A part of a base, by its index.
    case part(DeviceID, KeyScope, MessageName, index: UInt32)
    /// A mail.
    case mail(MailboxID, Mail.Step)

    /// The path below the circle's folder, or, of a mail, below the folder of all circles.
    package func path(of bytes: [UInt8]) -> String {
        let digest = UnkeyedHash.digest(.syncFile) { $0.append(bytes) }
        let hash = hexadecimal(SyncHash(digest).half(as: MailboxID.self).bytes)
        switch self {
        case .rosterEntry(let number): return "roster/\(digits(UInt64(number)))-\(hash)"
        case .message(let device, let scope, let name):
            return "\(folder(device, scope, name.log))/\(digits(name.number))-\(hash)"
        case .part(let device, let scope, let name, let index):
            return "\(folder(device, scope, name.log))/"
                + "\(digits(name.number)).\(digits(UInt64(index)))-\(hash)"
        case .mail(let mailbox, let step):
            return "join/\(hexadecimal(mailbox.bytes))/\(digits(UInt64(step.rawValue)))-\(hash)"
        }
    }

    /// The bytes of the file `circle`, without which a folder is not mounted.
    package static func circleFile(_ circle: CircleID) -> [UInt8] {
        var bytes = Array("VALETCIR".utf8)
        bytes.append(bigEndian: MessageFormat.version)
        return bytes + circle.bytes
    }

    private func folder(_ device: DeviceID, _ scope: KeyScope, _ log: LogID) -> String {
        let letter = scope == .afterFirstUnlock ? "f" : "u"
        return "\(hexadecimal(device.bytes))/\(letter)/\(hexadecimal(log.bytes))"
    }

    private func digits(_ number: UInt64) -> String {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        return hexadecimal(bytes)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }
}
