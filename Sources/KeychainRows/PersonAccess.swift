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

/// Items that need a person, in a write transaction.
extension RowTransaction {
    /// Checks that an item may get an access control (spec/secitem.md §10.3, §10.6).
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for a synchronizable item,
    ///   `passcodeNotSet`, `authenticationFailed` if it can never be met.
    package func check(
        _ accessControl: AccessControl, isSynchronizable: Bool
    ) throws(KeychainFailure) {
        guard !isSynchronizable else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "an item with an access control cannot be synchronizable")
        }
        let constraints = accessControl.constraints
        guard !constraints.contains(.privateKeyUsage), !accessControl.demand.isImpossible else {
            throw KeychainFailure(
                .authenticationFailed, during: operation,
                message: "nobody could ever meet this access control")
        }
        guard let pair = accessControl.presencePair else { return }
        guard state.newest.recipients[pair] != nil else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                message: "items that need a person need a passcode",
                hint: "set one with `valet passcode set`")
        }
        guard !constraints.contains(.biometryCurrentSet) || accessControl.enrolment != nil else {
            throw KeychainFailure(
                .authenticationFailed, during: operation,
                message: "the item is to be bound to the fingers that are enrolled, "
                    + "and no reader here has any",
                hint: "enroll one with `fprintd-enroll`, in a program that is built with the "
                    + "trait Fingerprint, or use an access control that takes the passcode")
        }
    }

    /// Judges whether the call may change an item, by its access control.
    package func judge(_ opened: OpenedRow) throws(RowFailure) -> ItemResult<Void> {
        guard let pair = opened.row.header.flags.presence,
            let accessControl = try opened.content.accessControl
        else { return .found(()) }
        let recipient = try state.cipher(opening: opened.row.header).recipients[pair]
        var access = access
        // A write must not take an item that it may not open for an absent one.
        if access.rule == .skipping { access.rule = .demanding }
        return access.judge(accessControl, sealedTo: pair, of: recipient)
    }

    /// Before an item is called a duplicate of another: spec/secitem.md §10.4.
    ///
    /// - Throws: ``PersonDemand/proofs(_:)``; nothing has been written then.
    package func demandProof(for existing: FoundRow?) throws {
        guard case .row(let row)? = existing, row.header.flags.presence != nil,
            !row.header.flags.contains(.tombstone)
        else { return }
        let opened: OpenedRow?
        do throws(RowFailure) {
            opened = try openIfSound(row)
        } catch {
            // One that is locked is a duplicate, whatever it needs.
            return
        }
        if let opened, case .needsPerson(let demand) = try judge(opened) { throw demand }
    }
}
