// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// Runs each call to one temporary keychain: applies the failures in effect, and keeps the keychain
/// until the call returns.
struct FailureScript: CallScript {
    let lifetime: KeychainLifetime
    /// The failures of the task that created this script for another thread; nil for those of the
    /// calling task.
    private let carried: [ActiveFailure]?

    init(_ lifetime: KeychainLifetime, carrying failures: [ActiveFailure]? = nil) {
        self.lifetime = lifetime
        carried = failures
    }

    private var failures: [ActiveFailure] { carried ?? ActiveFailure.all }

    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try lifetime.counting(call.operation) { () throws(KeychainFailure) in
            let met = ObservedCall(call, session)
            for failure in failures { try failure.meet(met) }
            return try body()
        }
    }

    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        try lifetime.counting(Keychain.looking) { () throws(KeychainFailure) in
            try ScriptedState(failures).look(in: session)
        }
    }

    func changed(
        _ found: ScriptedState.Found, in session: KeychainSession
    ) -> ScriptedState.Found {
        ScriptedState(failures).changed(found, in: session)
    }

    var ofThisTask: any CallScript { FailureScript(lifetime, carrying: failures) }
}

/// Counts the calls to one temporary keychain that are under way, and removes the keychain after
/// the last one.
final class KeychainLifetime: Sendable {
    private struct State {
        var activeCalls = 0
        var isOver = false
        var isRemoved = false
    }

    private let state = Mutex(State())
    private let remove: @Sendable () -> Void

    /// - Parameter remove: Called once, when the keychain has ended and no call is under way.
    init(remove: @escaping @Sendable () -> Void) {
        self.remove = remove
    }

    func counting<R>(
        _ operation: String, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        guard begin() else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "the temporary keychain was removed",
                hint: "wait for the test's own tasks and threads before the test ends")
        }
        defer { finish { $0.activeCalls -= 1 } }
        return try body()
    }

    /// Refuses every further call.
    func end() {
        finish { $0.isOver = true }
    }

    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.activeCalls += 1
            return true
        }
    }

    /// Changes the state, and removes the keychain if it has ended and no call is under way.
    private func finish(_ change: (inout State) -> Void) {
        let isLast = state.withLock { state in
            change(&state)
            guard state.isOver, state.activeCalls == 0, !state.isRemoved else { return false }
            state.isRemoved = true
            return true
        }
        if isLast { remove() }
    }
}

/// A failure that is in effect, with the number of calls that it applied to so far.
/// `withKeychainFailure` puts it into effect; `FailureScript` applies it to calls.
final class ActiveFailure: Sendable {
    @TaskLocal static var all: [ActiveFailure] = []

    private let failure: ScriptedFailure
    private let count = Atomic<Int>(0)
    /// Whether its scope has ended. Tasks that outlive the scope are no longer affected.
    private let isOver = Atomic<Bool>(false)

    private init(_ failure: ScriptedFailure) {
        self.failure = failure
    }

    /// Runs `body` with `failures` in effect in addition to those that already are.
    static func adding<R, E: Error>(
        _ failures: [ScriptedFailure], _ body: () throws(E) -> R
    ) throws(E) -> R {
        let new = failures.map(ActiveFailure.init)
        defer { end(new) }
        return try $all.binding(all + new, body)
    }

    /// Runs `body` with `failures` in effect in addition to those that already are.
    static func adding<R, E: Error>(
        _ failures: [ScriptedFailure], _ body: () async throws(E) -> R
    ) async throws(E) -> R {
        let new = failures.map(ActiveFailure.init)
        defer { end(new) }
        return try await $all.binding(all + new, body)
    }

    private static func end(_ failures: [ActiveFailure]) {
        for failure in failures { failure.isOver.store(true, ordering: .releasing) }
        if failures.contains(where: { $0.failure.isOfKeychain }) {
            SessionOverride.scriptHasChanged()
        }
    }

    /// Its effect on the next call, whatever the item; nil without an effect.
    var next: ScriptedFailure.Kind? {
        guard failure.isOfKeychain, !isOver.load(ordering: .acquiring) else { return nil }
        return isTurn(count.load(ordering: .relaxed) + 1) ? failure.kind : nil
    }

    /// Throws in place of a call, delays it, or does nothing.
    func meet(_ call: ObservedCall) throws(KeychainFailure) {
        guard !isOver.load(ordering: .acquiring), failure.key.map(call.isAbout) ?? true else {
            return
        }
        switch failure.kind {
        case .slow(let duration):
            guard isTurn() else { return }
            try Self.delay(call.call.operation, by: duration, in: call.session)
        case .locked, .beforeFirstUnlock, .keyUnavailable, .damaged, .diskFull, .userCancelled:
            guard let failure = call.failure(failure.kind, key: failure.key), isTurn() else {
                return
            }
            throw failure
        }
    }

    private func isTurn() -> Bool {
        let number = count.add(1, ordering: .relaxed).newValue
        if failure.isOfKeychain, failure.calls != .all { SessionOverride.scriptHasChanged() }
        return isTurn(number)
    }

    private func isTurn(_ number: Int) -> Bool {
        switch failure.calls {
        case .all: true
        case .only(let wanted): number == wanted
        case .from(let first): number >= first
        }
    }

    /// Waits like a call that waits for others, at most until its deadline.
    static func delay(
        _ operation: String, by duration: Duration, in session: KeychainSession
    ) throws(KeychainFailure) {
        let limit = session.store.timeLimit
        Thread.sleep(forTimeInterval: min(duration, limit) / .seconds(1))
        guard duration < limit else {
            throw KeychainFailure(.timedOut, during: operation)
        }
    }
}

/// The state that a temporary keychain reports while failures are in effect: the state that the
/// next call would find. Asking for the state is not counted as a call.
struct ScriptedState {
    typealias Found = Result<KeychainAvailability, KeychainFailure>

    private let kinds: [ScriptedFailure.Kind]

    init(_ failures: [ActiveFailure]) {
        kinds = failures.compactMap(\.next)
    }

    /// Looks up the state, with the delays of a call.
    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        for case .slow(let duration) in kinds {
            try ActiveFailure.delay(Keychain.looking, by: duration, in: session)
        }
        return scripted(try session.store.keychain.availability())
    }

    /// `found` with the scripted state. Adds no delay, because the receiver waits anyway.
    func changed(_ found: Found, in session: KeychainSession) -> Found {
        for case .slow(session.store.timeLimit...) in kinds {
            return .failure(KeychainFailure(.timedOut, during: Keychain.looking))
        }
        return found.map(scripted)
    }

    /// The device key counts first, then the opened keys (spec/keys-and-states.md §5).
    private func scripted(_ found: KeychainAvailability) -> KeychainAvailability {
        var found = found
        if kinds.contains(.keyUnavailable) {
            (found.state, found.openKeys) = (.keyUnavailable, [])
            found.level = found.level ?? .file
            found.fault = KeychainFailure(.keyUnavailable, during: Keychain.looking)
        } else if kinds.contains(.beforeFirstUnlock) {
            (found.state, found.openKeys) = (.beforeFirstUnlock, [])
            found.level = .passcode
        } else if kinds.contains(.locked) {
            (found.state, found.openKeys) = (.locked, [.afterFirstUnlock])
            found.level = .passcode
        }
        return found
    }
}
