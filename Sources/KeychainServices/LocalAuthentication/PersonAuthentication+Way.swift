// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// What a person is asked for.
struct Way {
    let factors: AccessControl.Factors
    /// On which reader a finger is shown: the one with these fingers.
    let enrolment: [UInt8]?

    init(_ factors: AccessControl.Factors, _ enrolment: [UInt8]? = nil) {
        (self.factors, self.enrolment) = (factors, enrolment)
    }

    /// Whether it is all that an item with `accessControl` takes, beside what was shown.
    func isEnough(for accessControl: AccessControl, beside known: PresenceProof?) -> Bool {
        var factors = factors
        if let bound = accessControl.enrolment, bound != enrolment {
            factors.remove(.fingerprint)
        }
        let shown = known?.factors(for: accessControl) ?? []
        return accessControl.demand.isMet(by: shown.union(factors))
    }
}

extension PersonAuthentication {
    /// What to ask for: the easiest factors that are enough, beside those that were shown.
    ///
    /// Where items are bound to several readers, what it takes for the first of them.
    /// - Throws: ``AuthenticationRefusal``: why there is no way, or nobody to ask.
    func way(
        to demands: [AccessControl], beside known: PresenceProof?
    ) throws(AuthenticationRefusal) -> Way {
        let reader = means.reader.map { $0.state(until: deadline) } ?? .noReader
        let ways = ways(reader.enrolments)
        var way = ways.first { way in
            demands.allSatisfy { way.isEnough(for: $0, beside: known) }
        }
        for demand in demands where known?.satisfies(demand) != true {
            let step = ways.first { $0.isEnough(for: demand, beside: known) }
            // One that nobody can meet now is not worth a question for the others.
            guard let step else { throw refusal(of: demands, reader) }
            if way == nil { way = step }
        }
        guard let way else { throw refusal(of: demands, reader) }
        // Fingers open nothing without a passcode, either: the keychain is not locked then.
        guard try hasPasscode() else { throw .passcodeNotSet }
        if credential == nil || way.factors.contains(.fingerprint) {
            try question.checkThatSomebodyIsThere()
        }
        return way
    }

    /// All that a person could be asked for, the easiest first.
    private func ways(_ enrolments: [[UInt8]]) -> [Way] {
        let passcode = Way(.passcode)
        let ways =
            enrolments.map { Way(.fingerprint, $0) } + [passcode]
            + enrolments.map { Way([.fingerprint, .passcode], $0) }
        // A passcode that was given already asks nobody.
        return credential == nil ? ways : [passcode] + ways
    }

    /// Why there is no way.
    private func refusal(
        of demands: [AccessControl], _ reader: BiometryState
    ) -> AuthenticationRefusal {
        guard !demands.contains(where: \.demand.isImpossible) else { return .impossible }
        switch reader {
        case .noReader: return .noReader
        case .notEnrolled: return .notEnrolled
        case .lockedOut: return .lockedOut
        case .enrolled(let enrolments):
            // Bound to other fingers than its reader has, or to a reader that is not there.
            let isOfOthers = demands.contains { $0.demand(enrolled: enrolments).isImpossible }
            return isOfOthers ? .wrong : .noReader
        }
    }
}
