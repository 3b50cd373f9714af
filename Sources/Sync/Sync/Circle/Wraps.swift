// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// The circle's keys in a roster entry, in a box for each member that gets them: docs/SYNC.md §3.
package struct Wraps: Hashable, Sendable {
    package static let maximalMemberCount = 64
    static let boxByteCount = CircleKey.byteCount + HedgedSeal.overhead

    private struct Box: Hashable, Sendable {
        let device: DeviceID
        let f: [UInt8]
        let u: [UInt8]
    }

    package let epoch: UInt32
    package let commitments: KeyCommitments
    private let ephemeral: PublicKey
    private let boxes: [Box]

    /// The members that have a box, in the order of their ids.
    package var devices: [DeviceID] { boxes.map(\.device) }

    /// Seals the keys for `members`. `ephemeral` is made for this entry and wiped after it;
    /// `random` is called twice for each member.
    ///
    /// - Throws: ``SyncError``: `invalid`, `agreement`.
    package init(
        _ keys: borrowing CircleKeys, for members: [Member], in entry: RosterEntry.Head,
        ephemeral: borrowing KeyAgreementPair, random: () -> HedgeBytes
    ) throws(SyncError) {
        precondition(members.count <= Self.maximalMemberCount, "a circle has at most 64 members")
        epoch = keys.epoch
        commitments = keys.commitments
        self.ephemeral = ephemeral.publicKey
        var boxes: [Box] = []
        for member in members.sorted(by: { $0.id < $1.id }) {
            let f = try BoxKey(member, .afterFirstUnlock, entry, ephemeral)
            let u = try BoxKey(member, .whileUnlocked, entry, ephemeral)
            boxes.append(
                Box(
                    device: member.id, f: f.seal(keys.f, random: random()),
                    u: u.seal(keys.u, random: random())))
        }
        self.boxes = boxes
    }

    /// The key in the box of `device`, for the scope of `identity`.
    ///
    /// - Parameter identity: The identity of `device`.
    /// - Throws: ``SyncError``, all `invalid`: `members` without a box; `agreement`, `seal`;
    ///   `commitment`. The signer of the entry is named.
    package func key(
        for device: DeviceID, _ identity: borrowing ScopeIdentity, in entry: RosterEntry.Head
    ) throws(SyncError) -> CircleKey {
        let box = boxes.first { $0.device == device }
        guard let box else { throw .key(.members) }
        let opening = try BoxKey(identity, device, entry, ephemeral)
        let key = try opening.open(identity.scope == .afterFirstUnlock ? box.f : box.u)
        try commitments.check(key, identity.scope)
        return key
    }

    init(from reader: inout ByteReader<SyncError>) throws(SyncError) {
        epoch = try reader.integer()
        commitments = KeyCommitments(f: try reader.fixedBytes(), u: try reader.fixedBytes())
        ephemeral = try reader.fixedBytes()
        let count = try reader.integer(UInt8.self)
        guard count <= Self.maximalMemberCount else { throw .entry(.malformed, .limit) }
        var boxes: [Box] = []
        for _ in 0..<count {
            let box = Box(
                device: try DeviceID(from: &reader), f: try reader.bytes(Self.boxByteCount),
                u: try reader.bytes(Self.boxByteCount))
            guard boxes.last.map({ $0.device < box.device }) ?? true else {
                throw .entry(.malformed, .order)
            }
            boxes.append(box)
        }
        self.boxes = boxes
    }

    var bytes: [UInt8] {
        [UInt8](fields: epoch, commitments.f, commitments.u, ephemeral, UInt8(boxes.count))
            + boxes.flatMap { $0.device.bytes + $0.f + $0.u }
    }
}

/// The key X of docs/SYNC.md §3.4, under which one box is sealed.
private struct BoxKey: ~Copyable {
    private let key: SymmetricKey<Purpose.SyncBox>

    /// The key for the signer, which has the secret half of the ephemeral pair.
    init(
        _ member: Member, _ scope: KeyScope, _ entry: RosterEntry.Head,
        _ ephemeral: borrowing KeyAgreementPair
    ) throws(SyncError) {
        let recipient = scope == .whileUnlocked ? member.agreeU : member.agreeF
        self.init(
            from: try Self.agree(ephemeral, recipient), scope, member.id, entry,
            (ephemeral.publicKey, recipient))
    }

    /// The key for the member, which has the secret half of its own pair.
    init(
        _ identity: borrowing ScopeIdentity, _ device: DeviceID, _ entry: RosterEntry.Head,
        _ ephemeral: PublicKey
    ) throws(SyncError) {
        self.init(
            from: try Self.agree(identity.agreement, ephemeral), identity.scope, device, entry,
            (ephemeral, identity.agreement.publicKey))
    }

    private static func agree(
        _ pair: borrowing KeyAgreementPair, _ publicKey: PublicKey
    ) throws(SyncError) -> SymmetricKey<Purpose.SharedSecret> {
        do {
            return try pair.sharedSecret(with: publicKey)
        } catch {
            throw .key(.agreement)
        }
    }

    private init(
        from shared: borrowing SymmetricKey<Purpose.SharedSecret>, _ scope: KeyScope,
        _ device: DeviceID, _ entry: RosterEntry.Head,
        _ keys: (ephemeral: PublicKey, own: PublicKey)
    ) {
        key = KeyedHash.derive(from: shared, .syncBox) { hash in
            hash.append(scope.rawValue)
            hash.append(entry.circle.bytes)
            hash.append(entry.parent.bytes)
            hash.append(device.bytes)
            hash.append(keys.ephemeral)
            hash.append(keys.own)
        }
    }

    func seal(_ circleKey: borrowing CircleKey, random: HedgeBytes) -> [UInt8] {
        circleKey.sealed(.syncBox, associatedData: Span(), under: key, random)
    }

    func open(_ box: [UInt8]) throws(SyncError) -> CircleKey {
        try CircleKey(opening: box, .syncBox, associatedData: Span(), under: key)
    }
}

/// The keys of the epoch before, sealed under those of an entry: docs/SYNC.md §3.
package struct FormerKeys: Hashable, Sendable {
    private let f: [UInt8]
    private let u: [UInt8]

    /// Seals `former` under `keys`, the keys of the next epoch. `random` is called twice.
    package init(
        _ former: borrowing CircleKeys, under keys: borrowing CircleKeys, circle: CircleID,
        random: () -> HedgeBytes
    ) {
        let data = Self.associatedData(circle, epoch: keys.epoch)
        f = former.f.sealed(.syncFormer, associatedData: data.span, under: keys.f, random())
        u = former.u.sealed(.syncFormer, associatedData: data.span, under: keys.u, random())
    }

    /// The key of `scope` in the epoch before `epoch`.
    ///
    /// - Parameters:
    ///   - key: The key of `epoch`.
    ///   - commitments: Those of the earlier epoch.
    /// - Throws: ``SyncError``, all `invalid`: `seal`; `commitment` if the key does not fit
    ///   `commitments`. The caller reports the signer of the entry.
    package func key(
        of scope: KeyScope, under key: borrowing CircleKey, circle: CircleID, epoch: UInt32,
        commitments: KeyCommitments
    ) throws(SyncError) -> CircleKey {
        let former = try CircleKey(
            opening: scope == .afterFirstUnlock ? f : u, .syncFormer,
            associatedData: Self.associatedData(circle, epoch: epoch).span, under: key)
        try commitments.check(former, scope)
        return former
    }

    private static func associatedData(_ circle: CircleID, epoch: UInt32) -> [UInt8] {
        [UInt8](fields: circle, epoch)
    }

    init(from reader: inout ByteReader<SyncError>) throws(SyncError) {
        f = try reader.bytes(Wraps.boxByteCount)
        u = try reader.bytes(Wraps.boxByteCount)
    }

    var bytes: [UInt8] { f + u }
}

extension CircleKey {
    fileprivate borrowing func sealed<Q: DerivesKeys>(
        _ context: DerivationContext, associatedData: Span<UInt8>,
        under key: borrowing SymmetricKey<Q>, _ random: HedgeBytes
    ) -> [UInt8] {
        withBytes { bytes in
            HedgedSeal.seal(
                bytes, context, associatedData: associatedData, under: key, random: random)
        }
    }

    fileprivate init<Q: DerivesKeys>(
        opening sealed: [UInt8], _ context: DerivationContext, associatedData: Span<UInt8>,
        under key: borrowing SymmetricKey<Q>
    ) throws(SyncError) {
        do {
            try self.init(
                HedgedSeal.open(
                    sealed.span, context, associatedData: associatedData, under: key))
        } catch {
            throw .key(.seal)
        }
    }
}
