// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// Runs each call to one temporary keychain: applies the failures in effect, counts the calls under
/// way, and removes the keychain after the last one.
final class FailureScript: CallScript {
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

    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try perform(call, in: session, failing: ActiveFailure.all, body)
    }

    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        try look(in: session, failing: ActiveFailure.all)
    }

    func changed(
        _ found: ScriptedState.Found, in session: KeychainSession
    ) -> ScriptedState.Found {
        ScriptedState(ActiveFailure.all).changed(found, in: session)
    }

    var ofThisTask: any CallScript { CarriedScript(self, ActiveFailure.all) }

    fileprivate func perform<R>(
        _ call: SessionCall, in session: KeychainSession, failing: [ActiveFailure],
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try counting(call.operation) { () throws(KeychainFailure) in
            let met = ObservedCall(call, session)
            for failure in failing { try failure.meet(met) }
            return try body()
        }
    }

    fileprivate func look(
        in session: KeychainSession, failing: [ActiveFailure]
    ) throws(KeychainFailure) -> KeychainAvailability {
        try counting(Keychain.looking) { () throws(KeychainFailure) in
            try ScriptedState(failing).look(in: session)
        }
    }

    /// Runs `body` and keeps the keychain until it returns.
    private func counting<R>(
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

/// A script for another thread, with the failures of the task that created it.
final class CarriedScript: CallScript {
    private let script: FailureScript
    private let failures: [ActiveFailure]

    fileprivate init(_ script: FailureScript, _ failures: [ActiveFailure]) {
        self.script = script
        self.failures = failures
    }

    func perform<R>(
        _ call: SessionCall, in session: KeychainSession, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try script.perform(call, in: session, failing: failures, body)
    }

    func look(in session: KeychainSession) throws(KeychainFailure) -> KeychainAvailability {
        try script.look(in: session, failing: failures)
    }

    func changed(
        _ found: ScriptedState.Found, in session: KeychainSession
    ) -> ScriptedState.Found {
        ScriptedState(failures).changed(found, in: session)
    }

    var ofThisTask: any CallScript { self }
}
