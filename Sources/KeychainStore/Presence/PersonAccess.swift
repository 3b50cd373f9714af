// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
internal import ValetSealing

/// What a call brings along for items that need a person.
package struct PersonAccess: Sendable {
    /// What becomes of an item that needs a person.
    package enum Rule: Hashable, Sendable {
        /// It takes a proof that suffices. Without one the call answers
        /// ``Answer/authenticationRequired(_:)``.
        case demanding
        /// It is left out where there is no proof that suffices.
        case skipping
        /// It is there like any other, but for its value: for calls that never ask anybody.
        case naming
    }

    /// Which fingers are enrolled.
    package enum Enrolment: Hashable, Sendable {
        /// Nobody has looked. An item that is bound to fingers is demanded until somebody has.
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

/// What a call that may need a person comes to.
package enum Answer<Result: Sendable>: Sendable {
    /// What was asked for.
    case done(Result)
    /// Nothing was done: these have to be proved first, all of them. Each is there once, with the
    /// fingers that it is bound to.
    case authenticationRequired([AccessControl])
    /// Nothing was done: these passwords are needed first.
    case passwordRequired(PasswordDemand)

    /// The result, where there is nobody to ask.
    ///
    /// - Throws: ``KeychainFailure/Code/interactionNotAllowed``.
    func get(_ operation: String) throws(KeychainFailure) -> Result {
        switch self {
        case .done(let result): return result
        case .authenticationRequired, .passwordRequired:
            throw KeychainFailure(.interactionNotAllowed, during: operation)
        }
    }
}

/// Thrown inside a transaction that has not written anything.
struct AuthenticationDemand: Error {
    let accessControl: AccessControl
}

/// What is to become of one item.
enum Verdict {
    /// It may be opened.
    case open
    /// It takes more than was proved, or what it is bound to has to be looked up.
    case demanded
    /// It is left out.
    case skipped
    /// It is bound to fingers that are enrolled no longer, and nothing else opens it: as good as
    /// not there (spec/secitem.md §10.7).
    case gone
}

extension PersonAccess {
    /// The password that opens `lock`; nil if it is not here.
    func password(for lock: PasswordLock) -> StretchedPassword? {
        passwords.first { $0.opens(lock) }
    }

    /// What is to become of an item with `accessControl`, the value of which is sealed to
    /// `recipient`.
    ///
    /// Only what the reader says now makes an item ``Verdict/gone``. A proof may be older than the
    /// item, or of another keychain: it opens what it is enough for, and ends nothing.
    func verdict(
        on accessControl: AccessControl, sealedTo pair: PresencePair, of recipient: Recipient?
    ) -> Verdict {
        let demand = demand(of: accessControl)
        if accessControl.enrolment != nil, demand.isImpossible { return .gone }
        switch rule {
        case .naming:
            return accessControl.enrolment != nil && enrolment == .unknown ? .demanded : .open
        case .demanding, .skipping:
            guard let proof, let recipient, demand.isMet(by: proof.factors(for: accessControl)),
                proof.keys.contains(where: { $0.has(pair, of: recipient) })
            else { return rule == .skipping ? .skipped : .demanded }
            return .open
        }
    }

    private func demand(of accessControl: AccessControl) -> AccessControl.Demand {
        switch enrolment {
        case .known(let enrolled): accessControl.demand(enrolled: enrolled)
        case .unknown: accessControl.demand
        }
    }
}
