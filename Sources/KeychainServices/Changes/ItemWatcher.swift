// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory

/// Tells that there may be something to look at; two that nobody has heard are one.
typealias ItemSignals = AsyncStream<Void>

/// Watches for writes on one thread of its own, for as long as anybody wants to know.
final class ItemWatcher: Sendable {
    /// A child of `fork` has neither the thread nor the tasks of its parent.
    static let current = ProcessLocal<ItemWatcher> { _ in ItemWatcher() }

    /// How long to wait, when nothing happens, for what nobody tells of.
    private static let pause = Duration.seconds(30)
    /// The same where nothing can be heard.
    private static let shortPause = Duration.seconds(2)
    /// How long writes are gathered, so that a busy keychain is looked at ten times a second.
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
        /// There while the thread runs.
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
    /// - Throws: ``KeychainFailure`` if the process can open nothing more.
    func signals(of store: ItemStore) throws(KeychainFailure) -> ItemSignals {
        let (stream, continuation) = ItemSignals.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (number, watch, isFirst) = try state.withLock { (state) throws(KeychainFailure) in
            let known = state.watch
            let watch = if let known { known } else { try ItemWatch() }
            state.watch = watch
            state.nextNumber += 1
            state.subscriptions[state.nextNumber] = Subscription(
                store: store, continuation: continuation)
            // Before this returns, so that no write after it is missed.
            _ = watch.attend(to: state.stores)
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

    private func end(_ number: UInt64) {
        let watch = state.withLock { state in
            state.subscriptions[number] = nil
            return state.subscriptions.isEmpty ? state.watch : nil
        }
        // The last one has gone: the thread goes, too.
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

    /// The keychains that somebody wants to know of; nil, and the end of the thread, if nobody
    /// wants to know anything.
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
