// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// A change of a circle's members or keys, signed by a member: docs/SYNC.md §3.
///
/// The form is checked here; ``RosterState`` checks signer, signature and rules.
package struct RosterEntry: Hashable, Sendable {
    /// A log's last message, which a member names when it leaves.
    package struct LastMessage: Hashable, Sendable {
        package let scope: KeyScope
        package let name: MessageName
        package let hash: SyncHash

        package init(_ scope: KeyScope, _ name: MessageName, hash: SyncHash) {
            (self.scope, self.name, self.hash) = (scope, name, hash)
        }

        var bytes: [UInt8] { [UInt8](fields: scope, name, hash) }
    }

    package enum Operation: Hashable, Sendable {
        /// Founds a circle. The salt makes two circles of equal keys differ.
        case create(salt: Digest, Member, Wraps)
        case add(Member, Wraps)
        case remove([DeviceID], Wraps, FormerKeys)
        /// Removes the signer. Its messages up to these still count.
        case leave([LastMessage])
        case rotate(Wraps, FormerKeys)

        fileprivate static let numberOfCreate: UInt8 = 1

        fileprivate var number: UInt8 {
            switch self {
            case .create: Self.numberOfCreate
            case .add: 2
            case .remove: 3
            case .leave: 4
            case .rotate: 5
            }
        }

        package var wraps: Wraps? {
            switch self {
            case .create(_, _, let wraps), .add(_, let wraps), .remove(_, let wraps, _),
                .rotate(let wraps, _):
                wraps
            case .leave: nil
            }
        }
    }

    package static let maximalNumber: UInt32 = 4096
    package static let maximalBodyByteCount = 65_536
    fileprivate static let magic = Array("VALETRST".utf8)
    fileprivate static let version: UInt16 = 1
    package static let maximalByteCount =
        8 + 2 + 16 + 4 + 32 + 8 + 16 + 1 + 4 + maximalBodyByteCount + 64

    /// The fields before the operation.
    package struct Head: Hashable, Sendable {
        /// The circle; zero in the first entry.
        package let circle: CircleID
        /// The number; 1 for the first entry.
        package let number: UInt32
        /// The hash of the entry before; zero for the first.
        package let parent: SyncHash
        /// When it was made: milliseconds since 1970.
        package let milliseconds: UInt64
        package let signer: DeviceID

        package static func founding(milliseconds: UInt64, signer: DeviceID) -> Head {
            Head(
                circle: .zero, number: 1, parent: .zero, milliseconds: milliseconds,
                signer: signer)
        }
    }

    package let head: Head
    package let operation: Operation
    package let hash: SyncHash
    package let bytes: [UInt8]
    private let signature: Signature

    package init(_ head: Head, _ operation: Operation, signedBy pair: borrowing SigningPair) {
        (self.head, self.operation) = (head, operation)
        let bytes =
            Self.magic
            + [UInt8](fields: Self.version, head, operation.number, SizedBytes(operation.body))
        hash = Self.hash(bytes.span)
        signature = pair.signature(.syncRoster, of: hash.bytes.span)
        self.bytes = bytes + signature.bytes
    }

    fileprivate static func hash(_ bytes: Span<UInt8>) -> SyncHash {
        SyncHash(UnkeyedHash.digest(.syncRoster) { $0.append(bytes) })
    }

    /// Reads an entry. Anyone may have made it.
    ///
    /// - Throws: ``SyncError``: `malformed`; `newer` for a later version; `tampered` for a new
    ///   member with a wrong proof or unfit keys.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        self = try ShownEntry(parsing: bytes).opened()
    }

    fileprivate init(_ shown: ShownEntry, _ operation: Operation) {
        (head, self.operation) = (shown.head, operation)
        (hash, bytes, signature) = (shown.hash, shown.bytes, shown.signature)
    }

    func isSigned(by member: Member) -> Bool { signature.isOfEntry(hash, by: member) }
}

extension RosterEntry.Head: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (circle, number, parent, milliseconds, signer) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: circle, number, parent, milliseconds, signer)
    }
}

extension Signature {
    fileprivate func isOfEntry(_ hash: SyncHash, by member: Member) -> Bool {
        isValid(.syncRoster, of: hash.bytes.span, by: member.signU)
    }
}

/// A roster entry from a store, of which only the head is parsed. Parsing the head costs little,
/// whatever the body contains, so the signature can be checked before the body is parsed.
package struct ShownEntry: Sendable {
    package let head: RosterEntry.Head
    package let hash: SyncHash
    fileprivate let bytes: [UInt8]
    fileprivate let signature: Signature
    private let operationNumber: UInt8
    private let body: [UInt8]

    /// Reads the head of an entry. Anyone may have made it.
    ///
    /// - Throws: ``SyncError``: `malformed`; `newer` for a later version.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        guard bytes.count <= RosterEntry.maximalByteCount else { throw .entry(.malformed, .limit) }
        var reader = ByteReader(bytes, of: .rosterEntry)
        guard try reader.bytes(8) == RosterEntry.magic else { throw .entry(.malformed, .magic) }
        let version = try reader.integer(UInt16.self)
        guard version == RosterEntry.version else {
            throw .entry(version == 0 ? .malformed : .newer, .version)
        }
        let byteCount: UInt32
        (head, operationNumber, byteCount) = try reader.fields()
        guard byteCount <= RosterEntry.maximalBodyByteCount else {
            throw .entry(.malformed, .limit)
        }
        body = try reader.bytes(Int(byteCount))
        signature = try reader.fixedBytes()
        try reader.finish()
        hash = RosterEntry.hash(bytes.span.extracting(droppingLast: Signature.byteCount))
        self.bytes = bytes
        try checkHead()
    }

    /// Only the first entry has no parent and no circle, because its hash names the circle.
    private func checkHead() throws(SyncError) {
        let isFirst = operationNumber == RosterEntry.Operation.numberOfCreate
        let isInOrder =
            isFirst
            ? head.number == 1 && head.parent == .zero
            : head.number > 1 && head.number <= RosterEntry.maximalNumber && head.parent != .zero
        guard isInOrder else { throw .entry(.malformed, .parent) }
        guard isFirst == (head.circle == .zero) else { throw .entry(.malformed, .circle) }
    }

    func isSigned(by member: Member) -> Bool { signature.isOfEntry(hash, by: member) }

    /// Reads the body.
    package func opened() throws(SyncError) -> RosterEntry {
        var reader = ByteReader(body, of: .rosterEntry)
        let operation = try RosterEntry.Operation(operationNumber, from: &reader, head)
        try reader.finish()
        return RosterEntry(self, operation)
    }
}

extension RosterEntry.Operation {
    fileprivate var body: [UInt8] {
        switch self {
        case .create(let salt, let member, let wraps):
            return salt.bytes + member.bytes + wraps.bytes
        case .add(let member, let wraps): return member.bytes + wraps.bytes
        case .remove(let devices, let wraps, let former):
            return [UInt8(devices.count)] + devices.sorted().flatMap(\.bytes) + wraps.bytes
                + former.bytes
        case .leave(let last):
            let messages = last.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
            return [UInt8(messages.count)] + messages.flatMap(\.self)
        case .rotate(let wraps, let former): return wraps.bytes + former.bytes
        }
    }

    fileprivate init(
        _ number: UInt8, from body: inout ByteReader<SyncError>, _ head: RosterEntry.Head
    ) throws(SyncError) {
        switch number {
        case Self.numberOfCreate:
            self = .create(
                salt: try body.fixedBytes(), try Member(from: &body, circle: .zero),
                try Wraps(from: &body))
        case 2:
            self = .add(try Member(from: &body, circle: head.circle), try Wraps(from: &body))
        case 3:
            let devices = try Self.devices(from: &body)
            self = .remove(devices, try Wraps(from: &body), try FormerKeys(from: &body))
        case 4: self = .leave(try Self.lastMessages(from: &body, of: head.signer))
        case 5: self = .rotate(try Wraps(from: &body), try FormerKeys(from: &body))
        default: throw .entry(.malformed, .operation)
        }
    }

    private static func devices(
        from body: inout ByteReader<SyncError>
    ) throws(SyncError) -> [DeviceID] {
        let count = try body.integer(UInt8.self)
        guard count > 0, count <= Wraps.maximalMemberCount else { throw .entry(.malformed, .limit) }
        var devices: [DeviceID] = []
        for _ in 0..<count {
            let device = try DeviceID(from: &body)
            guard devices.last.map({ $0 < device }) ?? true else {
                throw .entry(.malformed, .order)
            }
            devices.append(device)
        }
        return devices
    }

    private static func lastMessages(
        from body: inout ByteReader<SyncError>, of signer: DeviceID
    ) throws(SyncError) -> [RosterEntry.LastMessage] {
        var messages: [RosterEntry.LastMessage] = []
        for _ in 0..<(try body.integer(UInt8.self)) {
            guard let scope = KeyScope(rawValue: try body.integer()) else {
                throw .entry(.malformed, .scope)
            }
            let (name, hash) = try body.fields(MessageName.self, SyncHash.self)
            let message = RosterEntry.LastMessage(scope, name, hash: hash)
            guard name.number > 0 else { throw .entry(.malformed, .number) }
            guard name.log.belongs(to: signer) else { throw .entry(.malformed, .log) }
            // Strictly ascending by scope and log, whatever the number, so that no log occurs
            // twice.
            if let last = messages.last {
                guard
                    (last.scope.rawValue, last.name.log) < (scope.rawValue, name.log)
                else { throw .entry(.malformed, .order) }
            }
            messages.append(message)
        }
        return messages
    }
}
