// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem

/// Asking for what a call needs, outside the store, and asking the store again.
extension KeychainSession {
    /// How often a call asks, at most (spec/secitem.md §10.5).
    private static var roundCount: Int { 20 }
    /// How long a person may take, all in all.
    private static var patience: Duration { .seconds(60) }

    /// Runs `body` until it has all the proofs that it demands.
    ///
    /// - Throws: What `body` throws, and what the policy's authenticator does;
    ///   `interactionNotAllowed` where the policy asks nobody.
    @inline(__always)
    func authenticating<R>(
        _ policy: AuthenticationPolicy, _ rule: PersonAccess.Rule, _ operation: String,
        _ body: (PersonAccess) throws(KeychainFailure) -> Answer<R>
    ) throws(KeychainFailure) -> R {
        let access = PersonAccess(rule, proof: policy.authenticator?.rememberedProof)
        let answer = try body(access)
        if case .done(let result) = answer { return result }
        return try authenticate(PresenceInquiry(policy, operation), answer, access, body)
    }

    @inline(never)
    private func authenticate<R>(
        _ inquiry: PresenceInquiry, _ first: Answer<R>, _ access: PersonAccess,
        _ body: (PersonAccess) throws(KeychainFailure) -> Answer<R>
    ) throws(KeychainFailure) -> R {
        let deadline = Deadline(after: Self.patience)
        var answer = first
        var access = access
        for _ in 0..<Self.roundCount {
            switch answer {
            case .done(let result): return result
            case .authenticationRequired(let demands):
                try inquiry.answer(demands, &access, in: store, before: deadline)
            case .passwordRequired(let demand):
                try inquiry.answer(demand, &access, store.stretching, before: deadline)
            }
            answer = try body(access)
        }
        if case .done(let result) = answer { return result }
        throw KeychainFailure(
            .authenticationFailed, during: inquiry.operation,
            message: "what was proved was never enough")
    }

    /// `item` with its access control bound to the fingers that are enrolled now, if it is about
    /// those.
    ///
    /// - Throws: What the authenticator throws if that cannot be found out.
    func bound(
        _ item: NewItem, _ policy: AuthenticationPolicy
    ) throws(KeychainFailure) -> NewItem {
        guard let accessControl = item.accessControl else { return item }
        var item = item
        item.accessControl = try bound(accessControl, policy)
        return item
    }

    /// As the other, of an access control.
    func bound(
        _ accessControl: AccessControl, _ policy: AuthenticationPolicy
    ) throws(KeychainFailure) -> AccessControl {
        guard accessControl.constraints.contains(.biometryCurrentSet),
            accessControl.enrolment == nil
        else { return accessControl }
        return accessControl.bound(to: try policy.chosenAuthenticator.enrolments().first)
    }
}

/// What has to be asked, and whom.
private struct PresenceInquiry {
    let policy: AuthenticationPolicy
    let operation: String

    init(_ policy: AuthenticationPolicy, _ operation: String) {
        self.policy = policy
        self.operation = operation
    }

    /// Looks which fingers are enrolled, if that was not done and matters; else asks a person.
    func answer(
        _ demands: [AccessControl], _ access: inout PersonAccess, in store: ItemStore,
        before deadline: Deadline
    ) throws(KeychainFailure) {
        let authenticator = policy.chosenAuthenticator
        if access.enrolment == .unknown, demands.contains(where: { $0.enrolment != nil }) {
            access.enrolment = .known(try authenticator.enrolments())
            return
        }
        guard policy.userInterface == .allow else {
            throw KeychainFailure(
                .interactionNotAllowed, during: operation,
                message: "the item needs a person, and nobody may be asked")
        }
        let proof = try authenticator.proof(
            for: demands, reason: policy.reason, store: store, deadline: deadline)
        // What was remembered may be of keys that were changed since: that counts for nothing.
        if let earlier = access.proof, store.isCurrent(earlier) {
            access.proof = earlier.adding(proof)
        } else {
            access.proof = proof
        }
        // Others may have been enrolled while the person was asked. If the proof is enough nobody
        // has to know.
        access.enrolment = .unknown
    }

    /// Gets passwords: those of the application, or of a person who may be asked. In a search that
    /// leaves out what needs a person, it leaves out what the others would open.
    func answer(
        _ demand: PasswordDemand, _ access: inout PersonAccess, _ stretching: PasscodeStretching,
        before deadline: Deadline
    ) throws(KeychainFailure) {
        let authenticator = policy.chosenAuthenticator
        let inquiry = PasswordInquiry(
            reason: policy.reason, mayAsk: policy.userInterface == .allow, deadline: deadline)
        switch demand {
        case .new: access.newPassword = try authenticator.newPassword(stretching, inquiry)
        case .existing(let locks):
            guard access.rule == .skipping else {
                access.passwords += try authenticator.passwords(opening: locks, inquiry)
                return
            }
            access.passwords += try authenticator.givenPasswords(opening: locks, inquiry)
            access.skipsPasswords = true
        }
    }
}

extension AuthenticationPolicy {
    /// What becomes of items that need a person, in a search.
    var searchRule: PersonAccess.Rule { userInterface == .skip ? .skipping : .demanding }
}
