// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// What a policy lets one program do.
struct AccessDecision: Sendable {
    let program: AskingProgram
    /// The version of the policy.
    let version: Int
    private let rules: [AccessPolicy.Rule]
    /// The collections that a person has let the program use. Each yes ends with the next lock.
    var granted: [String: LockPeriod] = [:]
    /// Those of them whose yes ends with the next use.
    var once: Set<String> = []
    /// The collections for which the keychain has a lasting yes, as it was when the call came.
    var lasting: [String: AccessGrant] = [:]
    /// Notes that the program uses a collection by a lasting yes.
    var noteUse: (@Sendable (AccessGrant) -> Void)?
    /// Notes that the program gets the secret at a path; nil if the policy does not log reads.
    let note: (@Sendable (String) -> Void)?

    /// - Parameter places: Where the paths of the policy lead.
    init(
        _ program: AskingProgram, _ policy: AccessPolicy, version: Int,
        _ places: [String: PolicyPaths.Place], _ note: @escaping @Sendable (String) -> Void
    ) {
        (self.program, self.version) = (program, version)
        rules = policy.rules.filter { $0.isFor(program, places) }
        self.note = policy.notesReads ? note : nil
    }

    /// Whether a person decides about a collection.
    var mayAsk: Bool { rules.contains { $0.access == .ask } }

    /// Whether a rule that names the program denies the collection to it.
    func isRefusedByName(_ collection: String) -> Bool {
        rules.first {
            $0.program != AccessPolicy.Rule.everything
                && [AccessPolicy.Rule.everything, collection].contains($0.collection)
        }?.access == .deny
    }

    /// The access by the first rule for the program and the collection; `allow` without one. Nobody
    /// can be asked for a program that is not wholly known.
    func access(to collection: String) -> AccessPolicy.Access {
        let rule = rules.first {
            [AccessPolicy.Rule.everything, collection].contains($0.collection)
        }
        guard let rule else { return .allow }
        guard rule.access == .ask else { return rule.access }
        guard program.isWhollyKnown else { return .deny }
        // A yes answers what the policy asks, and nothing that it denies.
        return granted[collection] != nil || lasting[collection] != nil ? .allow : .ask
    }

    /// The same without each yes that a lock has ended.
    ///
    /// - Parameter period: The present one; nil if it is not known.
    func during(_ period: LockPeriod?) -> AccessDecision {
        var access = self
        access.granted = granted.filter { $0.value == period }
        access.once = once.filter { access.granted[$0] != nil }
        return access
    }

    /// The keychain keeps a lasting yes.
    mutating func add(_ consent: Consent) {
        guard consent.term != .always else { return }
        for name in consent.collections { granted[name] = consent.period }
        if consent.term == .once { once.formUnion(consent.collections) }
    }

    /// The same after a use, which ends each yes that was for one.
    func afterUse() -> AccessDecision {
        var access = self
        for name in once { access.granted[name] = nil }
        access.once = []
        return access
    }

    func noteUse(of collection: String) {
        guard granted[collection] == nil, let grant = lasting[collection] else { return }
        noteUse?(grant)
    }
}
