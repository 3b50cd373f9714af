// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync

/// Where the circle of this keychain keeps its bytes: a note in the keychain, which `valet sync
/// create` and `join` write. The program opens the store that it names.
package enum StoreAddress: Hashable, Sendable {
    /// A folder, by its absolute path.
    case folder(String)
    /// An etcd cluster.
    case etcd(EtcdPlace)

    /// The text that `status` shows. It has no secrets: the password of the user is an item.
    package var text: String {
        switch self {
        case .folder(let path): path
        case .etcd(let address): address.list
        }
    }
}

/// The servers of an etcd cluster, and the files that authenticate both sides.
package struct EtcdPlace: Hashable, Sendable {
    /// The addresses of the servers, as given, with commas between them.
    package let list: String
    /// The file with the certificate that has signed those of the servers.
    package var authority: String?
    /// The file with the certificate of this device.
    package var certificate: String?
    /// The file with the key of that certificate.
    package var key: String?
    /// The name of the user.
    package var user: String?

    /// Whether addresses that protect nothing are accepted.
    package var allowsPlainText = false

    /// Servers without files and users.
    package init(list: String) { self.list = list }
}

extension StoreAddress {
    private static let version: UInt8 = 1
    private static let plainText = "http"

    /// The bytes of the note.
    package var bytes: [UInt8] {
        switch self {
        case .folder(let path): return [UInt8](fields: Self.version, 1 as UInt8, path)
        case .etcd(let address):
            let options = [address.authority, address.certificate, address.key, address.user]
            // An option that is given is never empty.
            let texts =
                options.map { $0 ?? "" } + [address.list]
                + [address.allowsPlainText ? Self.plainText : ""]
            return [Self.version, 2] + texts.flatMap { [UInt8](fields: $0) }
        }
    }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        guard try reader.integer(UInt8.self) == Self.version else { throw reader.malformed }
        let kind = try reader.integer(UInt8.self)
        var texts: [String] = []
        while !reader.isAtEnd { texts.append(try String(from: &reader)) }
        switch kind {
        case 1 where texts.count == 1: self = .folder(texts[0])
        case 2 where texts.count == 6:
            let options = texts.prefix(4).map { $0.isEmpty ? nil : $0 }
            var address = EtcdPlace(list: texts[4])
            (address.authority, address.certificate) = (options[0], options[1])
            (address.key, address.user) = (options[2], options[3])
            address.allowsPlainText = texts[5] == Self.plainText
            self = .etcd(address)
        default: throw reader.malformed
        }
    }
}

/// This device's names for the others: a note in the keychain. A sponsor takes the name that a
/// device gives itself; `valet sync devices rename` changes it.
package struct DeviceNames: Hashable, Sendable {
    package var names: [DeviceID: String] = [:]

    /// No names.
    package init() {}

    /// The bytes of the note.
    package var bytes: [UInt8] {
        names.sorted { $0.key < $1.key }.flatMap { [UInt8](fields: $0.key, $0.value) }
    }

    /// Reads ``bytes``; nil and anything else have no names.
    package init(parsing bytes: [UInt8]?) {
        var reader = ByteReader(bytes ?? [], of: .member)
        do {
            while !reader.isAtEnd {
                let (device, name) = try reader.fields(DeviceID.self, String.self)
                names[device] = name
            }
        } catch {
            names = [:]
        }
    }
}

extension NoteName {
    /// ``StoreAddress``.
    package static let address = NoteName("address")
    /// ``DeviceNames``.
    package static let names = NoteName("names")
    /// The circle that this keychain has left, whose replica it has kept.
    package static let left = NoteName("left")
    /// The circle that this keychain is moving to.
    static let move = NoteName("move")
    /// The recovery member's id, and the public half of the recovery key that it was made from.
    package static let recovery = NoteName("recovery")
    /// Anything: a person has paused sync.
    package static let paused = NoteName(Keychain.SyncNote.paused.rawValue)
}
