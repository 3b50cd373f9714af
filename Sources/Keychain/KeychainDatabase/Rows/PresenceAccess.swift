// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
package import ValetSealing

/// A call's proofs and rules for items that require the user's presence.
package struct PresenceAccess: Sendable {
    /// How a call treats an item that requires the user's presence.
    package enum Rule: Hashable, Sendable {
        /// It needs a sufficient proof. Without one the result is ``ItemResult/needsPerson(_:)``.
        case demanding
        /// Without a sufficient proof it is left out.
        case skipping
        /// It is found like any other item, without its value: for calls that never ask the user.
        case naming
    }

    /// Which fingers are enrolled.
    package enum Enrolment: Hashable, Sendable {
        /// Not known. Until the caller knows, an item that is bound to fingers results in a demand.
        case unknown
        /// The answers of an ``Authenticator`` for each reader with enrolled fingers.
        case known([[UInt8]])
    }

    /// How the call treats an item that requires the user's presence.
    package var rule: Rule
    /// The user's proof; nil for none.
    package var proof: PresenceProof?
    /// Which fingers are enrolled.
    package var enrolment: Enrolment
    /// Passwords, each stretched for a box that it opens.
    package var passwords: [StretchedPassword] = []
    /// The password for values that this call seals under a password for the first time.
    package var newPassword: StretchedPassword?
    /// Whether the call leaves out items whose passwords it does not have.
    package var skipsPasswords = false

    package init(
        _ rule: Rule, proof: PresenceProof? = nil, enrolment: Enrolment = .unknown
    ) {
        self.rule = rule
        self.proof = proof
        self.enrolment = enrolment
    }
}

extension PresenceAccess {
    /// The password that opens `lock`; nil if the call does not have it.
    package func password(for lock: PassphraseBox) -> StretchedPassword? {
        passwords.first { $0.opens(lock) }
    }

    /// Judges whether this opens an item with `accessControl`, whose value is sealed to
    /// `recipient`.
    ///
    /// An item is absent if it is bound to fingers that are no longer enrolled, and nothing else
    /// opens it (spec/secitem.md §10.7). Only the current answer of the reader decides that: a
    /// proof may be older than the item, or of another keychain.
    package func judge(
        _ accessControl: AccessControl, sealedTo pair: PresencePair, of recipient: Recipient?
    ) -> ItemResult<Void> {
        let demand = demand(of: accessControl)
        if accessControl.enrolment != nil, demand.isImpossible { return .absent }
        switch rule {
        case .naming:
            let isKnown = accessControl.enrolment == nil || enrolment != .unknown
            return isKnown ? .found(()) : .needsPerson(.proofs([accessControl]))
        case .demanding, .skipping:
            guard let proof, let recipient, demand.isMet(by: proof.factors(for: accessControl)),
                proof.keys.contains(where: { $0.has(pair, of: recipient) })
            else { return rule == .skipping ? .absent : .needsPerson(.proofs([accessControl])) }
            return .found(())
        }
    }

    private func demand(of accessControl: AccessControl) -> AccessControl.Demand {
        switch enrolment {
        case .known(let enrolled): accessControl.demand(enrolled: enrolled)
        case .unknown: accessControl.demand
        }
    }
}
