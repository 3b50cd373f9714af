// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSync

/// The keys of a store in etcd: docs/SYNC.md §7.
///
/// All heads of a circle have one prefix, so that one request lists the logs, and a watch receives
/// heads instead of messages.
enum EtcdKeys {
    private static let top = "valet/1/"

    static func circle(_ circle: CircleID) -> String { top + StoreNames.text(circle) + "/" }

    static func mark(_ circle: CircleID) -> String { self.circle(circle) + StoreNames.mark }

    static func heads(_ circle: CircleID) -> String { self.circle(circle) + "head/" }

    static func head(_ place: StorePlace) -> String {
        heads(place.circle) + StoreNames.folders(of: place).dropFirst().joined(separator: "/")
    }

    /// The prefix of all keys of a place.
    static func prefix(_ place: StorePlace) -> String {
        top + StoreNames.folders(of: place).joined(separator: "/") + "/"
    }

    static func file(_ name: StoredName, in place: StorePlace) -> String {
        prefix(place) + StoreNames.text(name)
    }

    static func mailbox(_ mailbox: MailboxID) -> String {
        top + StoreNames.mailboxes + "/" + StoreNames.text(mailbox) + "/"
    }

    /// The first key after all that begin with `prefix`, which ends with "/".
    static func end(of prefix: String) -> String { prefix.dropLast() + "0" }

    static func place(ofHead key: [UInt8], in circle: CircleID) -> StorePlace? {
        let start = Array(heads(circle).utf8)
        guard key.starts(with: start) else { return nil }
        let parts = key[start.count...].split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { Array($0) }
        if parts == [Array(StoreNames.roster.utf8)] { return .roster(circle) }
        guard parts.count == 3, let device = id(parts[0], as: DeviceID.self),
            let scope = KeyScope.allCases.first(where: {
                parts[1] == Array(StoreNames.text($0).utf8)
            }), let log = id(parts[2], as: LogID.self)
        else { return nil }
        return .log(LogPlace(circle, device, scope, log))
    }

    private static func id<Name>(
        _ text: [UInt8], as kind: SyncBytes<Name>.Type
    ) -> SyncBytes<Name>? {
        StoreNames.id(text.span, as: kind)
    }

    /// The first and the last key of all heads and all roster entries of a circle. Nothing else is
    /// between them: ids begin with digits and letters up to "f".
    static func watched(_ circle: CircleID) -> (first: String, end: String) {
        (heads(circle), end(of: prefix(.roster(circle))))
    }

    /// The bytes of a head.
    static func value(ofHead position: LogPosition) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: position.number >> (56 - 8 * $0)) }
            + position.hash.bytes
    }

    /// Reads a head; nil unless it has 40 bytes.
    static func head(_ value: [UInt8]) -> LogPosition? {
        guard value.count == 40 else { return nil }
        let words = (0..<5).map { word in
            value[(8 * word)..<(8 * word + 8)].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        }
        return LogPosition(
            number: words[0], hash: SyncHash(words[1], words[2], words[3], words[4]))
    }
}

extension StorePlace {
    /// Whether names here have a hash. The messages of a log need none: etcd never overwrites them.
    var hasHashes: Bool {
        switch self {
        case .roster: true
        case .log: false
        }
    }

    func name(of file: StoreFile) -> StoredName {
        StoredName(
            number: file.number, part: file.part,
            hash: hasHashes ? StoreNames.hash(of: file.bytes) : nil)
    }
}
