// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
public import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

// Waits until items can be read: the call of applications, and its form for typed requests.

extension ValetKeychain {
    /// Waits until items of an accessibility can be read.
    ///
    /// Without a passcode, and where there is no keychain, it returns at once, because nothing has
    /// to be unlocked. The keychain may be locked again a moment later, so handle `locked` as well.
    ///
    /// - Parameters:
    ///   - accessible: A value of `kSecAttrAccessible`.
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
                .invalidRequest, during: KeychainSession.waiting,
                message: "this is not a value of kSecAttrAccessible")
        }
        try await KeychainSession.current().waitUntilAvailable(
            for: protectionClass, deadline: deadline)
    }
}

extension KeychainSession {
    fileprivate static let waiting = "wait for the keychain"

    private enum Event: Sendable {
        case available
        case failed(KeychainFailure)
        /// The caller or the deadline's task ended the waiting.
        case ended(last: AvailabilityUpdates.Element?)
        case deadline
    }

    /// Waits until items of `protectionClass` can be read.
    package func waitUntilAvailable(
        for protectionClass: ProtectionClass, deadline: ContinuousClock.Instant
    ) async throws(KeychainFailure) {
        let updates = try AvailabilityWatcher.current.value.updates(of: store)
        // The first look always ends in time, because it has the deadline of a call.
        var first = updates.makeAsyncIterator()
        let found = await first.next(isolation: #isolation).map(scripted)
        if case .success(let found)? = found, !found.isAvailable(protectionClass),
            found.isOfProcess, found.fault == nil
        {
            try await unlockWithGivenPasscode()
        }
        var last = found
        if let found, let event = Self.judge(found, protectionClass) {
            return try Self.finish([event], last)
        }
        let events = await withTaskGroup(of: Event.self) { group in
            group.addTask { await event(in: updates, protectionClass) }
            group.addTask {
                do {
                    try await Task.sleep(until: deadline, clock: .continuous)
                    return .deadline
                } catch {
                    return .ended(last: nil)
                }
            }
            var events: [Event] = []
            for await event in group {
                events.append(event)
                group.cancelAll()
            }
            return events
        }
        for case .ended(let seen?) in events { last = seen }
        try Self.finish(events, last)
    }

    /// What an update means for a waiting call; nil to go on waiting.
    private static func judge(
        _ update: AvailabilityUpdates.Element, _ protectionClass: ProtectionClass
    ) -> Event? {
        switch update {
        case .failure(let failure): return failure.code == .timedOut ? nil : .failed(failure)
        case .success(let found):
            if found.isAvailable(protectionClass) { return .available }
            return found.fault.map(Event.failed)
        }
    }

    private func event(
        in updates: AvailabilityUpdates, _ protectionClass: ProtectionClass
    ) async -> Event {
        var last: AvailabilityUpdates.Element?
        for await update in updates {
            last = scripted(update)
            if let last, let event = Self.judge(last, protectionClass) { return event }
        }
        return .ended(last: last)
    }

    private static func finish(
        _ events: [Event], _ last: AvailabilityUpdates.Element?
    ) throws(KeychainFailure) {
        for case .available in events { return }
        for case .failed(let failure) in events { throw failure }
        for case .deadline in events {
            if case .failure(let failure)? = last { throw failure }
            let isOfProcess =
                if case .success(let found)? = last { found.isOfProcess } else { false }
            throw KeychainFailure(
                .locked, during: waiting, message: "the keychain was not unlocked in time",
                hint: KeychainFailure.unlockHint(ofProcess: isOfProcess))
        }
        throw KeychainFailure(.userCancelled, during: waiting, message: "the task was cancelled")
    }
}
