// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
package import ValetSystem

extension LAContext: AuthenticationContext {
    /// Proves what items demand, for the holder of this context.
    package func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        try state.proof(for: demands, reason: reason, in: store, until: deadline)
    }

    /// What was proved already; nil for nothing, and once the context is invalidated.
    package var rememberedProof: PresenceProof? { try? state.rememberedProof() }

    /// Gets the passwords of boxes, for the holder of this context.
    package func passwords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] {
        try state.passwords(opening: locks, isComplete: true, inquiry)
    }

    /// Those of the passwords that nobody has to be asked for.
    package func givenPasswords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] {
        try state.passwords(opening: locks, isComplete: false, inquiry)
    }

    /// Gets a new password.
    package func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword {
        try state.newPassword(stretching, inquiry)
    }

    /// The fingers that are enrolled.
    package func enrolments() throws(KeychainFailure) -> [[UInt8]] { state.enrolments }
}

extension LAContext {
    /// Has `demands` proved within the time that a person is given.
    func prove(
        _ demands: [AccessControl], reason: String
    ) throws(AuthenticationRefusal) {
        let deadline = Deadline(after: state.means.timeLimit)
        _ = try state.prove(demands, reason: reason, in: nil, until: deadline)
    }

    /// Runs `body`, which may wait for a person, on a thread of its own, and replies from there.
    /// The context lives until then, even if its owner releases it.
    func answer(
        _ reply: @escaping @Sendable (Bool, (any Error)?) -> Void,
        _ body: @escaping @Sendable (LAContext) throws(AuthenticationRefusal) -> Void
    ) {
        Thread.detachNewThread {
            do throws(AuthenticationRefusal) {
                try body(self)
            } catch {
                return reply(false, error.error)
            }
            reply(true, nil)
        }
    }
}

extension ContextState {
    /// Keeps which fingers are enrolled, if `policy` is about fingers.
    func noteDomainState(for policy: LAPolicy) {
        let enrolments = enrolments
        guard !enrolments.isEmpty else { return }
        switch policy {
        case .deviceOwnerAuthenticationWithBiometrics,
            .deviceOwnerAuthenticationWithBiometricsOrCompanion, .deviceOwnerAuthentication:
            change { $0.domainState = Data(enrolments.joined()) }
        case .deviceOwnerAuthenticationWithCompanion,
            .deviceOwnerAuthenticationWithWristDetection:
            break
        }
    }
}

extension LAPolicy {
    /// What the policy demands, as an access control would.
    func demands() throws(AuthenticationRefusal) -> [AccessControl] {
        let constraints: AccessControl.Constraints
        switch self {
        case .deviceOwnerAuthentication: constraints = .userPresence
        case .deviceOwnerAuthenticationWithBiometrics,
            .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            constraints = .biometryAny
        case .deviceOwnerAuthenticationWithCompanion,
            .deviceOwnerAuthenticationWithWristDetection:
            throw .impossible
        }
        guard let demand = try? AccessControl(.whenUnlocked, constraints) else {
            throw .impossible
        }
        return [demand]
    }
}
