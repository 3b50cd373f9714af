// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// A value that one thread at a time may touch: `Mutex` came to Apple's systems late.
// Sendable because the lock is held wherever the value is touched.
final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<R>(_ body: (inout Value) -> R) -> R {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}

/// One call of a valet that another thread makes while a task waits for it. Every method of the
/// `Asynchronous…` types creates one.
@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
final class Call<Value: Sendable, Failure: Error>: Sendable {
    private enum Progress {
        case waiting(CheckedContinuation<Outcome, Never>)
        /// Created, but no task waits for it yet.
        case new
        case running(CheckedContinuation<Outcome, Never>)
        case over
    }

    /// The result, with the full failure that the thread has kept.
    struct Outcome: Sendable {
        let result: Result<Value, Failure>
        var failure: KeychainFailure?
    }

    /// Ends a call that has begun and is no longer waited for; nil for calls that are always waited
    /// for.
    private let abandonment: (@Sendable () -> Void)?
    private let body: @Sendable () throws(Failure) -> Value
    private let cancellation: Failure
    private let progress = Guarded(Progress.new)

    private init(
        abandonment: (@Sendable () -> Void)?, cancellation: Failure,
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) {
        self.abandonment = abandonment
        self.cancellation = cancellation
        self.body = Platform.carrying(body)
    }

    private func value() async throws(Failure) -> Value {
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
        guard !isCancelled else { return continuation.resume(returning: cancelled) }
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
        do {
            outcome = Outcome(result: .success(try body()))
        } catch {
            outcome = Outcome(result: .failure(error), failure: Platform.lastFailure)
        }
        finish(with: outcome) { _ in true }
    }

    private func cancel() {
        let isAbandoned = finish(with: cancelled) { [abandonment] progress in
            if case .running = progress { return abandonment != nil }
            return true
        }
        if isAbandoned { abandonment?() }
    }

    /// Hands `outcome` to the waiting task, once, if `condition` holds for the call's progress.
    ///
    /// - Returns: Whether the call had begun and the task was still waiting.
    @discardableResult
    private func finish(with outcome: Outcome, if condition: (borrowing Progress) -> Bool) -> Bool {
        let (continuation, hadBegun) = progress.withLock { progress in
            guard condition(progress) else {
                return (CheckedContinuation<Outcome, Never>?.none, false)
            }
            defer { progress = .over }
            switch progress {
            case .waiting(let continuation): return (continuation, false)
            case .running(let continuation): return (continuation, true)
            case .new, .over: return (nil, false)
            }
        }
        continuation?.resume(returning: outcome)
        return hadBegun
    }

    private var cancelled: Outcome {
        Outcome(
            result: .failure(cancellation),
            failure: KeychainFailure(
                .userCancelled, during: "call the keychain", message: "the task was cancelled"))
    }
}

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension Call where Failure == KeychainError {
    /// Makes a call that changes nothing.
    ///
    /// - Parameter abandonment: Called when the task is cancelled after the call has begun.
    /// - Throws: `userCancelled` once the task is cancelled, and what `body` throws.
    static func reading(
        orElse abandonment: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () throws(KeychainError) -> Value
    ) async throws(KeychainError) -> Value {
        try await Call(abandonment: abandonment, cancellation: .userCancelled, body).value()
    }

    /// Makes a call that may change something.
    ///
    /// - Throws: `userCancelled` if the task is cancelled before the call begins; what `body`
    ///   throws.
    static func writing(
        _ body: @escaping @Sendable () throws(KeychainError) -> Value
    ) async throws(KeychainError) -> Value {
        try await Call(abandonment: nil, cancellation: .userCancelled, body).value()
    }
}

@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
extension Call where Failure == any Error {
    /// Makes a call that changes nothing and also throws other errors than `KeychainError`.
    ///
    /// - Throws: `userCancelled` once the task is cancelled, and what `body` throws.
    static func untypedReading(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await Call(abandonment: {}, cancellation: KeychainError.userCancelled, body).value()
    }

    /// Makes a call that may change something and also throws other errors than `KeychainError`.
    ///
    /// - Throws: `userCancelled` if the task is cancelled before the call begins; what `body`
    ///   throws.
    static func untypedWriting(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await Call(abandonment: nil, cancellation: KeychainError.userCancelled, body).value()
    }
}

private let callQueue = DispatchQueue(label: "valet.asynchronous", attributes: .concurrent)

/// A query for the thread that makes a call.
// Sendable because the caller gave the query away, and nothing in it is ever changed.
struct SentQuery: @unchecked Sendable {
    let query: [String: AnyHashable]

    init(_ query: sending [String: AnyHashable]) {
        self.query = query
    }
}
