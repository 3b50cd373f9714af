// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem

/// The loop between the store and the user: the store names an item's demand, an ``Authenticator``
/// gets the proof from the user outside of every transaction, and the store is asked again.
extension KeychainSession {
    /// The highest number of demands that one call answers (spec/secitem.md §10.5).
    private static var roundCount: Int { 20 }
    /// How long the user may take for all questions of a call.
    private static var patience: Duration { .seconds(60) }

    /// Runs `body` until it has all the proofs that it demands.
    ///
    /// - Throws: What `body` and the policy's authenticator throw; `itemNotFound` for an absent
    ///   item; `interactionNotAllowed` if the policy does not allow questions.
    @inline(__always)
    func authenticating<R>(
        _ policy: AuthenticationPolicy, _ rule: PresenceAccess.Rule, _ operation: String,
        _ body: (PresenceAccess) throws(KeychainFailure) -> ItemResult<R>
    ) throws(KeychainFailure) -> R {
        let access = PresenceAccess(rule, proof: policy.authenticator?.rememberedProof)
        let result = try body(access)
        if case .found(let found) = result { return found }
        return try authenticate(PresenceInquiry(policy, operation), result, access, body)
    }

    @inline(never)
    private func authenticate<R>(
        _ inquiry: PresenceInquiry, _ first: ItemResult<R>, _ access: PresenceAccess,
        _ body: (PresenceAccess) throws(KeychainFailure) -> ItemResult<R>
    ) throws(KeychainFailure) -> R {
        let deadline = store.deadline(after: Self.patience)
        var result = first
        var access = access
        for round in 0...Self.roundCount {
            switch result {
            case .found(let found): return found
            case .absent: throw store.keychain.notFound(inquiry.operation)
            case .needsPerson(let demand) where round < Self.roundCount:
                try inquiry.answer(demand, &access, in: store, before: deadline)
                result = try body(access)
            case .needsPerson: break
            }
        }
        throw KeychainFailure(
            .authenticationFailed, during: inquiry.operation,
            message: "the item demanded another proof after each answer")
    }

}

private struct PresenceInquiry {
    let policy: AuthenticationPolicy
    let operation: String

    init(_ policy: AuthenticationPolicy, _ operation: String) {
        self.policy = policy
        self.operation = operation
    }

    func answer(
        _ demand: PresenceDemand, _ access: inout PresenceAccess, in store: ItemStore,
        before deadline: Deadline
    ) throws(KeychainFailure) {
        let authenticator = policy.chosenAuthenticator
        let inquiry = PasswordInquiry(
            reason: policy.reason, mayAsk: policy.userInterface == .allow, deadline: deadline)
        switch demand {
        case .proofs(let demands): try prove(demands, &access, in: store, before: deadline)
        case .newPassword:
            access.newPassword = try authenticator.newPassword(store.stretching, inquiry)
        case .passwords(let locks):
            // A search that leaves out items which need the user also leaves out items whose
            // password the application does not give.
            let skips = access.rule == .skipping
            access.passwords += try authenticator.passwords(
                opening: locks, isComplete: !skips, inquiry)
            if skips { access.skipsPasswords = true }
        }
    }

    /// Finds out which fingers are enrolled, if that matters and is not known. Otherwise asks the
    /// user.
    private func prove(
        _ demands: [AccessControl], _ access: inout PresenceAccess, in store: ItemStore,
        before deadline: Deadline
    ) throws(KeychainFailure) {
        let authenticator = policy.chosenAuthenticator
        if access.enrolment == .unknown, demands.contains(where: { $0.enrolment != nil }) {
            access.enrolment = .known(
                try authenticator.enrolments(until: store.readerDeadline))
            return
        }
        guard policy.userInterface == .allow else {
            throw KeychainFailure(
                .interactionNotAllowed, during: operation,
                message: "the item needs the user, and the call forbids questions")
        }
        let proof = try authenticator.proof(
            for: demands, reason: policy.reason, store: store, deadline: deadline)
        // A remembered proof that belongs to replaced keys is worthless.
        if let earlier = access.proof, store.keychain.isCurrent(earlier) {
            access.proof = earlier.adding(proof)
        } else {
            access.proof = proof
        }
        // Fingers may have been enrolled during the question. The enrolled fingers are read again
        // only if the proof does not suffice.
        access.enrolment = .unknown
    }
}

extension ItemStore {
    /// When a call stops waiting for fingerprint readers to report the enrolled fingers.
    fileprivate var readerDeadline: Deadline {
        let usual = Deadline(after: ContextAuthenticator.readerPatience)
        return end.map { min($0, usual) } ?? usual
    }
}

extension AuthenticationPolicy {
    /// As ``bind(_:in:)-(NewItem,_)``.
    func bind(_ addition: Addition, in store: ItemStore) throws(KeychainFailure) -> Addition {
        var addition = addition
        addition.item = try bind(addition.item, in: store)
        return addition
    }

    /// `item` with its access control bound to the fingers that are enrolled now, if the access
    /// control demands those.
    ///
    /// - Throws: What the authenticator throws if it cannot find out which fingers are enrolled.
    func bind(_ item: NewItem, in store: ItemStore) throws(KeychainFailure) -> NewItem {
        guard let accessControl = item.accessControl else { return item }
        var item = item
        item.accessControl = try bind(accessControl, in: store)
        return item
    }

    /// `accessControl`, bound to the fingers that are enrolled now, if it demands those.
    func bind(
        _ accessControl: AccessControl, in store: ItemStore
    ) throws(KeychainFailure) -> AccessControl {
        guard accessControl.constraints.contains(.biometryCurrentSet),
            accessControl.enrolment == nil
        else { return accessControl }
        let enrolments = try chosenAuthenticator.enrolments(until: store.readerDeadline)
        return accessControl.bound(to: enrolments.first)
    }

    var searchRule: PresenceAccess.Rule { userInterface == .skip ? .skipping : .demanding }
}
