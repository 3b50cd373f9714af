// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// Says that items may have changed.
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
