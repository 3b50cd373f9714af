// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// Keeps items: the rules of spec/secitem.md over rows that are sealed.
///
/// One object per keychain and process is enough, and more do no harm; the files are closed when
/// the last one is dropped. All calls may be made from
/// every thread; each is done by its deadline. Errors are ``KeychainFailure``, of the model, so
/// that a system's own keychain can report in the same words.
package final class ItemStore: Sendable {
    /// Where the keychain's files are.
    package let location: KeychainLocation
    /// How long a call waits for other processes, all in all.
    package let timeLimit: Duration
    /// How much work it is to be to try a passcode that is set now.
    package let stretching: PasscodeStretching
    private let slot: ProcessLocal<EngineSlot>
    private let clock: @Sendable () -> Int64

    /// The largest value that an item can have: 16 MiB.
    package static let maximalValueByteCount = 16 << 20

    /// The keychain at `location`, which need not exist; nothing is opened before it is needed.
    ///
    /// - Parameters:
    ///   - stretching: How much work it is to be to try a passcode that is set.
    ///   - clock: Nanoseconds since 1970, for dates.
    package init(
        _ location: KeychainLocation, timeLimit: Duration = .seconds(5),
        stretching: PasscodeStretching = .calibrated,
        clock: @escaping @Sendable () -> Int64 = { WallClock.nanoseconds }
    ) {
        self.location = location
        self.timeLimit = timeLimit
        self.stretching = stretching
        self.clock = clock
        slot = ProcessLocal { _ in EngineRegistry.slot(for: location.folder) }
    }

    /// Takes over the log and closes the files, so that the next program finds little to do.
    ///
    /// For programs that end; nothing else may be using the store. It may be used again.
    package func close() {
        slot.value.close()
    }

    /// As ``close()``, for every keychain that this process has open.
    package static func closeAll() {
        EngineRegistry.closeAll()
    }

    /// The same keychain, as it is where `$VALET_DEVICE_KEY_FILE` names `path`.
    ///
    /// Both share opened files: close this one first.
    package func takingDeviceKey(from path: String) -> ItemStore {
        ItemStore(
            KeychainLocation(location, deviceKeyPath: path), timeLimit: timeLimit,
            stretching: stretching, clock: clock)
    }

    /// The keychain that this process has seen last at this place; nil if none.
    var lastKnownKeychainID: KeychainID? { slot.value.keychainID }

    /// The time, for an item's dates and a row's logical time.
    var now: Moment { Moment(nanoseconds: clock()) }

    /// Runs `body` with the opened keychain; nil if there is none.
    func reading<R>(
        _ operation: String, _ body: (Engine, Deadline) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let deadline = Deadline(after: timeLimit)
        let call = EngineCall(operation: operation, location: location, deadline: deadline)
        return try slot.value.withEngine(call) { (engine) throws(KeychainFailure) in
            try body(engine, deadline)
        }
    }

    /// Runs `body` with the opened keychain; nil if there is none and none is to be made.
    func withEngineIfThere<R>(
        _ operation: String, creating: Bool, _ body: (Engine) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let call = EngineCall(
            operation: operation, location: location, deadline: Deadline(after: timeLimit),
            isCreating: creating, isOfItems: false, checksSettings: operation != Self.locking)
        return try slot.value.withEngine(call, body)
    }

    /// Runs `body` in one write transaction, all or nothing; nil if there is no keychain.
    func writing<R>(
        _ operation: String, creating: Bool = false,
        _ body: (WriteAccess) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let deadline = Deadline(after: timeLimit)
        let now = now
        if creating { try requireLevelOfNew(operation) }
        let call = EngineCall(
            operation: operation, location: location, deadline: deadline, isCreating: creating)
        return try slot.value.withEngine(call) { (engine) throws(KeychainFailure) in
            try engine.write(operation, deadline) { (writer, state) throws(KeychainFailure) in
                try body(
                    WriteAccess(writer: writer, state: state, now: now, operation: operation))
            }
        }
    }
}

/// A moment, in the two forms that rows keep.
struct Moment: Hashable, Sendable {
    private static let nanosecondsUntil2001: Int64 = 978_307_200 * 1_000_000_000

    /// Seconds since 2001-01-01 00:00 UTC.
    let date: Double
    /// Milliseconds since 1970, with 16 bits below them for what happens within one.
    let logicalTime: Int64

    init(nanoseconds: Int64) {
        let (since2001, isTooEarly) = nanoseconds.subtractingReportingOverflow(
            Self.nanosecondsUntil2001)
        date = Double(isTooEarly ? .min : since2001) / 1e9
        logicalTime = max(0, nanoseconds / 1_000_000) << 16
    }
}
