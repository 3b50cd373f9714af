// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// A call that takes the engine of a keychain.
struct EngineCall {
    let operation: String
    let location: KeychainLocation
    let deadline: Deadline
    /// Whether to create a keychain if there is none.
    var isCreating = false
    /// Whether it is made again if the keychain is replaced meanwhile. Reads of items may see that
    /// for a tenth of a second longer, writes look for themselves. All other calls are made once,
    /// and see nothing that is not there any more.
    var isOfItems = true
    /// False for what is done whatever the settings are: a lock.
    var checksSettings = true

    /// What a call fails with whose keychain was replaced.
    fileprivate var replaced: KeychainFailure {
        KeychainFailure(
            SystemError(
                .replaced, during: operation, path: location.folder, hint: "try again"),
            during: operation)
    }
}

/// The engine of one process for one keychain, opened at the first call that needs it.
final class EngineSlot: Sendable {
    private let engine = Mutex<Engine?>(nil)
    /// Calls that are under way; a fork in the middle of one leaves the child nothing to use.
    private let activeCalls = Atomic<Int>(0)
    /// The keychain that was open last.
    private let last = Mutex<KeychainID?>(nil)
    /// Settings are read once: asking for the ids of the process takes longer than reading an item.
    private let hasCheckedSettings = Atomic<Bool>(false)
    private let isUsable: Bool
    private let openSlots: OpenSlots

    /// How long to wait, in nanoseconds, before what is at the path is opened anew.
    private static let pause: Int64 = 200_000

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

    /// The keychain whose files are open, or were last; nil if nothing was read of them yet.
    var keychainID: KeychainID? {
        if let engine = engine.withLock({ $0 }) { return engine.keychainID }
        return last.withLock { $0 }
    }

    /// Runs `body` with the engine; nil if there is no keychain and none is to be created.
    ///
    /// If `body` fails and the keychain was replaced meanwhile, the engine is dropped: what failed
    /// says nothing of the keychain that is there now.
    func withEngine<R>(
        _ call: EngineCall, _ body: (Engine) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        guard isUsable else { throw Self.forkedInTheMiddle(call.operation) }
        activeCalls.add(1, ordering: .sequentiallyConsistent)
        defer { activeCalls.subtract(1, ordering: .sequentiallyConsistent) }
        while true {
            var mayRepeat = true
            do throws(KeychainFailure) {
                guard let engine = try current(call) else { return nil }
                mayRepeat = call.isOfItems
                return try perform(call, engine, body)
            } catch {
                guard error.isOfReplacement, mayRepeat, call.deadline.sleep(atMost: Self.pause)
                else { throw error }
            }
        }
    }

    private func perform<R>(
        _ call: EngineCall, _ engine: Engine, _ body: (Engine) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            return try body(engine)
        } catch {
            let isOfAnother = error.isOfReplacement || engine.isReplaced
            guard isOfAnother || engine.hasLostFiles(error) else {
                throw engine.reason(for: error, call.deadline)
            }
            drop(engine)
            throw call.replaced
        }
    }

    private func current(_ call: EngineCall) throws(KeychainFailure) -> Engine? {
        if call.checksSettings, !hasCheckedSettings.load(ordering: .relaxed) {
            try LockStates.checkSetting(during: call.operation)
            hasCheckedSettings.store(true, ordering: .relaxed)
        }
        if let known = engine.withLock({ $0 }) {
            let isInPlace = try translating(call.operation) {
                try call.isOfItems ? known.wasInPlaceRecently() : known.isInPlace()
            }
            if isInPlace { return known }
            drop(known)
        }
        let fresh: Engine? =
            if call.isCreating {
                try Engine.openOrCreate(call.location, call.deadline)
            } else {
                try Engine.open(call.location, call.deadline)
            }
        guard let fresh else { return nil }
        // Of two threads that open at once the first wins: one set of connections per process.
        return try translating(call.operation) {
            let current = engine.withLock { $0 }
            if let current, try current.isInPlace() { return current }
            engine.withLock { $0 = fresh }
            return fresh
        }
    }

    /// Forgets an engine whose keychain was replaced, with all that it knows. Its files are closed
    /// once the last call that uses it has ended.
    private func drop(_ replaced: Engine) {
        let dropped = engine.withLock { engine in
            guard engine === replaced else { return Engine?.none }
            return engine.take()
        }
        if let keychainID = dropped?.keychainID { last.withLock { $0 = keychainID } }
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
