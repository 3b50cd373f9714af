// SPDX-License-Identifier: Apache-2.0

package import ValetKeybag
package import ValetKeychainModel
package import ValetSealing

/// What a call brings along for items that need a person.
package struct PersonAccess: Sendable {
    /// What becomes of an item that needs a person.
    package enum Rule: Hashable, Sendable {
        /// It takes a proof that suffices. Without one the result is
        /// ``ItemResult/needsPerson(_:)``.
        case demanding
        /// It is left out where there is no proof that suffices.
        case skipping
        /// It is there like any other, but for its value: for calls that never ask the user.
        case naming
    }

    /// Which fingers are enrolled.
    package enum Enrolment: Hashable, Sendable {
        /// Not known. An item that is bound to fingers is demanded until the caller knows.
        case unknown
        /// What an ``Authenticator`` said of each reader that has fingers.
        case known([[UInt8]])
    }

    /// What becomes of an item that needs a person.
    package var rule: Rule
    /// What was proved; nil for nothing.
    package var proof: PresenceProof?
    /// Which fingers are enrolled.
    package var enrolment: Enrolment
    /// Passwords, each stretched for a box that it opens.
    package var passwords: [StretchedPassword] = []
    /// The password for values that are to be sealed under one, and are not yet.
    package var newPassword: StretchedPassword?
    /// Whether items whose passwords are not here are left out.
    package var skipsPasswords = false

    /// By default nothing was proved, and nothing is known.
    package init(
        _ rule: Rule, proof: PresenceProof? = nil, enrolment: Enrolment = .unknown
    ) {
        self.rule = rule
        self.proof = proof
        self.enrolment = enrolment
    }
}

extension PersonAccess {
    /// The password that opens `lock`; nil if it is not here.
    package func password(for lock: PasswordLock) -> StretchedPassword? {
        passwords.first { $0.opens(lock) }
    }

    /// Judges whether this opens an item with `accessControl`, the value of which is sealed to
    /// `recipient`.
    ///
    /// An item that is bound to fingers which are no longer enrolled, and which nothing else opens,
    /// is absent (spec/secitem.md §10.7). Only what the reader says now makes it absent: a proof
    /// may be older than the item, or of another keychain.
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
