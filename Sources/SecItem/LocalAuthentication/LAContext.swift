// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetSystem

/// Authenticates a person, and remembers it for as long as it lives.
///
/// What was proved opens items, too: give the context as the value of
/// `kSecUseAuthenticationContext`. It may be used from every thread; questions come one at a time.
/// Nothing is remembered but in this object, and wiped with it or by ``invalidate()``.
// Sendable because everything that changes is in one object that is.
open class LAContext: NSObject, @unchecked Sendable {
    let state: ContextState

    /// A context that has asked nobody.
    public override init() {
        state = ContextState(.ofProcess, store: nil)
        super.init()
    }

    /// A context that asks with `means`.
    ///
    /// - Parameter store: The keychain that policies are evaluated for; nil for the process's own.
    package init(_ means: AuthenticationMeans, store: ItemStore? = nil) {
        state = ContextState(means, store: store)
        super.init()
    }

    /// Whether a policy could be evaluated now; asks nobody.
    ///
    /// - Parameter error: Set to an ``LAError``, as an object, that says why not.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        do throws(AuthenticationRefusal) {
            try state.check(try policy.demands())
            state.noteDomainState(for: policy)
            return true
        } catch let refusal {
            unsafe error?.pointee = refusal.error._nsError
            return false
        }
    }

    /// Has a person do what `policy` says; what was done before counts.
    ///
    /// - Parameters:
    ///   - localizedReason: What the application needs it for, as the person reads it.
    ///   - reply: Gets whether it was done, else an ``LAError``; on a thread of its own.
    @preconcurrency
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        answer(reply) { (context) throws(AuthenticationRefusal) in
            try context.prove(try policy.demands(), reason: localizedReason)
            context.state.noteDomainState(for: policy)
        }
    }

    /// As the form with a reply. Cancelling the task does not end the question;
    /// ``invalidate()`` does.
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

    /// Has a person do what an item with that access control will take, but for a password of the
    /// application's: only an item tells whether one is right.
    ///
    /// - Parameters:
    ///   - operation: What is to be done with the item; making one takes nobody.
    ///   - localizedReason: What the application needs it for, as the person reads it.
    ///   - reply: Gets whether it was done, else an ``LAError``; on a thread of its own.
    @preconcurrency
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        answer(reply) { (context) throws(AuthenticationRefusal) in
            let takesPerson =
                switch operation {
                case .createItem, .createKey: false
                case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                    !accessControl.content.demand.isNothing
                }
            guard takesPerson else { return _ = try context.state.rememberedProof() }
            try context.prove([accessControl.content], reason: localizedReason)
        }
    }

    /// Forgets what was proved and what was set as credentials, for good. An open question ends
    /// with `LAError.appCancel`; whatever is asked of the context later, with `invalidContext`.
    open func invalidate() { state.invalidate() }

    /// Has the context take a credential in place of asking a person; nil takes it back.
    ///
    /// - Parameter credential: UTF-8, without the end of the line; taken as it is. It is copied to
    ///   guarded memory; your own is yours to wipe.
    ///
    /// A password of the application's has from 1 to 1,024 bytes. Items with the access control
    /// `applicationPassword` are sealed under it, and nobody is asked for one while it is set.
    /// - Returns: false, and nothing changes, for another number of bytes, and for a type that
    ///   there is none of here: a smart card's PIN.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        switch type {
        case .passcode:
            let value = credential.map { SecretValue(copying: $0.span) }
            state.change { $0.passcode = value }
            return true
        case .applicationPassword:
            let count = credential?.count ?? 1
            guard (1...StretchedPassword.maximalByteCount).contains(count) else { return false }
            let value = credential.map { SecretValue(copying: $0.span) }
            state.change { $0.password = value }
            return true
        case .smartCardPIN: return false
        }
    }

    /// Whether a credential of that type is set.
    @discardableResult
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        switch type {
        case .passcode: state.settings.passcode != nil
        case .applicationPassword: state.settings.password != nil
        case .smartCardPIN: false
        }
    }

    /// What the application needs it for, where the call that asks does not say.
    open var localizedReason: String {
        get { state.settings.reason }
        set { state.change { $0.reason = newValue } }
    }

    /// What stands on the button that takes the passcode in place of a finger, where it may; nil or
    /// empty for what stands there anyway.
    open var localizedFallbackTitle: String? {
        get { state.settings.fallbackTitle }
        set { state.change { $0.fallbackTitle = newValue } }
    }

    /// What stands on the button that declines; nil for what stands there anyway.
    open var localizedCancelTitle: String? {
        get { state.settings.cancelTitle }
        set { state.change { $0.cancelTitle = newValue } }
    }

    /// Whether nobody may be asked: what was not proved before is then `notInteractive`.
    open var interactionNotAllowed: Bool {
        get { !state.settings.mayAsk }
        set { state.change { $0.mayAsk = !newValue } }
    }

    /// For how many seconds a finger that unlocked the device counts here, too. None does: the
    /// keychain is unlocked by its passcode.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.settings.reuseDuration }
        set {
            let longest = LATouchIDAuthenticationMaximumAllowableReuseDuration
            state.change { $0.reuseDuration = min(max(0, newValue), longest) }
        }
    }

    /// The kind of biometry that there is a reader for.
    open var biometryType: LABiometryType { state.hasReader ? .touchID : .none }

    /// Bytes that are others whenever other fingers are enrolled; set when a policy that takes
    /// biometry was evaluated, or found possible.
    open var evaluatedPolicyDomainState: Data? { state.settings.domainState }
}
