// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// One authentication: asks the user for the demanded proofs that are still missing.
/// ``ContextAuthenticator`` makes one for each question.
///
/// Asks for a finger first, if one helps. If the item allows it, the passcode replaces the finger
/// when the finger fails, when it does not come in half of the time, or when the user prefers the
/// passcode. The user has three tries with each; the reader counts those with fingers. The
/// authentication ends by the deadline, or two seconds later if a pinentry has to be ended.
struct PresenceAuthentication {
    let question: SecretQuestion
    let fallbackTitle: String?
    let credential: SecretValue?
    let store: ItemStore

    var means: AuthenticationMeans { question.means }
    var deadline: Deadline { question.deadline }
    var cancellation: Cancellation { question.cancellation }

    /// Gets proof of everything that `demands` need in addition to `known`, the earlier proof.
    ///
    /// - Returns: The new proof, with `known` in it.
    func prove(
        _ demands: [AccessControl], beside known: PresenceProof?
    ) throws(KeychainFailure) -> PresenceProof {
        let way = try way(to: demands, beside: known)
        var proof = known
        if way.factors.contains(.fingerprint) {
            let hasOther = demands.allSatisfy {
                $0.demand.isMet(by: (known?.factors(for: $0) ?? []).union(.passcode))
            }
            do {
                // A question for the passcode may follow, and needs time.
                let leavesTime = hasOther || way.factors.contains(.passcode)
                let time = deadline.remaining / (leavesTime ? 2 : 1)
                let enrolled = try enrolmentOfFinger(
                    way.enrolment, orPasscode: hasOther, until: Deadline(after: time))
                proof = merged(proof, try store.presenceProof(fingerprint: enrolled))
            } catch {
                guard error.leavesPasscode, hasOther else { throw error }
                return merged(proof, try provePasscode())
            }
        }
        if way.factors.contains(.passcode) { proof = merged(proof, try provePasscode()) }
        guard let proof else { throw .refused(.otherDeviceNeeded) }
        return proof
    }

    private func merged(_ known: PresenceProof?, _ newer: PresenceProof) -> PresenceProof {
        known?.adding(newer) ?? newer
    }

    func provePasscode() throws(KeychainFailure) -> PresenceProof {
        if let credential {
            let copy = credential.withBytes { SecretBytes(copying: $0) }
            guard let proof = try proof(ofPasscode: copy) else { throw .refused(.wrongAnswer) }
            return proof
        }
        var problem: String?
        let line = "\(means.application()) asks for the passcode of your keychain."
        for left in (0..<SecretQuestion.tryCount).reversed() {
            let typed = try question.ask(line, label: "Passcode", problem: problem)
            if let proof = try proof(ofPasscode: typed) { return proof }
            problem = SecretQuestion.wrong("passcode", triesLeft: left)
        }
        throw .refused(.wrongAnswer)
    }

    /// Waits for an enrolled finger.
    ///
    /// - Parameter hasOther: Whether the user may choose the passcode instead.
    /// - Returns: The fingers that were enrolled when one of them matched.
    private func enrolmentOfFinger(
        _ enrolment: [UInt8]?, orPasscode hasOther: Bool, until deadline: Deadline
    ) throws(KeychainFailure) -> [UInt8] {
        guard let reader = means.reader else { throw .refused(.biometryNotAvailable) }
        let title = fallbackTitle.flatMap { $0.isEmpty ? nil : $0 } ?? "Use the passcode"
        let notice = FingerNotice(
            ["\(means.application()) asks for your finger."] + question.saidReason,
            cancelTitle: question.cancelTitle, offering: hasOther ? title : nil, by: means.asker,
            until: deadline)
        cancellation.listen { notice.cancel() }
        defer { cancellation.stopListening() }
        do {
            let enrolled = try reader.verify(
                enrolment, until: deadline, cancellation: notice.waiting, tell: notice.tell)
            // The finger came first, so an answer to the notice no longer counts.
            _ = notice.finish()
            return enrolled
        } catch {
            throw refusal(error, notice.finish())
        }
    }

    private func refusal(
        _ error: SystemError, _ outcome: FingerNotice.Outcome?
    ) -> KeychainFailure {
        let isEnded = cancellation.isCancelled
        guard error.code == .cancelled, !isEnded, let outcome else {
            return .refused(finger: error, isEnded: isEnded)
        }
        return switch outcome {
        case .passcode: .refused(.passcodePreferred)
        case .failed(let error): .refused(error, isEnded: false)
        case .notShown: .refused(.notInteractive)
        }
    }

    /// The proof that a passcode makes; nil for a wrong one. Takes as long as stretching does.
    private func proof(
        ofPasscode typed: borrowing SecretBytes
    ) throws(KeychainFailure) -> PresenceProof? {
        do {
            return try store.presenceProof(passcode: typed)
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            return nil
        }
    }
}

extension BiometryState {
    /// The enrolled fingers of each reader; empty unless a finger can be verified.
    var enrolments: [[UInt8]] {
        if case .enrolled(let enrolments) = self { enrolments } else { [] }
    }
}

/// Factors that the user can be asked for.
struct Way {
    let factors: AccessControl.Factors
    /// Selects the reader that has these fingers.
    let enrolment: [UInt8]?

    init(_ factors: AccessControl.Factors, _ enrolment: [UInt8]? = nil) {
        (self.factors, self.enrolment) = (factors, enrolment)
    }

    /// Whether these factors and `known` open an item with `accessControl`.
    func isEnough(for accessControl: AccessControl, beside known: PresenceProof?) -> Bool {
        var factors = factors
        if let bound = accessControl.enrolment, bound != enrolment {
            factors.remove(.fingerprint)
        }
        let shown = known?.factors(for: accessControl) ?? []
        return accessControl.demand.isMet(by: shown.union(factors))
    }
}

extension PresenceAuthentication {
    /// What to ask for: the easiest factors that suffice beside `known`.
    ///
    /// If no factors suffice for all items, because they are bound to several readers, the factors
    /// are for the first item that still needs proof.
    /// - Throws: ``KeychainFailure``: why there is no way, or why the user cannot be asked.
    func way(
        to demands: [AccessControl], beside known: PresenceProof?
    ) throws(KeychainFailure) -> Way {
        let reader = means.reader.map { $0.state(until: deadline) } ?? .noReader
        let ways = ways(reader.enrolments)
        var way = ways.first { way in
            demands.allSatisfy { way.isEnough(for: $0, beside: known) }
        }
        for demand in demands where known?.satisfies(demand) != true {
            let step = ways.first { $0.isEnough(for: demand, beside: known) }
            // If one demand cannot be met now, asking for the others would be useless.
            guard let step else { throw .refused(reason(against: demands, reader)) }
            if way == nil { way = step }
        }
        guard let way else { throw .refused(reason(against: demands, reader)) }
        // Without a passcode the keychain is never locked, so fingers would prove nothing either.
        let found = try store.keychain.availability()
        if let fault = found.fault { throw fault }
        guard found.state != .noPasscode, found.state != .absent else {
            throw .refused(.noPasscode)
        }
        if credential == nil || way.factors.contains(.fingerprint) {
            try question.checkThatSomebodyIsThere()
        }
        return way
    }

    /// All factors that the user could be asked for, the easiest first.
    private func ways(_ enrolments: [[UInt8]]) -> [Way] {
        let passcode = Way(.passcode)
        let ways =
            enrolments.map { Way(.fingerprint, $0) } + [passcode]
            + enrolments.map { Way([.fingerprint, .passcode], $0) }
        // A passcode that the application has set needs no question.
        return credential == nil ? ways : [passcode] + ways
    }

    private func reason(
        against demands: [AccessControl], _ reader: BiometryState
    ) -> SystemError.Code {
        guard !demands.contains(where: \.demand.isImpossible) else { return .otherDeviceNeeded }
        switch reader {
        case .noReader: return .biometryNotAvailable
        case .notEnrolled: return .biometryNotEnrolled
        case .lockedOut: return .biometryLockout
        case .enrolled(let enrolments):
            // An item may be bound to fingers that its reader no longer has, or to an absent
            // reader.
            let isOfOthers = demands.contains { $0.demand(enrolled: enrolments).isImpossible }
            return isOfOthers ? .wrongAnswer : .biometryNotAvailable
        }
    }
}
