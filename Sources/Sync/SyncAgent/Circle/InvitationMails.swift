// SPDX-License-Identifier: Apache-2.0

// Both sides of an invitation, with their mails in the store: docs/SYNC.md §6. `Sponsoring` and
// `Joining` decide what a mail means; the types here post and fetch mails. `valet sync invite` and
// `join` show the words and ask.

package import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSystem

private struct MailPost {
    let store: any SyncStore
    let mailbox: MailboxID
    private(set) var posted: [StoredMail] = []

    init(_ store: any SyncStore, _ mailbox: MailboxID) {
        (self.store, self.mailbox) = (store, mailbox)
    }

    private static var deadline: Deadline { Deadline(after: .seconds(30)) }

    mutating func post(_ step: Mail.Step, _ bytes: [UInt8]) throws(KeychainFailure) {
        let mail = StoredMail(step, bytes)
        try store.post(mail, to: mailbox, by: Self.deadline)
        posted.append(mail)
    }

    /// The mails of these steps that the store has now.
    func mails(_ steps: Mail.Step...) throws(KeychainFailure) -> [StoredMail] {
        try store.mails(in: mailbox, by: Self.deadline).filter { steps.contains($0.step) }
    }

    /// Deletes this side's mails, except those of the step `kept`. The store later deletes any that
    /// cannot be deleted now.
    mutating func deleteOwn(but kept: Mail.Step? = nil) {
        for mail in posted where mail.step != kept {
            try? store.delete(mail, from: mailbox, by: Self.deadline)
        }
        posted = []
    }
}

/// Reads mails that anybody may have written, and returns the first result. A mail that no side of
/// this invitation has sealed changes nothing.
///
/// - Throws: ``KeychainFailure`` for a mail that ends the invitation.
private func first<R>(
    of mails: [StoredMail], _ read: ([UInt8]) throws(SyncError) -> R
) throws(KeychainFailure) -> R? {
    var found: R?
    for mail in mails {
        do {
            let result = try read(mail.bytes)
            found = found ?? result
        } catch {
            switch (error.code, error.rule) {
            case (.invalid, .ended): throw .circle(.invitationSeen)
            case (.invalid, _): throw .circle(.invitationBroken)
            default: continue
            }
        }
    }
    return found
}

/// The sponsor's side of an invitation: it posts P1, waits for a request, and posts P3.
package struct InvitationSponsor: ~Copyable {
    private var sponsoring: Sponsoring
    private var post: MailPost

    /// Invites to the circle of an offer. Nothing is posted yet.
    package init(
        _ invitation: consuming Invitation, _ offer: InvitationOffer, in store: any SyncStore
    ) {
        post = MailPost(store, invitation.mailbox)
        sponsoring = Sponsoring(invitation, offer, random: .random())
    }

    /// Posts P1.
    package mutating func begin() throws(KeychainFailure) {
        try post.post(.offer, sponsoring.offerMail(random: .random()))
    }

    /// The request of the device that answers; nil before it has come.
    package mutating func request() throws(KeychainFailure) -> InvitationRequest? {
        try first(of: post.mails(.request)) { (mail) throws(SyncError) in
            try sponsoring.receiveRequest(mail)
        }
    }

    /// Posts P3, after a request.
    ///
    /// - Returns: The four words.
    package mutating func open() throws(KeychainFailure) -> [String] {
        guard let mail = sponsoring.openingMail(random: .random()), let words = sponsoring.words
        else { throw KeychainFailure.circle(.invitationSeen) }
        try post.post(.opening, mail)
        return words
    }

    /// The answer of the joiner's user; nil while there is none. Ends the invitation if a different
    /// request has come since.
    package mutating func answer() throws(KeychainFailure) -> Bool? {
        _ = try request()
        return try first(of: post.mails(.answer)) { (mail) throws(SyncError) in
            try sponsoring.receiveAnswer(mail)
        }
    }

    /// Posts P5, after the joiner's yes: the names that this device has for the devices of the
    /// circle.
    package mutating func send(_ names: InvitationNames, of session: SyncSession)
        throws(KeychainFailure)
    {
        let mail = try session.withIdentity(.whileUnlocked) { identity in
            sponsoring.namesMail(names, signedBy: identity.signing, random: .random())
        }
        if let mail = mail ?? nil { try post.post(.names, mail) }
    }

    /// Ends the invitation, and deletes this side's mails. The mail with the names stays: the
    /// joiner reads it when it is a member. The joiner or the store deletes it.
    package mutating func end() { post.deleteOwn(but: .names) }
}

/// The joiner's side of an invitation: it reads P1, posts its keys, and checks the words.
package struct InvitationJoiner: ~Copyable {
    private var joining: Joining
    private var post: MailPost

    package init(_ invitation: consuming Invitation, in store: any SyncStore) {
        post = MailPost(store, invitation.mailbox)
        joining = Joining(invitation)
    }

    /// The sponsor's offer; nil while its mail has not arrived.
    package mutating func offer() throws(KeychainFailure) -> InvitationOffer? {
        try first(of: post.mails(.offer)) { (mail) throws(SyncError) in
            try joining.receiveOffer(mail)
        }
    }

    /// Posts P2, after an offer.
    package mutating func send(_ request: InvitationRequest) throws(KeychainFailure) {
        try post.post(.request, joining.requestMail(request, random: .random()))
    }

    /// The four words; nil while the sponsor's mail has not arrived.
    package mutating func words() throws(KeychainFailure) -> [String]? {
        _ = try offer()
        _ = try first(of: post.mails(.opening)) { (mail) throws(SyncError) in
            try joining.receiveOpening(mail)
        }
        return joining.words
    }

    /// Posts P4: whether this side's person saw the same words.
    package mutating func answer(isSame: Bool) throws(KeychainFailure) {
        try post.post(.answer, joining.answerMail(isSame: isSame, random: .random()))
    }

    /// Reads the sponsor's names for the devices of the circle, and deletes the mail; nil while it
    /// has not arrived.
    package func names(of sponsor: Member) throws(KeychainFailure) -> [DeviceID: String]? {
        for mail in try post.mails(.names) {
            guard let names = try? joining.receiveNames(mail.bytes, of: sponsor) else { continue }
            try? post.store.delete(mail, from: post.mailbox, by: Deadline(after: .seconds(30)))
            return names.names
        }
        return nil
    }

    /// Whether the sponsor's mails are gone: it has ended the invitation.
    package func isWithdrawn() throws(KeychainFailure) -> Bool {
        try post.mails(.offer, .opening).isEmpty
    }

    /// Ends the invitation, and deletes this side's mails.
    ///
    /// - Parameter isJoined: Whether this device was admitted. If not, its answer stays in the
    ///   store until the store deletes it, because the sponsor may not have read it yet.
    package mutating func end(isJoined: Bool) { post.deleteOwn(but: isJoined ? nil : .answer) }
}
