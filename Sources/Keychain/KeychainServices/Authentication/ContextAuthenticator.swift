// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing
package import ValetSystem
internal import ValetUserPresence

/// Authenticates the user for an `LAContext`, and for calls without one: keeps settings and proofs,
/// and asks one question at a time.
package final class ContextAuthenticator: Authenticator {
    /// How long readers may take to report the enrolled fingers.
    static let readerPatience = Duration.seconds(5)

    package struct Settings {
        package var reason = ""
        package var fallbackTitle: String?
        package var cancelTitle: String?
        package var mayAsk = true
        /// What `touchIDAuthenticationAllowableReuseDuration` returns; it has no other effect.
        package var reuseDuration: Double = 0
        package var passcode: SecretValue?
        package var password: SecretValue?
        /// The fingers that were enrolled when a policy was last evaluated.
        package var domainState: [UInt8]?
    }

    private struct State {
        private static let passwordCapacity = 64

        var settings = Settings()
        var proof: PresenceProof?
        /// The passwords that the user has typed, each stretched for a box that it opens.
        var passwords: [StretchedPassword] = []
        var question: Cancellation?
        var isInvalidated = false

        /// Keeps typed passwords, the latest first.
        mutating func remember(_ typed: [StretchedPassword]) {
            passwords = Array((typed + passwords).prefix(Self.passwordCapacity))
        }
    }

    package let means: AuthenticationMeans
    private let ownStore: ItemStore?
    private let turn = FairLock()
    private let state = Lock(State())

    /// - Parameter store: The keychain that policies are evaluated for; nil for the process's own.
    package init(_ means: AuthenticationMeans, store: ItemStore?) {
        self.means = means
        ownStore = store
    }

    /// What the application has set. Invalidation drops the credentials.
    package var settings: Settings { state.withLock { $0.settings } }

    package func change(_ body: (inout Settings) -> Void) {
        state.withLock { state in
            body(&state.settings)
            if state.isInvalidated { state.settings.forgetCredentials() }
        }
    }

    /// Forgets proofs and credentials for good, and ends the open question.
    package func invalidate() {
        state.withLock { state in
            state.isInvalidated = true
            state.proof = nil
            state.passwords = []
            state.settings.forgetCredentials()
            state.question?.cancel()
        }
    }

    /// The proof so far; nil for none.
    package func knownProof() throws(KeychainFailure) -> PresenceProof? {
        try state.withLock { (state) throws(KeychainFailure) in
            guard !state.isInvalidated else { throw .refused(.contextInvalidated) }
            return state.proof
        }
    }

    /// Throws if `demands` are not proved and cannot be proved now. Does not ask the user.
    package func check(_ demands: [AccessControl]) throws(KeychainFailure) {
        let store = try store()
        let known = try knownProof().flatMap { store.keychain.isCurrent($0) ? $0 : nil }
        guard !demands.allSatisfy({ known?.satisfies($0) ?? false }) else { return }
        let authentication = authentication(
            in: store, question(nil, Deadline(after: .seconds(5)), Cancellation()))
        _ = try authentication.way(to: demands, beside: known)
    }

    /// Gets proof for all of `demands`, and remembers it. Blocks while the user is asked.
    ///
    /// - Parameter store: The keychain; nil for the context's own.
    package func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore?, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        try inTurn(until: deadline) { (state, cancellation) throws(KeychainFailure) in
            let store = if let store { store } else { try self.store() }
            let known = state.proof.flatMap { store.keychain.isCurrent($0) ? $0 : nil }
            if let known, demands.allSatisfy(known.satisfies) { return known }
            let authentication = authentication(
                in: store, question(reason, deadline, cancellation))
            let proof = try authentication.prove(demands, beside: known)
            try keep { $0.proof = proof }
            return proof
        }
    }

    /// The earlier proof; nil if there is none, or after ``invalidate()``.
    package var rememberedProof: PresenceProof? { try? knownProof() }

    /// The passwords that open `locks`: remembered, the application's, or typed now.
    package func passwords(
        opening locks: [PassphraseBox], isComplete: Bool, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] {
        try inTurn(until: inquiry.deadline) { (state, cancellation) throws(KeychainFailure) in
            let authentication = authentication(inquiry, cancellation)
            let given = try authentication.given(opening: locks, known: state.passwords)
            let closed = PasswordAuthentication.closed(locks, given)
            guard isComplete, !closed.isEmpty else { return given }
            guard authentication.credential == nil else { throw .refused(.wrongAnswer) }
            let typed = try authentication.typed(opening: closed)
            try keep { $0.remember(typed) }
            return given + typed
        }
    }

    /// The password for new values: the application's, or typed now.
    package func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword {
        try inTurn(until: inquiry.deadline) { (_, cancellation) throws(KeychainFailure) in
            let authentication = authentication(inquiry, cancellation)
            let password = try authentication.new(stretching)
            if authentication.credential == nil { try keep { $0.remember([password]) } }
            return password
        }
    }

    package var enrolments: [[UInt8]] { enrolments(until: Deadline(after: Self.readerPatience)) }

    /// The enrolled fingers, on each reader that answers by `deadline`.
    package func enrolments(until deadline: Deadline) -> [[UInt8]] {
        readerState(until: deadline).enrolments
    }

    package var hasReader: Bool {
        readerState(until: Deadline(after: Self.readerPatience)) != .noReader
    }

    private func readerState(until deadline: Deadline) -> BiometryState {
        means.reader.map { $0.state(until: deadline) } ?? .noReader
    }

    /// Runs `body` while no other thread asks with this context.
    private func inTurn<R>(
        until deadline: Deadline,
        _ body: (State, Cancellation) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        guard turn.acquire(before: deadline) else { throw .refused(.noAnswer) }
        defer { turn.release() }
        let cancellation = Cancellation()
        let known = try state.withLock { (state) throws(KeychainFailure) in
            guard !state.isInvalidated else { throw .refused(.contextInvalidated) }
            state.question = cancellation
            return state
        }
        defer { state.withLock { $0.question = nil } }
        return try body(known, cancellation)
    }

    private func keep(_ body: (inout State) -> Void) throws(KeychainFailure) {
        try state.withLock { (state) throws(KeychainFailure) in
            guard !state.isInvalidated else { throw .refused(.endedByApplication) }
            body(&state)
        }
    }

    private func store() throws(KeychainFailure) -> ItemStore {
        if let ownStore { return ownStore }
        return try KeychainSession.current().store
    }

    private func question(
        _ reason: String?, _ deadline: Deadline, _ cancellation: Cancellation
    ) -> SecretQuestion {
        let settings = settings
        return SecretQuestion(
            means: means, reason: reason.flatMap { $0.isEmpty ? nil : $0 } ?? settings.reason,
            cancelTitle: settings.cancelTitle, mayAsk: settings.mayAsk, deadline: deadline,
            cancellation: cancellation)
    }

    private func authentication(
        in store: ItemStore, _ question: SecretQuestion
    ) -> PresenceAuthentication {
        let settings = settings
        return PresenceAuthentication(
            question: question, fallbackTitle: settings.fallbackTitle,
            credential: settings.passcode, store: store)
    }

    private func authentication(
        _ inquiry: PasswordInquiry, _ cancellation: Cancellation
    ) -> PasswordAuthentication {
        var question = question(inquiry.reason, inquiry.deadline, cancellation)
        question.mayAsk = question.mayAsk && inquiry.mayAsk
        return PasswordAuthentication(question: question, credential: settings.password)
    }
}

extension ContextAuthenticator.Settings {
    fileprivate mutating func forgetCredentials() {
        passcode = nil
        password = nil
    }
}
