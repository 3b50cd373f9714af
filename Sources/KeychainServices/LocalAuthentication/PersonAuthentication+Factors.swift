// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetUserPresence

extension PersonAuthentication {
    /// - Parameter hasOther: Whether the person may prefer the passcode.
    func proveFinger(
        of enrolment: [UInt8]?, orPasscode hasOther: Bool, until deadline: Deadline
    ) throws(AuthenticationRefusal) -> PresenceProof {
        let enrolled = try enrolmentOfFinger(enrolment, orPasscode: hasOther, until: deadline)
        do throws(KeychainFailure) {
            return try store.presenceProof(fingerprint: enrolled)
        } catch {
            throw .keychain(error)
        }
    }

    func provePasscode() throws(AuthenticationRefusal) -> PresenceProof {
        if let credential {
            let copy = credential.withBytes { SecretBytes(copying: $0) }
            guard let proof = try proof(ofPasscode: copy) else { throw .wrong }
            return proof
        }
        var problem: String?
        let line = "\(means.application()) asks for the passcode of your keychain."
        for left in (0..<SecretQuestion.tryCount).reversed() {
            let typed = try question.ask(line, label: "Passcode", problem: problem)
            if let proof = try proof(ofPasscode: typed) { return proof }
            problem = SecretQuestion.wrong("passcode", triesLeft: left)
        }
        throw .wrong
    }

    /// What was enrolled while a finger matched.
    private func enrolmentOfFinger(
        _ enrolment: [UInt8]?, orPasscode hasOther: Bool, until deadline: Deadline
    ) throws(AuthenticationRefusal) -> [UInt8] {
        guard let reader = means.reader else { throw .noReader }
        let title = fallbackTitle.flatMap { $0.isEmpty ? nil : $0 } ?? "Use the passcode"
        let notice = FingerNotice(
            ["\(means.application()) asks for your finger."] + question.saidReason,
            cancelTitle: question.cancelTitle, offering: hasOther ? title : nil, by: means.asker,
            until: deadline)
        cancellation.listen { notice.cancel() }
        defer { cancellation.stopListening() }
        do throws(BiometryFailure) {
            let enrolled = try reader.verify(
                enrolment, until: deadline, cancellation: notice.waiting, tell: notice.tell)
            // What the person did in the same moment is late.
            _ = notice.finish()
            return enrolled
        } catch {
            throw refusal(error, notice.finish())
        }
    }

    private func refusal(
        _ failure: BiometryFailure, _ outcome: FingerNotice.Outcome?
    ) -> AuthenticationRefusal {
        let isEnded = cancellation.isCancelled
        guard failure == .cancelled, !isEnded, let outcome else {
            return AuthenticationRefusal(failure, isEnded: isEnded)
        }
        return switch outcome {
        case .passcode: .passcodePreferred
        case .failed(let error): AuthenticationRefusal(error, isEnded: false)
        }
    }

    /// The proof that a passcode makes; nil for a wrong one. Takes as long as it is stretched.
    private func proof(
        ofPasscode typed: borrowing SecretBytes
    ) throws(AuthenticationRefusal) -> PresenceProof? {
        do throws(KeychainFailure) {
            return try store.presenceProof(passcode: typed)
        } catch {
            guard error.code == .authenticationFailed else { throw .keychain(error) }
            return nil
        }
    }
}

extension BiometryState {
    /// What is enrolled on each reader; nothing unless a finger can be shown.
    var enrolments: [[UInt8]] {
        if case .enrolled(let enrolments) = self { enrolments } else { [] }
    }
}
