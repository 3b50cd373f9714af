// SPDX-License-Identifier: Apache-2.0

package import Database
package import Foundation
package import KeychainModel
package import KeychainStore
package import SecretMemory
internal import Synchronization
internal import UserPresence

/// What an `LAContext` knows, and how it asks: one question at a time.
package final class ContextState: Sendable {
    /// What applications set.
    package struct Settings {
        /// What the application needs it for.
        package var reason = ""
        /// What stands on the button that takes the passcode in place of a finger.
        package var fallbackTitle: String?
        /// What stands on the button that declines.
        package var cancelTitle: String?
        /// Whether a person may be asked.
        package var mayAsk = true
        /// For how many seconds an earlier finger counts.
        package var reuseDuration: TimeInterval = 0
        /// The passcode, in place of asking for it.
        package var passcode: SecretValue?
        /// The fingers that were enrolled when a policy was last evaluated.
        package var domainState: Data?
    }

    private struct State {
        var settings = Settings()
        var proof: PresenceProof?
        /// Ends the question that is open.
        var question: PromptCancellation?
        var isInvalidated = false
    }

    /// What a person is asked with.
    package let means: AuthenticationMeans
    private let ownStore: ItemStore?
    private let turn = FairLock()
    private let state = Mutex(State())

    /// - Parameter store: The keychain that policies are evaluated for; nil for the process's own.
    package init(_ means: AuthenticationMeans, store: ItemStore?) {
        self.means = means
        ownStore = store
    }

    /// What applications set; credentials are lost once the context is invalidated.
    package var settings: Settings { state.withLock { $0.settings } }

    /// Changes what applications set.
    package func change(_ body: (inout Settings) -> Void) {
        state.withLock { state in
            body(&state.settings)
            if state.isInvalidated { state.settings.passcode = nil }
        }
    }

    /// Forgets what was proved, for good, and ends the question that is open.
    package func invalidate() {
        state.withLock { state in
            state.isInvalidated = true
            state.proof = nil
            state.settings.passcode = nil
            state.question?.cancel()
        }
    }

    /// What was proved; nil for nothing.
    package func rememberedProof() throws(AuthenticationRefusal) -> PresenceProof? {
        try state.withLock { (state) throws(AuthenticationRefusal) in
            guard !state.isInvalidated else { throw .invalidated }
            return state.proof
        }
    }

    /// Whether `demands` are proved, or could be; asks nobody.
    package func check(_ demands: [AccessControl]) throws(AuthenticationRefusal) {
        let store = try store()
        let known = try rememberedProof().flatMap { store.isCurrent($0) ? $0 : nil }
        guard !demands.allSatisfy({ known?.satisfies($0) ?? false }) else { return }
        let authentication = authentication(
            in: store, nil, Deadline(after: .seconds(5)), PromptCancellation())
        _ = try authentication.way(to: demands, beside: known)
    }

    /// Has all of `demands` proved, and remembers it. Blocks while a person is asked.
    ///
    /// - Parameter store: The keychain; nil for the context's own.
    package func prove(
        _ demands: [AccessControl], reason: String?, in store: ItemStore?, until deadline: Deadline
    ) throws(AuthenticationRefusal) -> PresenceProof {
        guard turn.acquire(before: deadline) else { throw .timedOut }
        defer { turn.release() }
        let question = PromptCancellation()
        let remembered = try begin(question)
        defer { state.withLock { $0.question = nil } }
        let store = if let store { store } else { try self.store() }
        let known = remembered.flatMap { store.isCurrent($0) ? $0 : nil }
        if let known, demands.allSatisfy(known.satisfies) { return known }
        let authentication = authentication(in: store, reason, deadline, question)
        let proof = try authentication.prove(demands, beside: known)
        try keep(proof)
        return proof
    }

    /// As ``prove(_:reason:in:until:)``, with the failure that a call for items has.
    package func proof(
        for demands: [AccessControl], reason: String?, in store: ItemStore, until deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        do throws(AuthenticationRefusal) {
            return try prove(demands, reason: reason, in: store, until: deadline)
        } catch {
            throw KeychainFailure(error)
        }
    }

    /// The fingers that are enrolled, on each reader.
    package var enrolments: [[UInt8]] { readerState.enrolments }

    /// Whether there is a reader.
    package var hasReader: Bool { readerState != .noReader }

    private var readerState: BiometryState {
        means.reader.map { $0.state(until: Deadline(after: .seconds(5))) } ?? .noReader
    }

    private func begin(
        _ question: PromptCancellation
    ) throws(AuthenticationRefusal) -> PresenceProof? {
        try state.withLock { (state) throws(AuthenticationRefusal) in
            guard !state.isInvalidated else { throw .invalidated }
            state.question = question
            return state.proof
        }
    }

    private func keep(_ proof: PresenceProof) throws(AuthenticationRefusal) {
        try state.withLock { (state) throws(AuthenticationRefusal) in
            guard !state.isInvalidated else { throw .ended }
            state.proof = proof
        }
    }

    private func store() throws(AuthenticationRefusal) -> ItemStore {
        if let ownStore { return ownStore }
        do throws(KeychainFailure) {
            return try KeychainSession.current().store
        } catch {
            throw .keychain(error)
        }
    }

    private func authentication(
        in store: ItemStore, _ reason: String?, _ deadline: Deadline,
        _ cancellation: PromptCancellation
    ) -> PersonAuthentication {
        let settings = settings
        return PersonAuthentication(
            means: means, reason: reason.flatMap { $0.isEmpty ? nil : $0 } ?? settings.reason,
            cancelTitle: settings.cancelTitle, fallbackTitle: settings.fallbackTitle,
            mayAsk: settings.mayAsk,
            credential: settings.passcode, store: store, deadline: deadline,
            cancellation: cancellation)
    }
}
