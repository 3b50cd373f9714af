// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// The text that a sponsor shows and a joiner types: 130 random bits, which name a mailbox and open
/// its mails. Format: docs/SYNC.md §6.
package struct Invitation: ~Copyable, Sendable {
    private let payload: SecretBytes
    /// K_inv.
    let key: InvitationKey
    /// Names the place of the mails in the store.
    package let mailbox: MailboxID

    /// Makes an invitation of 26 random bytes, of which five bits each count.
    package init(random: borrowing SecretBytes) {
        precondition(
            random.byteCount == CheckedText.invitation.payloadCount, "130 bits in 26 bytes")
        self.init(
            payload: SecretBytes(byteCount: random.byteCount, for: .keys) { payload in
                random.withBytes { random in
                    for index in payload.indices { payload[index] = random[index] & 31 }
                }
            })
    }

    /// Reads what a person typed.
    ///
    /// - Throws: ``KeychainFailure``, as ``CheckedText/payload(of:)``.
    package init(parsing text: Span<UInt8>) throws(KeychainFailure) {
        self.init(payload: try CheckedText.invitation.payload(of: text))
    }

    private init(payload: consuming SecretBytes) {
        let characters = SecretBytes(byteCount: payload.byteCount, for: .keys) { characters in
            payload.withBytes { payload in
                for index in characters.indices {
                    characters[index] = Base32.character(of: payload[index])
                }
            }
        }
        key = UnkeyedHash.derive(.syncInvitation) { hash in
            characters.withBytes { characters in hash.append(characters) }
        }
        mailbox = SyncHash(KeyedHash.digest(key, .syncMailbox)).half()
        self.payload = payload
    }

    /// The text that the sponsor shows: 42 bytes of ASCII, in groups of four characters.
    package var text: SecretBytes {
        payload.withBytes { payload in CheckedText.invitation.text(of: payload) }
    }
}

/// The sealed letters of an invitation, one for each step: docs/SYNC.md §6.
package enum Mail {
    /// The steps. Sponsor and joiner take turns.
    package enum Step: UInt8, CaseIterable, Sendable {
        /// P1, of the sponsor: which circle, and a commitment.
        case offer = 1
        /// P2, of the joiner: its keys and its name.
        case request = 2
        /// P3, of the sponsor: the bytes to which it has committed.
        case opening = 3
        /// P4, of the joiner: whether the words are the same.
        case answer = 4
        /// P5, of the sponsor: its names for the devices. An invitation does not need it.
        case names = 5
    }

    /// The most bytes of a mail: that of the longest name.
    package static let maximalByteCount = headByteCount + 2 * paddingStep + HedgedSeal.overhead
    private static let magic = Array("VALETINV".utf8)
    private static let version: UInt16 = 1
    private static let headByteCount = 8 + 2 + 1
    private static let paddingStep = 256

    /// Seals the plaintext of a step.
    static func sealed(
        _ plaintext: [UInt8], _ step: Step, _ invitation: borrowing Invitation, random: HedgeBytes
    ) -> [UInt8] {
        let padded = Padding.padded(plaintext.span, toMultipleOf: paddingStep)
        return magic + [UInt8](fields: version, step.rawValue)
            + padded.withBytes { padded in
                HedgedSeal.seal(
                    padded, .syncMail, associatedData: associatedData(step, invitation).span,
                    under: invitation.key, random: random)
            }
    }

    /// The plaintext of a mail of `step`.
    ///
    /// - Throws: ``SyncError``: `malformed`: `limit`, `form`, `magic`, `version`, `step`,
    ///   `padding`; `newer`; `tampered`, `seal`.
    static func open(
        _ bytes: [UInt8], _ step: Step, _ invitation: borrowing Invitation
    ) throws(SyncError) -> [UInt8] {
        guard bytes.count <= maximalByteCount else { throw .mail(.malformed, .limit) }
        var reader = ByteReader(bytes, of: .mail)
        guard try reader.bytes(8) == magic else { throw .mail(.malformed, .magic) }
        let version = try reader.integer(UInt16.self)
        guard version == Self.version else {
            throw .mail(version == 0 ? .malformed : .newer, .version)
        }
        guard try reader.integer() == step.rawValue else { throw .mail(.malformed, .step) }
        let padded: SecretBytes
        do {
            padded = try HedgedSeal.open(
                bytes.span.extracting(droppingFirst: headByteCount), .syncMail,
                associatedData: associatedData(step, invitation).span, under: invitation.key)
        } catch {
            throw .mail(.tampered, .seal)
        }
        var opened = try OpenedReader(padded, paddedTo: paddingStep, in: .mail, .malformed)
        return try opened.rest()
    }

    private static func associatedData(
        _ step: Step, _ invitation: borrowing Invitation
    ) -> [UInt8] {
        invitation.mailbox.bytes + [step.rawValue]
    }
}

/// P1: the circle of the invitation, and its sponsor.
package struct InvitationOffer: Hashable, Sendable {
    package let circle: CircleID
    /// The number of the newest roster entry that the sponsor has accepted.
    package let number: UInt32
    /// The hash of that entry.
    package let head: SyncHash
    package let sponsor: DeviceID

    /// Puts the fields together.
    package init(circle: CircleID, number: UInt32, head: SyncHash, sponsor: DeviceID) {
        (self.circle, self.number, self.head, self.sponsor) = (circle, number, head, sponsor)
    }

    /// The plaintext of P1: the fields, and the sponsor's commitment to its random bytes.
    func plaintext(commitment: Digest) -> [UInt8] {
        [UInt8](fields: circle, number, head, sponsor, commitment)
    }

    /// Reads P1.
    static func parse(
        _ plaintext: [UInt8]
    ) throws(SyncError) -> (offer: InvitationOffer, commitment: Digest) {
        var reader = ByteReader(plaintext, of: .mail)
        let fields = try reader.fields(
            CircleID.self, UInt32.self, SyncHash.self, DeviceID.self, Digest.self)
        try reader.finish()
        let offer = InvitationOffer(
            circle: fields.0, number: fields.1, head: fields.2, sponsor: fields.3)
        return (offer, fields.4)
    }
}

/// P2: the keys of the device that wants to join, and its name for itself.
package struct InvitationRequest: Hashable, Sendable {
    /// The most bytes of a name.
    package static let maximalNameByteCount = 64

    /// The keys.
    package let member: Member
    /// The name, which may hold any characters.
    package let name: String

    /// Puts the two together. A longer name is cut.
    package init(_ member: Member, name: String) {
        self.member = member
        var name = name
        while name.utf8.count > Self.maximalNameByteCount { name.removeLast() }
        self.name = name
    }

    /// The plaintext of P2.
    var plaintext: [UInt8] {
        member.bytes + [UInt8](fields: name)
    }

    /// Reads P2.
    init(parsing plaintext: [UInt8], circle: CircleID) throws(SyncError) {
        var reader = ByteReader(plaintext, of: .mail)
        member = try Member(from: &reader, circle: circle)
        // The paper key joins without an invitation.
        guard member.kind == .device else { throw .mail(.malformed, .operation) }
        let byteCount = try reader.integer(UInt32.self)
        guard byteCount <= Self.maximalNameByteCount else { throw .mail(.malformed, .limit) }
        guard let name = String(utf8: try reader.bytes(Int(byteCount))), reader.isAtEnd else {
            throw reader.malformed
        }
        self.name = name
    }
}
