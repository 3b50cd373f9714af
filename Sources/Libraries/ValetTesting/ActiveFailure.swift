// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// A failure that is in effect, with the number of calls that it applied to so far.
/// `withKeychainFailure` puts it into effect; `FailureScript` applies it to calls.
final class ActiveFailure: Sendable {
    /// The failures that are in effect in this task.
    @TaskLocal static var all: [ActiveFailure] = []

    private let failure: ScriptedFailure
    private let count = Atomic<Int>(0)
    /// Whether its scope has ended. Tasks that outlive the scope are no longer affected.
    private let isOver = Atomic<Bool>(false)

    private init(_ failure: ScriptedFailure) {
        self.failure = failure
    }

    /// Runs `body` with `failures` in effect in addition to those that already are.
    static func adding<R>(_ failures: [ScriptedFailure], _ body: () -> R) -> R {
        let new = failures.map(ActiveFailure.init)
        defer { end(new) }
        return $all.withValue(all + new) { body() }
    }

    /// Runs `body` with `failures` in effect in addition to those that already are.
    static func adding<R>(_ failures: [ScriptedFailure], _ body: () async -> R) async -> R {
        let new = failures.map(ActiveFailure.init)
        defer { end(new) }
        return await $all.withValue(all + new) { await body() }
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
