// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// A keybag with what opens it.
struct TestKeybag {
    static let settings = [UInt8](0..<44)

    let deviceSecret: [UInt8]
    let locked: LockedKeybag

    init(
        epoch: Epoch = Epoch(1), source: DeviceKeySource = .ownFile,
        deviceSecret: [UInt8] = Randomness.bytes(32)
    ) throws {
        self.deviceSecret = deviceSecret
        locked = LockedKeybag(
            keychainID: .random(), epoch: epoch, deviceSource: source,
            protector: try Self.protector(deviceSecret), settings: Self.settings)
    }

    static func protector(_ secret: [UInt8]) throws -> Protector {
        Protector(try DeviceSecret(copying: secret.span))
    }

    /// Opens `keybag`, by default with the right secret and settings.
    func unlock(
        _ keybag: LockedKeybag, secret: [UInt8]? = nil, settings: [UInt8] = settings
    ) throws -> UnlockedKeybag {
        try keybag.unlock(with: Self.protector(secret ?? deviceSecret), settings: settings)
    }

    /// The code that opening changed bytes ends with; nil if they open.
    func code(opening bytes: [UInt8]) -> KeybagFault? {
        do {
            _ = try unlock(LockedKeybag(parsing: bytes))
            return nil
        } catch {
            return (error as? KeychainFailure)?.fault
        }
    }

    /// The keybag with other records and a MAC that a holder of the root key made for them.
    func resealed(_ change: (inout [KeybagTag: [UInt8]]) -> Void) throws -> LockedKeybag {
        var changed = locked
        change(&changed.records)
        let root = try Self.protector(deviceSecret).rootKey(of: locked)
        changed.mac = changed.authenticationCode(root: root, settings: Self.settings)
        return changed
    }
}

/// The bytes of a keybag, put together by hand.
struct RawKeybag {
    var head: [UInt8]
    var count: UInt16
    var records: [(tag: UInt16, body: [UInt8])]
    var tail = [UInt8](repeating: 7, count: 32)

    /// 52 bytes of head, then two for the count.
    static let headByteCount = 52

    init(_ keybag: LockedKeybag, _ records: [(tag: UInt16, body: [UInt8])]) {
        head = Array(keybag.encoded.prefix(Self.headByteCount))
        count = UInt16(records.count)
        self.records = records
    }

    var bytes: [UInt8] {
        var bytes = head
        bytes.append(bigEndian: count)
        for (tag, body) in records {
            bytes.append(bigEndian: tag)
            bytes.append(bigEndian: UInt32(body.count))
            bytes += body
        }
        return bytes + tail
    }
}
