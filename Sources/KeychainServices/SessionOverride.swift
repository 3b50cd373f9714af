// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel

/// Another session in place of the process's, for the length of a closure: what `ValetTesting` is
/// made of, and nothing else uses.
///
/// It is bound to a task or, outside of tasks, to a thread. No variable, file or message sets it:
/// only code of this package that is linked into the program and calls it.
package enum SessionOverride {
    /// How much of it a process has used: until then nobody looks for a task's session.
    private static let use = Atomic<UInt8>(0)
    private static let unused: UInt8 = 0
    private static let used: UInt8 = 1
    private static let required: UInt8 = 2

    @TaskLocal private static var session: KeychainSession?

    /// The session of this task; nil for the process's own.
    ///
    /// - Throws: `invalidRequest` where the process's own may not be used.
    @inline(__always)
    static func current() throws(KeychainFailure) -> KeychainSession? {
        let use = use.load(ordering: .relaxed)
        return use == unused ? nil : try current(use)
    }

    @inline(never)
    private static func current(_ use: UInt8) throws(KeychainFailure) -> KeychainSession? {
        if let session { return session }
        guard use == required else { return nil }
        let failure = KeychainFailure(
            .invalidRequest, during: "find the keychain",
            message: "the call is outside of every temporary keychain",
            hint: "detached tasks and threads of their own do not inherit it: use the keychain's "
                + "`use` there")
        KeychainFailure.last = failure
        throw failure
    }

    /// Runs `body` with `session` in place of the process's.
    package static func with<R, E: Error>(
        _ session: KeychainSession, _ body: () throws(E) -> R
    ) throws(E) -> R {
        enter()
        let result = $session.withValue(session) {
            Result { () throws(E) -> R in try body() }
        }
        return try result.get()
    }

    /// As ``with(_:_:)``, for what is asynchronous.
    package static func with<R, E: Error>(
        _ session: KeychainSession, _ body: () async throws(E) -> R
    ) async throws(E) -> R {
        enter()
        let result: Result<R, E> = await $session.withValue(session) {
            do throws(E) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// `body`, in the session that is in effect here, on whatever thread it is called.
    fileprivate static func carrying<R, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) -> @Sendable () throws(E) -> R {
        guard use.load(ordering: .relaxed) != unused, let session = session?.ofThisTask else {
            return body
        }
        return { () throws(E) -> R in try with(session, body) }
    }

    /// From now on every call outside of ``with(_:_:)`` fails: none reaches the process's own
    /// keychain by mistake. Cannot be taken back.
    package static func require() {
        use.store(required, ordering: .relaxed)
    }

    private static func enter() {
        _ = use.compareExchange(expected: unused, desired: used, ordering: .relaxed)
    }
}

extension KeychainSession {
    /// `body`, as it uses the session that this task does when another thread calls it.
    package static func carrying<R, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) -> @Sendable () throws(E) -> R {
        SessionOverride.carrying(body)
    }
}
