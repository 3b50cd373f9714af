// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import Synchronization

/// A call that a task waits for while a thread of its own makes it.
final class Call<Value: Sendable>: Sendable {
    private enum Progress {
        case waiting(CheckedContinuation<Outcome, Never>)
        /// Made, but nobody waits for it yet.
        case new
        case running(CheckedContinuation<Outcome, Never>)
        case over
    }

    /// What came of it, with the failure that the thread knows in full.
    struct Outcome: Sendable {
        let result: Result<Value, KeychainError>
        var failure: KeychainFailure?
    }

    /// Whether a call that has begun may be left alone.
    private let isAbandonable: Bool
    private let body: @Sendable () throws(KeychainError) -> Value
    private let progress = Mutex(Progress.new)

    private init(
        isAbandonable: Bool, _ body: @escaping @Sendable () throws(KeychainError) -> Value
    ) {
        self.isAbandonable = isAbandonable
        self.body = body
    }

    /// Makes a call that changes nothing.
    ///
    /// - Throws: `userCancelled` once the task is cancelled, and what `body` throws.
    static func reading(
        _ body: @escaping @Sendable () throws(KeychainError) -> Value
    ) async throws(KeychainError) -> Value {
        try await Call(isAbandonable: true, Platform.carrying(body)).value()
    }

    /// Makes a call that may change something.
    ///
    /// - Throws: `userCancelled` if the task is cancelled before it begins; what `body` throws.
    static func writing(
        _ body: @escaping @Sendable () throws(KeychainError) -> Value
    ) async throws(KeychainError) -> Value {
        try await Call(isAbandonable: false, Platform.carrying(body)).value()
    }

    private func value() async throws(KeychainError) -> Value {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { begin($0) }
        } onCancel: {
            cancel()
        }
        if let failure = outcome.failure { Platform.keep(failure) }
        return try outcome.result.get()
    }

    private func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        let isCancelled = progress.withLock { progress in
            guard case .new = progress else { return true }
            progress = .waiting(continuation)
            return false
        }
        guard !isCancelled else { return continuation.resume(returning: Self.cancelled) }
        callQueue.async { [self] in run() }
    }

    private func run() {
        let mayRun = progress.withLock { progress in
            guard case .waiting(let continuation) = progress else { return false }
            progress = .running(continuation)
            return true
        }
        guard mayRun else { return }
        let outcome: Outcome
        do throws(KeychainError) {
            outcome = Outcome(result: .success(try body()))
        } catch {
            outcome = Outcome(result: .failure(error), failure: Platform.lastFailure)
        }
        finish(with: outcome) { _ in true }
    }

    private func cancel() {
        finish(with: Self.cancelled) { [isAbandonable] progress in
            if case .running = progress { return isAbandonable }
            return true
        }
    }

    /// Hands `outcome` to who waits, once, if the call is still where `condition` wants it.
    private func finish(with outcome: Outcome, if condition: (borrowing Progress) -> Bool) {
        let continuation = progress.withLock { progress in
            guard condition(progress) else { return CheckedContinuation<Outcome, Never>?.none }
            defer { progress = .over }
            switch progress {
            case .waiting(let continuation), .running(let continuation): return continuation
            case .new, .over: return nil
            }
        }
        continuation?.resume(returning: outcome)
    }

    private static var cancelled: Outcome {
        Outcome(
            result: .failure(.userCancelled),
            failure: KeychainFailure(
                .userCancelled, during: "call the keychain", message: "the task was cancelled"))
    }
}

private let callQueue = DispatchQueue(label: "valet.asynchronous", attributes: .concurrent)
