// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetSystem

/// Says that items may have changed. Two unread signals become one.
typealias ItemSignals = AsyncStream<Void>

/// Watches for writes on one thread, which runs while there are subscriptions. ``AccountChanges``
/// subscribes.
final class ItemWatcher: Sendable {
    /// A child of `fork` has neither the thread nor the tasks of its parent.
    static let current = ProcessLocal<ItemWatcher> { _ in ItemWatcher() }

    /// How long to wait before looking again for writes that the watch missed.
    private static let pause = Duration.seconds(30)
    /// The same pause, if the system cannot watch the folder.
    private static let shortPause = Duration.seconds(2)
    /// How long writes are gathered, so that a busy keychain is read ten times a second at most.
    private static let interval = Duration.milliseconds(100)
    /// How long to wait for a write that has begun.
    private static let patience = Duration.seconds(1)

    private struct Subscription {
        let store: ItemStore
        let continuation: ItemSignals.Continuation
    }

    private struct State {
        var subscriptions: [UInt64: Subscription] = [:]
        var nextNumber: UInt64 = 0
        /// Set while the thread runs.
        var watch: ItemWatch?

        var stores: [ItemStore] {
            var stores: [ObjectIdentifier: ItemStore] = [:]
            for subscription in subscriptions.values {
                stores[ObjectIdentifier(subscription.store)] = subscription.store
            }
            return Array(stores.values)
        }
    }

    private let state = Mutex(State())

    /// Signals for the keychain of `store`, from now on.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func signals(of store: ItemStore) throws(KeychainFailure) -> ItemSignals {
        let (stream, continuation) = ItemSignals.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (number, watch) = try state.withLock { (state) throws(KeychainFailure) in
            let watch = if let known = state.watch { known } else { try begin() }
            state.watch = watch
            state.nextNumber += 1
            state.subscriptions[state.nextNumber] = Subscription(
                store: store, continuation: continuation)
            // Before this returns, so that no write after it is missed.
            _ = watch.attend(to: state.stores)
            return (state.nextNumber, watch)
        }
        continuation.onTermination = { [self] _ in end(number) }
        watch.wake()
        return stream
    }

    /// Starts the thread, which first waits for the subscription that it is started for.
    private func begin() throws(KeychainFailure) -> ItemWatch {
        let watch = try ItemWatch()
        try startThread { [self] in run(watch) }
        return watch
    }

    private func end(_ number: UInt64) {
        let watch = state.withLock { state in
            state.subscriptions[number] = nil
            return state.subscriptions.isEmpty ? state.watch : nil
        }
        // After the last subscription the thread ends.
        watch?.wake()
    }

    private func run(_ watch: ItemWatch) {
        while let (stores, canHear) = storesToWatch() {
            for store in stores { store.awaitWriters(atMost: Self.patience) }
            let listeners = state.withLock { $0.subscriptions.values.map(\.continuation) }
            for listener in listeners { listener.yield() }
            watch.gather(for: Self.interval)
            watch.wait(atMost: canHear ? Self.pause : Self.shortPause)
        }
    }

    /// The keychains with subscriptions. Without any it returns nil, and the thread ends.
    private func storesToWatch() -> (stores: [ItemStore], canHear: Bool)? {
        state.withLock { (state) -> (stores: [ItemStore], canHear: Bool)? in
            guard !state.subscriptions.isEmpty, let watch = state.watch else {
                state.watch = nil
                return nil
            }
            return (state.stores, watch.attend(to: state.stores))
        }
    }
}
