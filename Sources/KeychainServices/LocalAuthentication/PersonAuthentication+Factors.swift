// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import KeychainStore
internal import SecretMemory
internal import UserPresence

extension PersonAuthentication {
    func proveFinger() throws(AuthenticationRefusal) -> PresenceProof {
        let enrolled = try enrolmentOfFinger()
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
        for left in (0..<Self.tryCount).reversed() {
            let typed = try askForPasscode(problem)
            if let proof = try proof(ofPasscode: typed) { return proof }
            problem = "wrong passcode: \(left == 1 ? "one try is" : "\(left) tries are") left"
        }
        throw .wrong
    }

    /// What was enrolled while a finger matched.
    private func enrolmentOfFinger() throws(AuthenticationRefusal) -> [UInt8] {
        guard let reader = means.reader else { throw .noReader }
        do throws(BiometryFailure) {
            return try reader.verify(
                ["\(means.application()) asks for your finger."] + saidReason, until: deadline,
                cancellation: cancellation)
        } catch {
            throw AuthenticationRefusal(error, isEnded: cancellation.isCancelled)
        }
    }

    private func askForPasscode(
        _ problem: String?
    ) throws(AuthenticationRefusal) -> SecretBytes {
        let lines = ["\(means.application()) asks for the passcode of your keychain."]
        var prompt = PasscodePrompt(lines: lines + saidReason, previousError: problem)
        prompt.timeout = deadline.remaining
        prompt.cancelTitle = cancelTitle
        prompt.cancellation = cancellation
        do throws(UserPresenceError) {
            return try means.asker.ask(prompt)
        } catch {
            throw AuthenticationRefusal(error, isEnded: cancellation.isCancelled)
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

    /// The application's own words, in a line that cannot pass for another.
    private var saidReason: [String] { reason.isEmpty ? [] : ["\u{201C}\(reason)\u{201D}"] }
}

extension BiometryState {
    /// What is enrolled; nil unless a finger can be shown.
    var enrolment: [UInt8]? {
        if case .enrolled(let enrolment) = self { enrolment } else { nil }
    }
}
