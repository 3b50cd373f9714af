// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSystem

// Waits until items can be read: the call of applications, and its form for typed requests.

extension ValetKeychain {
    /// Waits until items of an accessibility can be read.
    ///
    /// Without a passcode or without a keychain it returns at once, because nothing has to be
    /// unlocked. The keychain may be locked again a moment later, so handle `locked` as well.
    ///
    /// - Parameters:
    ///   - accessible: A value of `kSecAttrAccessible`, as text.
    ///   - deadline: When to give up.
    /// - Throws: ``ValetKeychainModel/KeychainFailure``: `locked` at the deadline; `timedOut` if
    ///   the state could not be read by then; `userCancelled` if the task was cancelled. At once:
    ///   `keyUnavailable` and `incomplete`, which waiting does not mend; `authenticationFailed` if
    ///   `$VALET_PASSCODE_FD` gave a wrong passcode; `invalidRequest` for any other text; and the
    ///   other failures of ``lockState``.
    public static func waitUntilAvailable(
        for accessible: String, deadline: ContinuousClock.Instant
    ) async throws(KeychainFailure) {
        guard let protectionClass = ProtectionClass(code: accessible) else {
            throw KeychainFailure(
                .invalidRequest, during: AvailabilityWait.operation,
                message: "this is not a value of kSecAttrAccessible")
        }
        try await KeychainSession.current().waitUntilAvailable(
            for: protectionClass, deadline: deadline)
    }
}

extension KeychainSession {
    /// Waits like ``ValetKeychain/waitUntilAvailable(for:deadline:)``.
    package func waitUntilAvailable(
        for protectionClass: ProtectionClass, deadline: ContinuousClock.Instant
    ) async throws(KeychainFailure) {
        try await AvailabilityWait(session: self, protectionClass: protectionClass)
            .run(until: deadline)
    }

    /// Waits like the asynchronous call of that name, but on the calling thread. It needs no other
    /// thread, so it also works in a child of `fork`.
    package func waitUntilAvailable(
        for protectionClass: ProtectionClass, blockingUntil deadline: Deadline
    ) throws(KeychainFailure) {
        try remembering { () throws(KeychainFailure) in
            try AvailabilityWait(session: self, protectionClass: protectionClass)
                .block(until: deadline)
        }
    }
}

private struct AvailabilityWait: Sendable {
    typealias Outcome = Result<Void, KeychainFailure>

    static let operation = "wait for the keychain"

    let session: KeychainSession
    let protectionClass: ProtectionClass

    func run(until deadline: ContinuousClock.Instant) async throws(KeychainFailure) {
        let updates = try AvailabilityWatcher.current.value.updates(of: session.store)
        // The first look has the deadline of a call, which may be later than `deadline`.
        var first = updates.makeAsyncIterator()
        let found = await first.next(isolation: #isolation).map(session.scripted)
        if let found, canUseGivenPasscode(found) {
            _ = try await offloading { [session] () throws(KeychainFailure) in
                try useGivenPasscode(session.store)
            }
        }
        if let found, let outcome = outcome(of: found) { return try outcome.get() }
        let (seen, isLate) = await withTaskGroup(of: (AvailabilityUpdates.Element?, Bool).self) {
            group in
            group.addTask { (await lastUpdate(of: updates), false) }
            group.addTask {
                do {
                    try await Task.sleep(until: deadline, clock: .continuous)
                    return (nil, true)
                } catch {
                    return (nil, false)
                }
            }
            var (seen, isLate) = (found, false)
            for await (update, isDeadline) in group {
                group.cancelAll()
                (seen, isLate) = (update ?? seen, isLate || isDeadline)
            }
            return (seen, isLate)
        }
        if let seen, let outcome = outcome(of: seen) { return try outcome.get() }
        throw isLate
            ? Self.late(after: seen)
            : KeychainFailure(
                .userCancelled, during: Self.operation, message: "the task was cancelled")
    }

    /// The update that ends the waiting, or the last one before the task is cancelled.
    private func lastUpdate(of updates: AvailabilityUpdates) async -> AvailabilityUpdates.Element? {
        var last: AvailabilityUpdates.Element?
        for await update in updates {
            let update = session.scripted(update)
            last = update
            if outcome(of: update) != nil { break }
        }
        return last
    }

    func block(until deadline: Deadline) throws(KeychainFailure) {
        let watch = try KeychainWatch(for: .lockState)
        let store = session.store
        var hasTriedPasscode = false
        while true {
            let canHear = watch.attend(to: [store.location])
            // A look takes no longer than the wait, but is made at least once.
            let end = min(
                Deadline(after: store.timeLimit), max(deadline, Deadline(after: .milliseconds(100)))
            )
            let found = session.scripted(
                Result { () throws(KeychainFailure) in
                    try store.ending(at: end).keychain.availability()
                })
            if !hasTriedPasscode, canUseGivenPasscode(found) {
                hasTriedPasscode = try useGivenPasscode(store)
                if hasTriedPasscode { continue }
            }
            if let outcome = outcome(of: found) { return try outcome.get() }
            guard !deadline.hasPassed else { throw Self.late(after: found) }
            let pause = AvailabilityWatcher.pause(after: found, canHear: canHear)
            watch.wait(atMost: min(deadline.remaining, pause))
        }
    }

    /// Unlocks with the passcode of `$VALET_PASSCODE_FD`.
    ///
    /// - Returns: Whether that was tried; false if a later try may succeed.
    private func useGivenPasscode(_ store: ItemStore) throws(KeychainFailure) -> Bool {
        do {
            _ = try GivenPasscode.current.value.unlock(store)
            return true
        } catch {
            guard error.code == .timedOut else { throw error }
            return false
        }
    }

    /// Whether the passcode of `$VALET_PASSCODE_FD` may end the waiting.
    private func canUseGivenPasscode(_ update: AvailabilityUpdates.Element) -> Bool {
        guard case .success(let found) = update, !found.isAvailable(protectionClass) else {
            return false
        }
        return found.isOfProcess && found.fault == nil && GivenPasscode.isThere
    }

    /// How an update ends the waiting; nil to go on.
    private func outcome(of update: AvailabilityUpdates.Element) -> Outcome? {
        switch update {
        case .failure(let failure): return failure.code == .timedOut ? nil : .failure(failure)
        case .success(let found):
            if found.isAvailable(protectionClass) { return .success(()) }
            return found.fault.map(Outcome.failure)
        }
    }

    /// The failure at the deadline, after that update.
    private static func late(after last: AvailabilityUpdates.Element?) -> KeychainFailure {
        if case .failure(let failure)? = last { return failure }
        let isOfProcess = if case .success(let found)? = last { found.isOfProcess } else { false }
        return KeychainFailure(
            .locked, during: operation, message: "the keychain was not unlocked in time",
            advice: KeychainFailure.unlockAdvice(ofProcess: isOfProcess))
    }
}
