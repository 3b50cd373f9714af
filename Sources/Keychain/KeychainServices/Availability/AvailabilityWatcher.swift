// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

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

    private let subscriptions = Subscriptions<AvailabilityUpdates.Element>(to: .lockState)

    /// The availability of the keychain of `store`, from now on; the current state comes first.
    ///
    /// - Throws: ``KeychainFailure`` if the process can open no more files, or start no thread.
    func updates(of store: ItemStore) throws(KeychainFailure) -> AvailabilityUpdates {
        try subscriptions.stream(of: store) { [self] watch, stores, canHear in
            let pauses = stores.map { look(at: $0, canHear: canHear) }
            watch.wait(atMost: pauses.min() ?? Self.longPause)
        }
    }

    /// Sends the present state to all subscribers, whether or not it is new.
    func tellAgain() {
        subscriptions.sendAgain()
    }

    /// Sends the state to subscribers that have another one. Returns when to look again.
    private func look(at store: ItemStore, canHear: Bool) -> Duration {
        let found = Result { () throws(KeychainFailure) in try store.keychain.availability() }
        subscriptions.send(found, to: store)
        return Self.pause(after: found, canHear: canHear)
    }

    /// When to look again after a look that found this; `canHear` is false where changes go
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
