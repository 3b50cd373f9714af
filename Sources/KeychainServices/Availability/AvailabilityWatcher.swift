// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

/// What was found out about a keychain, each time that it changed; a slow reader gets the latest.
typealias AvailabilityUpdates = AsyncStream<Result<KeychainAvailability, KeychainFailure>>

/// Watches keychains on one thread of its own, for as long as anybody wants to know.
final class AvailabilityWatcher: Sendable {
    /// A child of `fork` has neither the thread nor the tasks of its parent.
    static let current = ProcessLocal<AvailabilityWatcher> { _ in AvailabilityWatcher() }

    /// How long to wait, when nothing happens, for what nobody tells of.
    private static let pause = Duration.seconds(30)
    /// The same where nobody can tell, or nobody can hear it.
    private static let shortPause = Duration.seconds(5)
    /// How soon to look again at a keychain that is busy.
    private static let retryPause = Duration.seconds(1)

    private struct Subscription {
        let store: ItemStore
        let continuation: AvailabilityUpdates.Continuation
        var last: AvailabilityUpdates.Element?
    }

    private struct State {
        var subscriptions: [UInt64: Subscription] = [:]
        var nextNumber: UInt64 = 0
        /// There while the thread runs.
        var watch: LockStateWatch?
    }

    private let state = Mutex(State())

    /// What is found out about the keychain of `store`, from now on; the present comes first.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open nothing more.
    func updates(of store: ItemStore) throws(KeychainFailure) -> AvailabilityUpdates {
        let (stream, continuation) = AvailabilityUpdates.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let (number, watch, isFirst) = try state.withLock { (state) throws(KeychainFailure) in
            let known = state.watch
            let watch = if let known { known } else { try LockStateWatch() }
            state.watch = watch
            state.nextNumber += 1
            state.subscriptions[state.nextNumber] = Subscription(
                store: store, continuation: continuation)
            return (state.nextNumber, watch, known == nil)
        }
        continuation.onTermination = { [self] _ in end(number) }
        if isFirst {
            Thread.detachNewThread { [self] in run(watch) }
        } else {
            watch.wake()
        }
        return stream
    }

    /// Tells everybody what there is, whether or not it is new.
    func tellAgain() {
        let watch = state.withLock { state in
            for number in state.subscriptions.keys { state.subscriptions[number]?.last = nil }
            return state.watch
        }
        watch?.wake()
    }

    private func end(_ number: UInt64) {
        let watch = state.withLock { state in
            state.subscriptions[number] = nil
            return state.subscriptions.isEmpty ? state.watch : nil
        }
        // The last one has gone: the thread goes, too.
        watch?.wake()
    }

    private func run(_ watch: LockStateWatch) {
        while let stores = storesToWatch() {
            let canHear = watch.attend(to: stores)
            let pauses = stores.map { look(at: $0, canHear: canHear) }
            watch.wait(atMost: pauses.min() ?? Self.pause)
        }
    }

    /// The keychains that somebody wants to know of; nil, and the end of the thread, if nobody
    /// wants to know anything.
    private func storesToWatch() -> [ItemStore]? {
        state.withLock { state in
            guard !state.subscriptions.isEmpty else {
                state.watch = nil
                return nil
            }
            var stores: [ObjectIdentifier: ItemStore] = [:]
            for subscription in state.subscriptions.values {
                stores[ObjectIdentifier(subscription.store)] = subscription.store
            }
            return Array(stores.values)
        }
    }

    /// Tells what is new to whom it is new; returns when to look again at the latest.
    private func look(at store: ItemStore, canHear: Bool) -> Duration {
        let found = Result { () throws(KeychainFailure) in try store.availability() }
        let listeners = state.withLock { state in
            var listeners: [AvailabilityUpdates.Continuation] = []
            for (number, subscription) in state.subscriptions
            where subscription.store === store && subscription.last != found {
                state.subscriptions[number]?.last = found
                listeners.append(subscription.continuation)
            }
            return listeners
        }
        for listener in listeners { listener.yield(found) }
        switch found {
        case .failure(let failure):
            return failure.code == .timedOut ? Self.retryPause : Self.shortPause
        case .success(let found):
            let pause = canHear && found.isAnnounced ? Self.pause : Self.shortPause
            return min(pause, found.remaining ?? pause)
        }
    }
}
