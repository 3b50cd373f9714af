// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainDatabase
internal import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// Authenticates the user, and keeps the proof as long as the context lives.
///
/// The proof opens items, too: give the context as the value of `kSecUseAuthenticationContext`.
/// Every thread may use it; it asks one question at a time. Only this object holds the proof, and
/// its end or ``invalidate()`` wipes it.
// Sendable because its only property is.
open class LAContext: NSObject, @unchecked Sendable {
    let authenticator: ContextAuthenticator

    /// A context that has not asked the user yet.
    public override init() {
        authenticator = ContextAuthenticator(.ofProcess, store: nil)
        super.init()
    }

    /// A context that asks with `means`.
    ///
    /// - Parameter store: The keychain that policies are evaluated for; nil for the process's own.
    package init(_ means: AuthenticationMeans, store: ItemStore? = nil) {
        authenticator = ContextAuthenticator(means, store: store)
        super.init()
    }

    /// Whether a policy can be evaluated now. Does not ask the user.
    ///
    /// - Parameter error: Set to an ``LAError``, as an object, that says why not.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        do {
            try authenticator.check(try policy.demands())
            authenticator.noteDomainState(for: policy)
            return true
        } catch let refusal {
            unsafe error?.pointee = LAError(refusal)._nsError
            return false
        }
    }

    /// Asks the user for what `policy` needs. Earlier proofs of this context count.
    ///
    /// - Parameters:
    ///   - localizedReason: The application's reason, as the user reads it.
    ///   - reply: Receives true, or false and an ``LAError``, on a thread of its own.
    @preconcurrency
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        answer(reply) { (context) throws(KeychainFailure) in
            try context.prove(try policy.demands(), reason: localizedReason)
            context.authenticator.noteDomainState(for: policy)
        }
    }

    /// Asks the user for what `policy` needs. Earlier proofs of this context count. Cancelling the
    /// task does not end the question; ``invalidate()`` does.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``.
    @discardableResult
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason) { isDone, error in
                continuation.resume(with: error.map(Result.failure) ?? .success(isDone))
            }
        }
    }

    /// Asks the user for what an item with that access control will need, except an application
    /// password: only an item can tell whether one is right.
    ///
    /// - Parameters:
    ///   - operation: What the item is needed for; creating an item does not need the user.
    ///   - localizedReason: The application's reason, as the user reads it.
    ///   - reply: Receives true, or false and an ``LAError``, on a thread of its own.
    @preconcurrency
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        answer(reply) { (context) throws(KeychainFailure) in
            let takesPerson =
                switch operation {
                case .createItem, .createKey: false
                case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                    !accessControl.content.demand.isNothing
                }
            guard takesPerson else { return _ = try context.authenticator.knownProof() }
            try context.prove([accessControl.content], reason: localizedReason)
        }
    }

    /// Asks the user for what an item with that access control will need. Earlier proofs of this
    /// context count. Cancelling the task does not end the question; ``invalidate()`` does.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``.
    @discardableResult
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluateAccessControl(
                accessControl, operation: operation, localizedReason: localizedReason
            ) { isDone, error in
                continuation.resume(with: error.map(Result.failure) ?? .success(isDone))
            }
        }
    }

    /// Forgets proofs and credentials for good. An open question ends with `LAError.appCancel`;
    /// later calls fail with `invalidContext`.
    open func invalidate() { authenticator.invalidate() }

    /// Sets a credential that replaces a question to the user; nil removes it.
    ///
    /// - Parameter credential: UTF-8, without the end of the line. The context copies it to guarded
    ///   memory; wiping yours is up to you.
    ///
    /// An application password has from 1 to 1,024 bytes. Items with the access control
    /// `applicationPassword` are sealed under it. While it is set, the user is not asked for an
    /// application password.
    /// - Returns: false for another number of bytes, and for the PIN of a smart card, which does
    ///   not exist here. Nothing changes then.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        switch type {
        case .passcode:
            let value = credential.map { SecretValue(copying: $0.span) }
            authenticator.change { $0.passcode = value }
            return true
        case .applicationPassword:
            let count = credential?.count ?? 1
            guard (1...StretchedPassword.maximalByteCount).contains(count) else { return false }
            let value = credential.map { SecretValue(copying: $0.span) }
            authenticator.change { $0.password = value }
            return true
        case .smartCardPIN: return false
        }
    }

    /// Whether a credential of that type is set.
    @discardableResult
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        switch type {
        case .passcode: authenticator.settings.passcode != nil
        case .applicationPassword: authenticator.settings.password != nil
        case .smartCardPIN: false
        }
    }

    /// The application's reason, where the call that asks gives none.
    open var localizedReason: String {
        get { authenticator.settings.reason }
        set { authenticator.change { $0.reason = newValue } }
    }

    /// The title of the button that asks for the passcode instead of a finger, where that is
    /// allowed; nil or empty for the default title.
    open var localizedFallbackTitle: String? {
        get { authenticator.settings.fallbackTitle }
        set { authenticator.change { $0.fallbackTitle = newValue } }
    }

    /// The title of the button that declines; nil for the default title.
    open var localizedCancelTitle: String? {
        get { authenticator.settings.cancelTitle }
        set { authenticator.change { $0.cancelTitle = newValue } }
    }

    /// Whether questions are forbidden. Demands without an earlier proof then fail with
    /// `notInteractive`.
    open var interactionNotAllowed: Bool {
        get { !authenticator.settings.mayAsk }
        set { authenticator.change { $0.mayAsk = !newValue } }
    }

    /// For how many seconds a finger that unlocked the device counts here, too. It has no effect,
    /// because only the passcode unlocks the keychain.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { authenticator.settings.reuseDuration }
        set {
            let longest = LATouchIDAuthenticationMaximumAllowableReuseDuration
            authenticator.change { $0.reuseDuration = min(max(0, newValue), longest) }
        }
    }

    /// The kind of biometry that the machine has a reader for.
    open var biometryType: LABiometryType { authenticator.hasReader ? .touchID : .none }

    /// Bytes that change with the enrolled fingers. Set when a policy with biometry was
    /// evaluated, or found possible.
    open var evaluatedPolicyDomainState: Data? {
        authenticator.settings.domainState.map { Data($0) }
    }
}

extension LAContext: AuthenticationContext {
    package var asking: any Authenticator { authenticator }

    /// Whether a finger is enrolled. Does not ask the user.
    package var hasEnrolledFinger: Bool { !authenticator.enrolments.isEmpty }

    /// Gets proof for `demands` within the time that the user has.
    func prove(
        _ demands: [AccessControl], reason: String
    ) throws(KeychainFailure) {
        let deadline = Deadline(after: authenticator.means.timeLimit)
        _ = try authenticator.proof(
            for: demands, reason: reason, store: nil, deadline: deadline)
    }

    /// Runs `body`, which may wait for the user, on a thread of its own, and replies from there.
    /// The context lives until then, even if its owner releases it.
    func answer(
        _ reply: @escaping @Sendable (Bool, (any Error)?) -> Void,
        _ body: @escaping @Sendable (LAContext) throws(KeychainFailure) -> Void
    ) {
        do throws(KeychainFailure) {
            try startThread {
                do throws(KeychainFailure) {
                    try body(self)
                } catch {
                    return reply(false, LAError(error))
                }
                reply(true, nil)
            }
        } catch {
            reply(false, LAError(error))
        }
    }
}

extension ContextAuthenticator {
    /// Keeps which fingers are enrolled, if `policy` accepts fingers.
    func noteDomainState(for policy: LAPolicy) {
        let enrolments = enrolments
        guard !enrolments.isEmpty else { return }
        switch policy {
        case .deviceOwnerAuthenticationWithBiometrics,
            .deviceOwnerAuthenticationWithBiometricsOrCompanion, .deviceOwnerAuthentication:
            change { $0.domainState = Array(enrolments.joined()) }
        case .deviceOwnerAuthenticationWithCompanion,
            .deviceOwnerAuthenticationWithWristDetection:
            break
        }
    }
}

extension LAPolicy {
    func demands() throws(KeychainFailure) -> [AccessControl] {
        let constraints: AccessControl.Constraints
        switch self {
        case .deviceOwnerAuthentication: constraints = .userPresence
        case .deviceOwnerAuthenticationWithBiometrics,
            .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            constraints = .biometryAny
        case .deviceOwnerAuthenticationWithCompanion,
            .deviceOwnerAuthenticationWithWristDetection:
            throw .refused(.otherDeviceNeeded)
        }
        guard let demand = try? AccessControl(.whenUnlocked, constraints) else {
            throw .refused(.otherDeviceNeeded)
        }
        return [demand]
    }
}
