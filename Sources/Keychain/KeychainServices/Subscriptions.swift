// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The subscriptions to changes of keychains, and the thread that serves them while there are any.
/// ``AvailabilityWatcher`` and ``ItemWatcher`` have one each.
final class Subscriptions<Element: Equatable & Sendable>: Sendable {
    private struct Subscription {
        let store: ItemStore
        let continuation: AsyncStream<Element>.Continuation
        var last: Element?
    }

    private struct State {
        var subscriptions: [UInt64: Subscription] = [:]
        var nextNumber: UInt64 = 0
        /// Set while the thread runs.
        var watch: KeychainWatch?

        var stores: [ItemStore] {
            var stores: [ObjectIdentifier: ItemStore] = [:]
            for subscription in subscriptions.values {
                stores[ObjectIdentifier(subscription.store)] = subscription.store
            }
            return Array(stores.values)
        }
    }

    private let subject: KeychainWatch.Subject
    private let state = Lock(State())

    /// No subscriptions to changes of `subject`.
    init(to subject: KeychainWatch.Subject) {
        self.subject = subject
    }

    /// A stream for the keychain of `store`, from now on. A slow reader gets the latest element.
    ///
    /// - Parameter serve: Runs on the thread again and again, with the keychains that have
    ///   subscriptions; `canHear` is false if changes may go unnoticed. Must end with a wait.
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func stream(
        of store: ItemStore,
        servedBy serve:
            @escaping @Sendable (
                _ watch: KeychainWatch, _ stores: [ItemStore], _ canHear: Bool
            ) -> Void
    ) throws(KeychainFailure) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let (number, watch) = try state.withLock { (state) throws(KeychainFailure) in
            let watch = if let known = state.watch { known } else { try begin(serve) }
            state.watch = watch
            state.nextNumber += 1
            state.subscriptions[state.nextNumber] = Subscription(
                store: store, continuation: continuation)
            // Before this returns, so that no change after it is missed.
            _ = watch.attend(to: state.stores.map(\.location))
            return (state.nextNumber, watch)
        }
        continuation.onTermination = { [self] _ in end(number) }
        watch.wake()
        return stream
    }

    /// Starts the thread, which first waits for the subscription that it is started for.
    private func begin(
        _ serve: @escaping @Sendable (KeychainWatch, [ItemStore], Bool) -> Void
    ) throws(KeychainFailure) -> KeychainWatch {
        let watch = try KeychainWatch(for: subject)
        try startThread { [self] in
            while let (stores, canHear) = storesToWatch() { serve(watch, stores, canHear) }
        }
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

    /// The keychains with subscriptions. Without any it returns nil, and the thread ends.
    private func storesToWatch() -> (stores: [ItemStore], canHear: Bool)? {
        state.withLock { (state) -> (stores: [ItemStore], canHear: Bool)? in
            guard !state.subscriptions.isEmpty, let watch = state.watch else {
                state.watch = nil
                return nil
            }
            let stores = state.stores
            return (stores, watch.attend(to: stores.map(\.location)))
        }
    }

    /// Sends `element` to the subscribers of `store` that got another one last.
    ///
    /// - Parameter isRepeated: Whether to send it to all subscribers of `store`.
    func send(_ element: Element, to store: ItemStore, repeated isRepeated: Bool = false) {
        let listeners = state.withLock { state in
            var listeners: [AsyncStream<Element>.Continuation] = []
            for (number, subscription) in state.subscriptions
            where subscription.store === store && (isRepeated || subscription.last != element) {
                state.subscriptions[number]?.last = element
                listeners.append(subscription.continuation)
            }
            return listeners
        }
        for listener in listeners { listener.yield(element) }
    }

    /// Sends the next element to all subscribers, whether or not it is new.
    func sendAgain() {
        let watch = state.withLock { state in
            for number in state.subscriptions.keys { state.subscriptions[number]?.last = nil }
            return state.watch
        }
        watch?.wake()
    }
}
