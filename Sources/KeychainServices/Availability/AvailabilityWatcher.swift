// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainKeys
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetSystem

/// The availability of a keychain after each change. A slow reader gets the latest.
typealias AvailabilityUpdates = AsyncStream<Result<KeychainAvailability, KeychainFailure>>

/// Watches the lock states of keychains on one thread, which runs while there are subscriptions.
/// ``ValetKeychain/LockStateChanges`` and waiting tasks subscribe.
final class AvailabilityWatcher: Sendable {
    /// A child of `fork` has neither the thread nor the tasks of its parent.
    static let current = ProcessLocal<AvailabilityWatcher> { _ in AvailabilityWatcher() }

    /// How long to wait before looking again for changes that no process announces.
    private static let pause = Duration.seconds(30)
    /// The same pause, where changes cannot be announced or announcements cannot be received.
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
        /// Set while the thread runs.
        var watch: LockStateWatch?
    }

    private let state = Mutex(State())

    /// The availability of the keychain of `store`, from now on; the present state comes first.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func updates(of store: ItemStore) throws(KeychainFailure) -> AvailabilityUpdates {
        let (stream, continuation) = AvailabilityUpdates.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let (number, watch) = try state.withLock { (state) throws(KeychainFailure) in
            let watch = if let known = state.watch { known } else { try begin() }
            state.watch = watch
            state.nextNumber += 1
            state.subscriptions[state.nextNumber] = Subscription(
                store: store, continuation: continuation)
            return (state.nextNumber, watch)
        }
        continuation.onTermination = { [self] _ in end(number) }
        watch.wake()
        return stream
    }

    /// Starts the thread, which first waits for the subscription that it is started for.
    private func begin() throws(KeychainFailure) -> LockStateWatch {
        let watch = try LockStateWatch()
        try startThread { [self] in run(watch) }
        return watch
    }

    /// Sends the present state to all subscribers, whether or not it is new.
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
        // After the last subscription the thread ends.
        watch?.wake()
    }

    private func run(_ watch: LockStateWatch) {
        while let stores = storesToWatch() {
            let canHear = watch.attend(to: stores.map(\.location))
            let pauses = stores.map { look(at: $0, canHear: canHear) }
            watch.wait(atMost: pauses.min() ?? Self.pause)
        }
    }

    /// The keychains with subscriptions. Without any it returns nil, and the thread ends.
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

    /// Sends the state to subscribers that have another one. Returns when to look again.
    private func look(at store: ItemStore, canHear: Bool) -> Duration {
        let found = Result { () throws(KeychainFailure) in try store.keychain.availability() }
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
