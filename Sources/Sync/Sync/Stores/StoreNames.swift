// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The names in a store: docs/SYNC.md §7. Folders and etcd use the same names.
///
/// Where a name has a hash of the bytes, equal names mean equal bytes, so that no tool that copies
/// a folder overwrites anything.
package enum StoreNames {
    package static let roster = "roster"
    package static let mailboxes = "join"
    package static let mark = "circle"

    /// The bytes of the mark, without which a store has no circle.
    package static func markBytes(of circle: CircleID) -> [UInt8] {
        Array("VALETCIR".utf8) + [UInt8](fields: MessageFormat.version, circle)
    }

    package static func text<Name>(_ id: SyncBytes<Name>) -> String { Hexadecimal.text(id.bytes) }

    package static func text(_ scope: KeyScope) -> String { scope == .afterFirstUnlock ? "f" : "u" }

    package static func folders(of place: StorePlace) -> [String] {
        switch place {
        case .roster(let circle): [text(circle), roster]
        case .log(let log): [text(log.circle), text(log.device), text(log.scope), text(log.log)]
        }
    }

    /// The name of a file in its place: `<number>` or `<number>.<part>`, followed by `-<hash>` if
    /// the name has a hash.
    package static func text(_ name: StoredName) -> String {
        var text = digits(name.number)
        if let part = name.part { text += "." + digits(UInt64(part)) }
        if let hash = name.hash { text += "-" + Hexadecimal.text(hash.bytes) }
        return text
    }

    package static func hash(of bytes: [UInt8]) -> FileHash {
        SyncHash(UnkeyedHash.digest(.syncFile) { $0.append(bytes) }).half()
    }

    package static func name(of mail: StoredMail) -> StoredName {
        StoredName(number: UInt64(mail.step.rawValue), part: nil, hash: hash(of: mail.bytes))
    }

    /// Reads the name of a file.
    ///
    /// - Returns: Nil unless it is exactly what ``text(_:)-(StoredName)`` writes.
    package static func name(_ text: Span<UInt8>, hasHash: Bool) -> StoredName? {
        var rest = text
        guard let number = takeNumber(&rest), number > 0 else { return nil }
        var part: UInt32?
        if rest.isEmpty ? false : rest[0] == UInt8(ascii: ".") {
            rest = rest.extracting(droppingFirst: 1)
            guard let index = takeNumber(&rest).flatMap(UInt32.init(exactly:)) else { return nil }
            part = index
        }
        guard hasHash else {
            return rest.isEmpty ? StoredName(number: number, part: part, hash: nil) : nil
        }
        guard rest.count == 33, rest[0] == UInt8(ascii: "-"),
            let hash = id(rest.extracting(droppingFirst: 1), as: FileHash.self)
        else { return nil }
        return StoredName(number: number, part: part, hash: hash)
    }

    /// Reads an id of 32 lower-case hexadecimal digits; nil for anything else.
    package static func id<Name>(
        _ text: Span<UInt8>, as kind: SyncBytes<Name>.Type
    ) -> SyncBytes<Name>? {
        var rest = text
        guard text.count == 32, let high = takeNumber(&rest), let low = takeNumber(&rest) else {
            return nil
        }
        return SyncBytes(high: high, low: low)
    }

    /// Whether a file has the temporary name that a writer gives it first.
    package static func isTemporary(_ name: Span<UInt8>) -> Bool {
        let (start, end) = (Array(".valet-".utf8), Array(".tmp".utf8))
        guard name.count > start.count + end.count else { return false }
        return start.indices.allSatisfy { name[$0] == start[$0] }
            && end.indices.allSatisfy { name[name.count - end.count + $0] == end[$0] }
    }

    private static func takeNumber(_ text: inout Span<UInt8>) -> UInt64? {
        guard text.count >= 16 else { return nil }
        var number: UInt64 = 0
        for index in 0..<16 {
            let digit: UInt8
            switch text[index] {
            case let byte where (0x30...0x39).contains(byte): digit = byte - 0x30
            case let byte where (0x61...0x66).contains(byte): digit = byte - 0x61 + 10
            default: return nil
            }
            number = number << 4 | UInt64(digit)
        }
        text = text.extracting(droppingFirst: 16)
        return number
    }

    private static func digits(_ number: UInt64) -> String {
        Hexadecimal.text([UInt8](fields: number))
    }
}

/// The address of the store of this keychain's circle. It is a note in the keychain, which `valet
/// sync create` and `join` write.
package enum StoreAddress: Hashable, Sendable {
    /// A folder, by its absolute path.
    case folder(String)
    case etcd(EtcdPlace)

    private static let version: UInt8 = 1

    /// The text that `status` shows. It has no secrets: the password of the user is an item.
    package var text: String {
        switch self {
        case .folder(let path): path
        case .etcd(let place): place.list
        }
    }

    /// The name of the etcd user, whose password is an item.
    package var user: String? {
        if case .etcd(let place) = self { place.user } else { nil }
    }

    /// The bytes of the note.
    package var bytes: [UInt8] {
        switch self {
        case .folder(let path): [UInt8](fields: Self.version, 1 as UInt8, path)
        case .etcd(let place): [UInt8](fields: Self.version, 2 as UInt8, place)
        }
    }

    /// Reads ``bytes``. Throws `malformed` for other bytes.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        switch try reader.fields(UInt8.self, UInt8.self) {
        case (Self.version, 1): self = .folder(try String(from: &reader))
        case (Self.version, 2): self = .etcd(try EtcdPlace(from: &reader))
        default: throw reader.malformed
        }
        try reader.finish()
    }
}

/// The servers of an etcd cluster, and what authenticates both sides. Paths are absolute; files are
/// PEM.
package struct EtcdPlace: Hashable, Sendable, ByteField {
    /// The addresses of the servers, as given, with commas between them.
    package var list: String
    /// The file with the certificates of the authorities that may sign the servers' certificates.
    /// They replace those of the system; nil for those of the system.
    package var authority: String?
    /// The certificate of this device, if the cluster asks for one.
    package var certificate: String?
    /// The private key of that certificate.
    package var key: String?
    package var user: String?
    /// Whether plain HTTP to another machine is accepted.
    package var allowsPlainText = false

    /// Servers without certificates, key and user.
    package init(list: String) { self.list = list }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (list, authority, certificate, key, user, allowsPlainText) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: list, authority, certificate, key, user, allowsPlainText)
    }
}
