// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

// How a device joins a circle, as seen by its sponsor and by the joiner: docs/SYNC.md §6. Both show
// four words, and a person compares them.

/// The sponsor's side of an invitation, from the offer to the joiner's answer.
package struct Sponsoring: ~Copyable, Sendable {
    private let invitation: Invitation
    private let circle: CircleID
    private let random: SponsorRandom
    private let offer: [UInt8]
    private var request: [UInt8]?
    private var answer: [UInt8]?
    package private(set) var isEnded = false

    /// Invites to a circle. `random` is new for each invitation.
    package init(
        _ invitation: consuming Invitation, _ offer: InvitationOffer,
        random: consuming SponsorRandom
    ) {
        self.offer = offer.plaintext(commitment: random.sponsorCommitment)
        circle = offer.circle
        self.invitation = invitation
        self.random = random
    }

    /// The mail of P1.
    package func offerMail(random: HedgeBytes) -> [UInt8] {
        Mail.sealed(offer, .offer, invitation, random: random)
    }

    /// Reads P2. Mails that are refused as `malformed` or `tampered` change nothing.
    ///
    /// - Throws: ``SyncError``: `malformed`, `tampered`; `invalid`, `ended`, once a second and
    ///   different request has ended the invitation.
    package mutating func receiveRequest(_ mail: [UInt8]) throws(SyncError) -> InvitationRequest {
        let plaintext = try Mail.open(mail, .request, invitation)
        let request = try InvitationRequest(parsing: plaintext, circle: circle)
        try keep(plaintext, as: &self.request, or: &isEnded)
        return request
    }

    /// The mail of P3; nil before a request was read, and after the end.
    package func openingMail(random: HedgeBytes) -> [UInt8]? {
        guard request != nil, !isEnded else { return nil }
        return Mail.sealed(opening, .opening, invitation, random: random)
    }

    /// The four words that the sponsor shows; nil before it has read a request, and after the end.
    package var words: [String]? {
        guard let request, !isEnded else { return nil }
        return invitation.words(offer, request, opening)
    }

    /// Reads P4: whether the joiner saw the same words. If not, the invitation ends.
    ///
    /// - Throws: ``SyncError``: `malformed`, `tampered`; `invalid`, `ended`.
    package mutating func receiveAnswer(_ mail: [UInt8]) throws(SyncError) -> Bool {
        let plaintext = try Mail.open(mail, .answer, invitation)
        guard plaintext == [0] || plaintext == [1] else { throw .mail(.malformed, .answer) }
        guard request != nil else { throw .mail(.malformed, .step) }
        try keep(plaintext, as: &answer, or: &isEnded)
        if plaintext == [0] { isEnded = true }
        return plaintext == [1]
    }

    /// The mail of P5; nil before the joiner's yes.
    package func namesMail(
        _ names: InvitationNames, signedBy pair: borrowing SigningPair, random: HedgeBytes
    ) -> [UInt8]? {
        guard let request, answer == [1], !isEnded else { return nil }
        let plaintext = names.plaintext(after: transcript(offer, request, opening), signedBy: pair)
        return Mail.sealed(plaintext, .names, invitation, random: random)
    }

    /// P3.
    private var opening: [UInt8] { random.withBytes { bytes in bytes.indices.map { bytes[$0] } } }
}

/// The joiner's side of an invitation, from the offer to its own answer.
package struct Joining: ~Copyable, Sendable {
    private let invitation: Invitation
    private var offer: [UInt8]?
    private var request: [UInt8]?
    private var opening: [UInt8]?
    package private(set) var isEnded = false

    package init(_ invitation: consuming Invitation) { self.invitation = invitation }

    /// Reads P1. The joiner makes its keys for that circle.
    ///
    /// - Throws: ``SyncError``: `malformed`, `tampered`; `invalid`, `ended`.
    package mutating func receiveOffer(_ mail: [UInt8]) throws(SyncError) -> InvitationOffer {
        let plaintext = try Mail.open(mail, .offer, invitation)
        let offer = try InvitationOffer.parse(plaintext).offer
        try keep(plaintext, as: &self.offer, or: &isEnded)
        return offer
    }

    /// The mail of P2, which the joiner makes once, after an offer.
    package mutating func requestMail(_ request: InvitationRequest, random: HedgeBytes) -> [UInt8] {
        precondition(offer != nil && self.request == nil, "one request follows an offer")
        self.request = request.plaintext
        return Mail.sealed(request.plaintext, .request, invitation, random: random)
    }

    /// Reads P3, and compares it with the commitment of P1.
    ///
    /// - Throws: ``SyncError``: `malformed`, `tampered`; `invalid`: `ended`; `commitment`, which
    ///   ends the invitation.
    package mutating func receiveOpening(_ mail: [UInt8]) throws(SyncError) {
        let plaintext = try Mail.open(mail, .opening, invitation)
        guard let offer, request != nil else { throw .mail(.malformed, .step) }
        let random: SponsorRandom
        do {
            random = try SponsorRandom(copying: plaintext.span)
        } catch {
            throw .mail(.malformed, .form)
        }
        try keep(plaintext, as: &opening, or: &isEnded)
        guard random.sponsorCommitment == (try InvitationOffer.parse(offer).commitment) else {
            isEnded = true
            throw .mail(.invalid, .commitment)
        }
    }

    /// The four words that the joiner shows; nil before P1, P2 and P3 are known, and after the end.
    package var words: [String]? {
        guard let offer, let request, let opening, !isEnded else { return nil }
        return invitation.words(offer, request, opening)
    }

    /// Reads P5.
    ///
    /// - Parameter sponsor: The member that the roster has under the id in P1.
    /// - Throws: ``SyncError``: `malformed`, `tampered`.
    package func receiveNames(
        _ mail: [UInt8], of sponsor: Member
    ) throws(SyncError) -> InvitationNames {
        let plaintext = try Mail.open(mail, .names, invitation)
        guard let offer, let request, let opening else { throw .mail(.malformed, .step) }
        return try InvitationNames(
            parsing: plaintext, after: transcript(offer, request, opening), signedBy: sponsor)
    }

    /// The mail of P4: whether the person saw the same words. If not, the invitation ends.
    package mutating func answerMail(isSame: Bool, random: HedgeBytes) -> [UInt8] {
        precondition(words != nil, "an answer follows the words")
        if !isSame { isEnded = true }
        return Mail.sealed([isSame ? 1 : 0], .answer, invitation, random: random)
    }
}

/// Keeps the plaintext of a step. A second, different plaintext of that step ends the invitation.
private func keep(
    _ plaintext: [UInt8], as step: inout [UInt8]?, or isEnded: inout Bool
) throws(SyncError) {
    if let step, step != plaintext { isEnded = true }
    guard !isEnded else { throw .mail(.invalid, .ended) }
    step = plaintext
}

extension SponsorRandom {
    /// The commitment to these bytes, which the sponsor makes before it knows the joiner's keys.
    fileprivate var sponsorCommitment: Digest { KeyedHash.digest(self, .syncCommit) }
}

private func transcript(_ offer: [UInt8], _ request: [UInt8], _ opening: [UInt8]) -> Digest {
    UnkeyedHash.digest(.syncTranscript) { hash in
        hash.append(offer)
        hash.append(request)
        hash.append(opening)
    }
}

extension Invitation {
    /// Four words for the first 44 bits of a hash of P1, P2 and P3. After the sponsor's commitment,
    /// neither the joiner nor the store can choose them.
    fileprivate borrowing func words(
        _ offer: [UInt8], _ request: [UInt8], _ opening: [UInt8]
    ) -> [String] {
        let transcript = transcript(offer, request, opening)
        let bits = SyncHash(KeyedHash.digest(key, .syncWords) { $0.append(transcript) }).first
        return (0..<4).map { String(WordList.words[Int(bits >> UInt64(53 - 11 * $0) & 0x7ff)]) }
    }
}

/// P5: the names that the sponsor of an invitation has for the devices of its circle. docs/SYNC.md
/// §6.
///
/// It follows the joiner's yes, and nothing depends on it. The sponsor signs it together with the
/// mails before it: otherwise anybody who has seen the invitation could seal names.
package struct InvitationNames: Hashable, Sendable {
    /// The most bytes of a plaintext: with its padding, it fills the longest mail.
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

    func plaintext(after transcript: Digest, signedBy pair: borrowing SigningPair) -> [UInt8] {
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
            guard last.map({ $0 < device }) ?? true else { throw .mail(.malformed, .order) }
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

/// The text that a sponsor shows and a joiner types: 130 random bits, which name a mailbox and open
/// its mails. Format: docs/SYNC.md §6.
package struct Invitation: ~Copyable, Sendable {
    private let payload: SecretBytes
    /// K_inv.
    let key: InvitationKey
    package let mailbox: MailboxID

    /// Makes an invitation from the low five bits of each of 26 random bytes.
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

    /// The most bytes of a mail: a P2 with the longest name has as many.
    package static let maximalByteCount = headByteCount + 2 * paddingStep + HedgedSeal.overhead
    private static let magic = Array("VALETINV".utf8)
    private static let version: UInt16 = 1
    private static let headByteCount = 8 + 2 + 1
    private static let paddingStep = 256

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
    package let head: SyncHash
    package let sponsor: DeviceID

    package init(circle: CircleID, number: UInt32, head: SyncHash, sponsor: DeviceID) {
        (self.circle, self.number, self.head, self.sponsor) = (circle, number, head, sponsor)
    }

    func plaintext(commitment: Digest) -> [UInt8] {
        [UInt8](fields: circle, number, head, sponsor, commitment)
    }

    static func parse(
        _ plaintext: [UInt8]
    ) throws(SyncError) -> (offer: InvitationOffer, commitment: Digest) {
        let (circle, number, head, sponsor, commitment):
            (CircleID, UInt32, SyncHash, DeviceID, Digest) = try plaintext.fields(of: .mail)
        let offer = InvitationOffer(circle: circle, number: number, head: head, sponsor: sponsor)
        return (offer, commitment)
    }
}

/// P2: the keys of the device that wants to join, and its name for itself.
package struct InvitationRequest: Hashable, Sendable {
    package static let maximalNameByteCount = 64

    package let member: Member
    package let name: String

    /// Cuts the name to ``maximalNameByteCount`` bytes at most.
    package init(_ member: Member, name: String) {
        self.member = member
        var name = name
        while name.utf8.count > Self.maximalNameByteCount { name.removeLast() }
        self.name = name
    }

    var plaintext: [UInt8] { member.bytes + [UInt8](fields: name) }

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
