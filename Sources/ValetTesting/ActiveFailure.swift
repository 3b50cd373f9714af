// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import KeychainServices
internal import KeychainStore
internal import Synchronization

/// A failure that is in effect, with the number of calls that it has met.
final class ActiveFailure: Sendable {
    /// Those that are in effect in this task.
    @TaskLocal static var all: [ActiveFailure] = []

    private let failure: ScriptedFailure
    private let count = Atomic<Int>(0)

    private init(_ failure: ScriptedFailure) {
        self.failure = failure
    }

    /// Runs `body` with `failures` in effect beside those that are.
    static func adding<R>(_ failures: [ScriptedFailure], _ body: () -> R) -> R {
        $all.withValue(all + failures.map(ActiveFailure.init)) { body() }
    }

    /// Runs `body` with `failures` in effect beside those that are.
    static func adding<R>(_ failures: [ScriptedFailure], _ body: () async -> R) async -> R {
        await $all.withValue(all + failures.map(ActiveFailure.init)) { await body() }
    }

    /// Fails in the place of a call, or delays it, or does nothing.
    func meet(_ call: MetCall) throws(KeychainFailure) {
        guard failure.key.map(call.isAbout) ?? true else { return }
        switch failure.kind {
        case .slow(let duration):
            guard isTurn() else { return }
            try delay(call, by: duration)
        case .locked, .beforeFirstUnlock, .keyUnavailable, .damaged, .diskFull, .userCancelled:
            guard let failure = call.failure(failure.kind, key: failure.key), isTurn() else {
                return
            }
            throw failure
        }
    }

    private func isTurn() -> Bool {
        let number = count.add(1, ordering: .relaxed).newValue
        return switch failure.calls {
        case .all: true
        case .only(let wanted): number == wanted
        case .from(let first): number >= first
        }
    }

    /// Waits as a call waits for others: not beyond its deadline.
    private func delay(_ call: MetCall, by duration: Duration) throws(KeychainFailure) {
        let limit = call.session.store.timeLimit
        Thread.sleep(forTimeInterval: min(duration, limit) / .seconds(1))
        guard duration < limit else {
            throw KeychainFailure(.timedOut, during: call.call.operation)
        }
    }
}
