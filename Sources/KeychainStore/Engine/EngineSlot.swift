// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import Sealing
internal import Synchronization

/// The engine of one process for one keychain, opened at the first call that needs it.
final class EngineSlot: Sendable {
    private let engine = Mutex<Engine?>(nil)
    /// Calls that are under way; a fork in the middle of one leaves the child nothing to use.
    private let activeCalls = Atomic<Int>(0)
    private let isUsable: Bool
    private let openSlots: OpenSlots

    init(isUsable: Bool, countedIn openSlots: OpenSlots) {
        self.isUsable = isUsable
        self.openSlots = openSlots
        openSlots.count.add(1, ordering: .sequentiallyConsistent)
    }

    deinit {
        close()
        openSlots.count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// In a child of `fork`: closes what the parent had open.
    ///
    /// - Returns: false if the parent was in the middle of a call.
    func closeInherited() -> Bool {
        guard isUsable, activeCalls.load(ordering: .sequentiallyConsistent) == 0,
            let engine = engine.withLockIfAvailable({ $0 })
        else { return false }
        return engine?.closeInherited() ?? true
    }

    /// The keychain whose files are open; nil if none are, or nothing was read of them yet.
    var keychainID: KeychainID? {
        engine.withLock { $0 }?.lastKnownFacts?.settings.keychainID
    }

    /// Runs `body` with the engine; nil if there is no keychain and none is to be created.
    func withEngine<R>(
        _ location: KeychainLocation, _ deadline: Deadline, creating: Bool, _ operation: String,
        _ body: (Engine) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        guard isUsable else { throw Self.forkedInTheMiddle(operation) }
        activeCalls.add(1, ordering: .sequentiallyConsistent)
        defer { activeCalls.subtract(1, ordering: .sequentiallyConsistent) }
        guard let engine = try current(location, deadline, creating: creating, operation) else {
            return nil
        }
        do throws(KeychainFailure) {
            return try body(engine)
        } catch {
            throw engine.reason(for: error, deadline)
        }
    }

    private func current(
        _ location: KeychainLocation, _ deadline: Deadline, creating: Bool, _ operation: String
    ) throws(KeychainFailure) -> Engine? {
        if let known = engine.withLock({ $0 }) {
            let isInPlace = try translating(operation) { try known.wasInPlaceRecently(deadline) }
            if isInPlace { return known }
        }
        let fresh: Engine? =
            if creating {
                try Engine.openOrCreate(location, deadline)
            } else {
                try Engine.open(location, deadline)
            }
        guard let fresh else {
            engine.withLock { $0 = nil }
            return nil
        }
        // Of two threads that open at once the first wins: one set of connections per process.
        return try translating(operation) {
            let current = engine.withLock { $0 }
            if let current, try current.isInPlace() { return current }
            engine.withLock { $0 = fresh }
            return fresh
        }
    }

    /// Forgets an engine whose database is no longer the one with its name.
    func drop() {
        engine.withLock { $0 = nil }
    }

    /// Ends the connections; nothing else may be under way.
    func close() {
        engine.withLock { $0.take() }?.close()
    }

    private static func forkedInTheMiddle(_ operation: String) -> KeychainFailure {
        KeychainFailure(
            .internalFault, during: operation,
            message: "the process was forked while another thread was using the keychain",
            hint: "start a program with exec after fork, or fork before using threads")
    }
}
