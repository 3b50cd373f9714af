// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import KeychainStore

/// Asking for what a call needs, outside the store, and asking the store again.
extension KeychainSession {
    /// How often a call asks, at most (keychain-semantics §10.5).
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
        switch try body(access) {
        case .done(let result): return result
        case .authenticationRequired(let demands):
            return try authenticate(
                PresenceInquiry(policy, demands, operation), access, body)
        }
    }

    @inline(never)
    private func authenticate<R>(
        _ first: PresenceInquiry, _ access: PersonAccess,
        _ body: (PersonAccess) throws(KeychainFailure) -> Answer<R>
    ) throws(KeychainFailure) -> R {
        let deadline = Deadline(after: Self.patience)
        var inquiry = first
        var access = access
        for _ in 0..<Self.roundCount {
            try inquiry.answer(&access, in: store, before: deadline)
            switch try body(access) {
            case .done(let result): return result
            case .authenticationRequired(let demands): inquiry.demands = demands
            }
        }
        throw KeychainFailure(
            .authenticationFailed, during: first.operation,
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
    var demands: [AccessControl]

    init(_ policy: AuthenticationPolicy, _ demands: [AccessControl], _ operation: String) {
        self.policy = policy
        self.operation = operation
        self.demands = demands
    }

    /// Looks which fingers are enrolled, if that was not done and matters; else asks a person.
    func answer(
        _ access: inout PersonAccess, in store: ItemStore, before deadline: Deadline
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
}

extension AuthenticationPolicy {
    /// What becomes of items that need a person, in a search.
    var searchRule: PersonAccess.Rule { userInterface == .skip ? .skipping : .demanding }
}
