// SPDX-License-Identifier: Apache-2.0

// How a device joins a circle, as seen by its sponsor and by the joiner: docs/SYNC.md §6. Both show
// four words, and a person compares them.

package import ValetSealing
internal import ValetSystem

/// The sponsor's side of an invitation, from the offer to the joiner's answer.
package struct Sponsoring: ~Copyable, Sendable {
    private let invitation: Invitation
    private let circle: CircleID
    private let random: SponsorRandom
    private let offer: [UInt8]
    private var request: [UInt8]?
    private var answer: [UInt8]?
    /// Whether the invitation is of no more use.
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
    /// - Throws: ``SyncError``: `malformed`, `tampered`; `invalid`, `ended`, at and after a second
    ///   and different request, which ends the invitation.
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

    /// What this side shows; nil before a request was read, and after the end.
    package var words: [String]? {
        guard let request, !isEnded else { return nil }
        return invitation.words(offer, request, opening)
    }

    /// Reads P4: whether the joiner saw the same words. No ends the invitation.
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
        let plaintext = names.plaintext(
            after: transcript(offer, request, opening), signedBy: pair)
        return Mail.sealed(plaintext, .names, invitation, random: random)
    }

    /// P3.
    private var opening: [UInt8] {
        random.withBytes { bytes in bytes.indices.map { bytes[$0] } }
    }
}

/// The joiner's side of an invitation, from the offer to its own answer.
package struct Joining: ~Copyable, Sendable {
    private let invitation: Invitation
    private var offer: [UInt8]?
    private var request: [UInt8]?
    private var opening: [UInt8]?
    /// Whether the invitation is of no more use.
    package private(set) var isEnded = false

    /// Takes up an invitation.
    package init(_ invitation: consuming Invitation) {
        self.invitation = invitation
    }

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
    package mutating func requestMail(
        _ request: InvitationRequest, random: HedgeBytes
    ) -> [UInt8] {
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

    /// What this side shows; nil before all mails are there, and after the end.
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

    /// The mail of P4: whether the person saw the same words. No ends the invitation.
    package mutating func answerMail(isSame: Bool, random: HedgeBytes) -> [UInt8] {
        precondition(words != nil, "an answer follows the words")
        if !isSame { isEnded = true }
        return Mail.sealed([isSame ? 1 : 0], .answer, invitation, random: random)
    }
}

/// Keeps the plaintext of a step. A second and different one ends the invitation.
private func keep(
    _ plaintext: [UInt8], as step: inout [UInt8]?, or isEnded: inout Bool
) throws(SyncError) {
    if let step, step != plaintext { isEnded = true }
    guard !isEnded else { throw .mail(.invalid, .ended) }
    step = plaintext
}

extension SponsorRandom {
    /// The commitment to these bytes, which the sponsor makes before it knows the joiner's keys.
    fileprivate var sponsorCommitment: Digest {
        KeyedHash.digest(self, .syncCommit)
    }
}

/// The hash of P1 to P3.
private func transcript(_ offer: [UInt8], _ request: [UInt8], _ opening: [UInt8]) -> Digest {
    UnkeyedHash.digest(.syncTranscript) { hash in
        hash.append(offer)
        hash.append(request)
        hash.append(opening)
    }
}

extension Invitation {
    /// Four words for the first 44 bits of a hash of all mails. After the sponsor's commitment,
    /// neither the joiner nor the store can change them.
    fileprivate borrowing func words(
        _ offer: [UInt8], _ request: [UInt8], _ opening: [UInt8]
    ) -> [String] {
        let transcript = transcript(offer, request, opening)
        let bits = SyncHash(KeyedHash.digest(key, .syncWords) { $0.append(transcript) }).first
        return (0..<4).map { String(WordList.words[Int(bits >> UInt64(53 - 11 * $0) & 0x7ff)]) }
    }
}
