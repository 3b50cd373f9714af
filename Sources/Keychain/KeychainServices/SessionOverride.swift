// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSealing

/// Replaces the session of the process while a closure runs. Only `ValetTesting` uses it, for
/// keychains of tests.
///
/// It is bound to a task or, outside of tasks, to a thread. No variable, file or message sets it:
/// only code of this package that is linked into the program can. From the first override on, calls
/// without one fail, so that no test reaches the user's keychain by mistake.
package enum SessionOverride {
    /// The rule for calls without an override. Most processes use no override and skip the look-up.
    private static let rule = Atomic<UInt8>(0)
    private static let unused: UInt8 = 0
    private static let required: UInt8 = 1
    private static let optional: UInt8 = 2

    @TaskLocal fileprivate static var session: KeychainSession?

    /// The session of this task; nil for the process's own.
    ///
    /// - Throws: `invalidRequest` where the process's own session may not be used.
    @inline(__always)
    static func current() throws(KeychainFailure) -> KeychainSession? {
        let rule = rule.load(ordering: .relaxed)
        return rule == unused ? nil : try current(rule)
    }

    @inline(never)
    private static func current(_ rule: UInt8) throws(KeychainFailure) -> KeychainSession? {
        if let session { return session }
        guard rule == required else { return nil }
        let failure = KeychainFailure(
            .invalidRequest, during: "find the keychain",
            message: "the call is outside of every temporary keychain",
            hint: "make it in the closure of `withTemporaryKeychain` or of a temporary keychain's "
                + "`use`; detached tasks and new threads need a `use` of their own")
        KeychainFailure.last = failure
        throw failure
    }

    package static func with<R, E: Error>(
        _ session: KeychainSession, _ body: () throws(E) -> R
    ) throws(E) -> R {
        begin()
        return try $session.binding(session, body)
    }

    package static func with<R, E: Error>(
        _ session: KeychainSession, _ body: () async throws(E) -> R
    ) async throws(E) -> R {
        begin()
        return try await $session.binding(session, body)
    }

    fileprivate static var isUsed: Bool { rule.load(ordering: .relaxed) != unused }

    /// From now on every call outside of ``with(_:_:)`` fails.
    package static func require() {
        rule.store(required, ordering: .relaxed)
    }

    /// From now on calls outside of ``with(_:_:)`` use the process's own keychain.
    package static func allowOthers() {
        rule.store(optional, ordering: .relaxed)
    }

    /// Like ``require()``, unless a rule was set earlier.
    package static func begin() {
        _ = rule.compareExchange(expected: unused, desired: required, ordering: .relaxed)
    }

    package static func scriptHasChanged() {
        AvailabilityWatcher.current.value.subscriptions.sendAgain()
    }
}

extension TaskLocal {
    /// Like `withValue`, with the type of the error.
    package func binding<R, E: Error>(
        _ value: Value, _ body: () throws(E) -> R
    ) throws(E) -> R {
        let result = withValue(value) { Result { () throws(E) -> R in try body() } }
        return try result.get()
    }

    package func binding<R, E: Error>(
        _ value: Value, _ body: () async throws(E) -> R
    ) async throws(E) -> R {
        let result: Result<R, E> = await withValue(value) {
            do throws(E) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension KeychainSession {
    /// `body`, bound to this task's session, whichever thread calls it.
    package static func carrying<R, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) -> @Sendable () throws(E) -> R {
        guard SessionOverride.isUsed, let session = SessionOverride.session else { return body }
        let bound = KeychainSession(
            session.store, session.caller, script: session.script?.ofThisTask)
        return { () throws(E) -> R in try SessionOverride.with(bound, body) }
    }
}

/// A call for items, as a ``CallScript`` sees it.
package enum SessionCall: Hashable, Sendable {
    case add(NewItem)
    case set(NewItem)
    case replace(ItemQuery, NewItem)
    case transfer([NewItem])
    case copy(ItemQuery, readsValues: Bool)
    case values(Set<String>, PasswordService)
    case contains(ItemQuery)
    case update(ItemQuery, ItemChanges)
    case delete(ItemQuery)
}

/// Runs before, or instead of, each call of a session: scripted failures in tests.
///
/// Only ``KeychainSession/init(_:_:script:)`` takes a script; the session of a process has none.
package protocol CallScript: Sendable {
    /// Runs `body`, which makes `call`, or fails instead.
    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R

    /// The availability of the keychain of `session`, as the scripted state would make it. Takes as
    /// long as scripted calls take.
    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability

    /// `found`, changed to what the scripted state would make it. Does not wait.
    func changed(
        _ found: Result<KeychainAvailability, KeychainFailure>, in session: KeychainSession
    ) -> Result<KeychainAvailability, KeychainFailure>

    /// A script that acts on every thread as this one acts in the current task.
    var ofThisTask: any CallScript { get }
}
