// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The subscriptions to changes of keychains, and the thread that serves them while there are any.
/// ``AvailabilityWatcher`` and ``ItemWatcher`` each have one instance.
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
            // Watches before `stream` returns, so that no later change is missed.
            _ = watch.attend(to: state.stores.map(\.location))
            return (state.nextNumber, watch)
        }
        continuation.onTermination = { [self] _ in end(number) }
        watch.wake()
        return stream
    }

    /// Starts the thread. The caller holds the lock of `state`, so the thread does not look for
    /// subscriptions before the caller has added one.
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

    /// Sends `element` to the subscribers of `store`, except those that got the same element last.
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

/// The availability of a keychain after each change. A slow reader gets the latest.
typealias AvailabilityUpdates = AsyncStream<Result<KeychainAvailability, KeychainFailure>>

/// Watches the lock states of keychains on one thread, which runs while there are subscriptions.
/// ``ValetKeychain/LockStateChanges`` and waiting tasks subscribe.
final class AvailabilityWatcher: Sendable {
    /// A child of `fork` has neither the thread nor the tasks of its parent.
    static let current = ProcessLocal<AvailabilityWatcher> { _ in AvailabilityWatcher() }

    /// How long to wait before looking again for changes that no process announces.
    private static let longPause = Duration.seconds(30)
    /// The same pause, where changes cannot be announced or announcements cannot be received.
    private static let shortPause = Duration.seconds(5)
    /// How soon to look again at a keychain that is busy.
    private static let retryPause = Duration.seconds(1)

    let subscriptions = Subscriptions<AvailabilityUpdates.Element>(to: .lockState)

    /// The availability of the keychain of `store`, from now on; the current state comes first.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func updates(of store: ItemStore) throws(KeychainFailure) -> AvailabilityUpdates {
        try subscriptions.stream(of: store) { [subscriptions] watch, stores, canHear in
            let pauses = stores.map { store in
                let found = Result { () throws(KeychainFailure) in
                    try store.keychain.availability()
                }
                subscriptions.send(found, to: store)
                return Self.pause(after: found, canHear: canHear)
            }
            watch.wait(atMost: pauses.min() ?? Self.longPause)
        }
    }

    /// How long to wait after a look that found `found`; `canHear` is false where changes go
    /// unnoticed.
    static func pause(after found: AvailabilityUpdates.Element, canHear: Bool) -> Duration {
        switch found {
        case .failure(let failure):
            return failure.code == .timedOut ? retryPause : shortPause
        case .success(let found):
            let pause = canHear && found.isAnnounced ? longPause : shortPause
            return min(pause, found.remaining ?? pause)
        }
    }
}

enum ItemSignal: Sendable {
    case mayHaveChanged
}

/// Two unread signals become one.
typealias ItemSignals = AsyncStream<ItemSignal>

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

    private let subscriptions = Subscriptions<ItemSignal>(to: .items)

    /// Signals for the keychain of `store`, from now on.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func signals(of store: ItemStore) throws(KeychainFailure) -> ItemSignals {
        try subscriptions.stream(of: store) { [subscriptions] watch, stores, canHear in
            for store in stores {
                store.keychain.awaitWriters(atMost: Self.patience)
                subscriptions.send(.mayHaveChanged, to: store, repeated: true)
            }
            _ = Deadline(after: Self.interval).sleep(atMost: .max)
            watch.wait(atMost: canHear ? Self.pause : Self.shortPause)
        }
    }
}
