// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
package import ValetSystem

/// Stores items as sealed rows, by the rules of spec/secitem.md. ``Keychain`` has the calls about
/// the keychain as a whole.
///
/// A process needs one object per keychain, and more do no harm. The files are closed when the last
/// object is dropped. Every thread may make every call, and each call ends by its deadline.
package final class ItemStore: Sendable {
    /// Where the keychain's files are.
    package let location: KeychainLocation
    /// How long a call waits for other processes in total.
    package let timeLimit: Duration
    /// The deadline of all calls; nil if each call has its own.
    package let end: Deadline?
    /// The work that one try of a new passcode costs.
    package let stretching: PasscodeStretching
    private let lease: ProcessLocal<SlotLease>
    private let clock: @Sendable () -> Int64

    /// The largest value that an item can have: 16 MiB.
    package static let maximalValueByteCount = 16 << 20

    /// The keychain at `location`, which need not exist; nothing is opened before it is needed.
    ///
    /// - Parameters:
    ///   - stretching: The work that one try of a new passcode costs.
    ///   - clock: Nanoseconds since 1970, for dates.
    package init(
        _ location: KeychainLocation, timeLimit: Duration = .seconds(5),
        stretching: PasscodeStretching = .calibrated,
        clock: @escaping @Sendable () -> Int64 = { WallClock.nanoseconds }
    ) {
        self.location = location
        self.timeLimit = timeLimit
        end = nil
        self.stretching = stretching
        self.clock = clock
        lease = ProcessLocal { _ in KeychainRegistry.lease(of: location.folder) }
    }

    /// The keychain of this process.
    ///
    /// - Throws: ``KeychainFailure`` if the environment names no usable folder.
    package static func ofThisProcess() throws(KeychainFailure) -> ItemStore {
        ItemStore(try .ofThisProcess())
    }

    /// The keychain's folder.
    package var folder: String { location.folder }

    /// When the keychain's file was made, in seconds since 1970; nil if that is not known.
    package var birth: Int64? {
        FilePath.birth(of: location.folder + "/" + KeychainFile.database)
    }

    /// The path of the device key that the environment names; nil if it names none.
    package var deviceKeyPath: String? { location.deviceKeyPath }

    private init(_ store: ItemStore, ending end: Deadline) {
        location = store.location
        timeLimit = store.timeLimit
        self.end = end
        stretching = store.stretching
        clock = store.clock
        lease = store.lease
    }

    /// The same keychain for one call of an application, which waits until `deadline` at most.
    ///
    /// Stretching a passcode, unlocking and locking have deadlines of their own.
    package func ending(at deadline: Deadline) -> ItemStore {
        ItemStore(self, ending: deadline)
    }

    /// The deadline of all calls; if there is none, the moment `duration` from now.
    package func deadline(after duration: Duration) -> Deadline {
        end ?? Deadline(after: duration)
    }

    /// Checkpoints the log and closes the files, so that the next program has little to do.
    ///
    /// The next call opens them again. Files that a call of another thread is using stay open.
    ///
    @discardableResult
    package func close() -> Closing {
        slot.close()
    }

    /// Like ``close()``, for every keychain that this process has open.
    ///
    /// - Parameter isAtExit: Whether the process is exiting. Then keychains that need nothing but
    ///   closing, or that a call of another thread is using, are left to the kernel.
    @discardableResult
    package static func closeAll(atExit isAtExit: Bool = false) -> Closing {
        KeychainRegistry.closeAll(atExit: isAtExit)
    }

    /// The same keychain with the device key file at `path`, as `$VALET_DEVICE_KEY_FILE` names it.
    /// Both share opened files, so this closes them.
    ///
    /// - Throws: ``KeychainFailure/Code/timedOut`` if a call of another thread is using the files.
    package func takingDeviceKey(from path: String) throws(KeychainFailure) -> ItemStore {
        guard close().isClosed else { throw Self.stillInUse("use the device key file") }
        return ItemStore(
            KeychainLocation(location, deviceKeyPath: path), timeLimit: timeLimit,
            stretching: stretching, clock: clock)
    }

    /// The failure of a call that needs closed files.
    static func stillInUse(_ operation: String) -> KeychainFailure {
        KeychainFailure(
            .timedOut, during: operation,
            message: "another thread of this process is using the keychain", hint: "try again")
    }

    /// The slot of this process.
    var slot: SharedKeychain { lease.value.slot }

    /// The time, for an item's dates and a row's logical time.
    var now: Moment { Moment(nanoseconds: clock()) }
}

/// The ways into the keychain. Each opens it, waits, translates errors and checks the level that
/// this process requires. If the keychain is replaced during a call, the call is made again, once.
extension ItemStore {
    /// Runs `body` in one read transaction; nil if there is no keychain.
    ///
    /// - Parameter database: The database of an earlier step. If another one is at the path, or
    ///   none, the call fails: `timedOut`.
    package func readRows<R>(
        _ operation: String, in database: FileIdentity? = nil,
        _ body: (inout RowSnapshot) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var call = call(operation)
        call.database = database
        return try attempt(call) { (keychain) throws(KeychainFailure) in
            try keychain.read(call, body)
        }
    }

    /// Runs `body` in one write transaction, all or nothing; nil if there is no keychain.
    ///
    /// - Parameters:
    ///   - isCreating: Whether to make a keychain that does not exist.
    ///   - database: As for ``readRows(_:in:_:)``.
    package func writeRows<R>(
        _ operation: String, creating isCreating: Bool = false, in database: FileIdentity? = nil,
        _ body: (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var call = try writingCall(operation, isCreating)
        call.database = database
        return try attempt(call) { (keychain) throws(KeychainFailure) in
            try keychain.write(call, body)
        }
    }

    /// Runs `body` as ``writeRows(_:creating:_:)`` does, and then takes back what it has written.
    func rehearseRows<R>(
        _ operation: String, _ body: (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var call = call(operation)
        call.isRehearsal = true
        let rehearsal = call
        return try attempt(rehearsal) { (keychain) throws(KeychainFailure) in
            try keychain.write(rehearsal, body)
        }
    }

    /// Runs `body` in a write transaction that calls of other threads may share:
    /// docs/decisions/0059-shared-commits.md. Nil if there is no keychain.
    ///
    /// - Parameters:
    ///   - byteCount: How many bytes of values are written; nil for a write that may take long.
    ///   - body: Runs on this thread, or on another one that writes while this one waits.
    func shareWrite<R: Sendable>(
        _ operation: String, creating isCreating: Bool = false, byteCount: Int?,
        _ body: @escaping @Sendable (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var call = try writingCall(operation, isCreating)
        call.byteCount = byteCount
        let writing = call
        return try attempt(writing) { (keychain) throws(KeychainFailure) in
            try keychain.share(writing, body)
        }
    }

    private func writingCall(
        _ operation: String, _ isCreating: Bool
    ) throws(KeychainFailure) -> StoreCall {
        var call = call(operation)
        call.isCreating = isCreating
        if isCreating { try checkLevelOfNew(operation) }
        return call
    }

    /// Runs `body` with the keychain itself, whether or not its keys are open; nil if there is no
    /// keychain.
    func inspect<R>(
        _ operation: String, _ body: (KeychainPasscodes) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var call = call(operation)
        call.isForItems = false
        let deadline = call.deadline
        return try attempt(call) { (keychain) throws(KeychainFailure) in
            try body(KeychainPasscodes(keychain, operation, timeLimit, before: deadline))
        }
    }

    /// Runs `body` with the keychain itself. Each of its steps has a deadline of its own,
    /// because stretching a passcode and asking a TPM take long.
    ///
    /// - Parameter checksSettings: False for a lock, which ignores the settings of the process.
    /// - Throws: ``KeychainFailure/Code/itemNotFound`` if there is no keychain.
    func workOnKeys<R>(
        _ operation: String, checkingSettings checksSettings: Bool = true,
        _ body: (KeychainPasscodes) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        var call = call(operation)
        call.checksSettings = checksSettings
        call.isForItems = false
        return try perform(call, body)
    }

    /// Prepares a change of the keychain's keys, and makes it; both again if another process has
    /// changed the keys in between.
    ///
    /// - Parameters:
    ///   - isCreating: Whether to make a keychain that does not exist.
    ///   - prepare: Stretches passcodes and asks a TPM, and changes nothing.
    ///   - make: Takes the writers' lock. Returns nil, with nothing changed, if the keychain is
    ///     no longer that of the header. Its errors are final.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `timedOut`.
    func changeKeys<Prepared: ~Copyable, R>(
        _ operation: String, creating isCreating: Bool = false,
        preparing prepare: (KeychainPasscodes, KeychainHeader) throws(KeychainFailure) -> Prepared,
        _ make: (KeychainPasscodes, KeychainHeader, consuming Prepared) throws(KeychainFailure)
            -> R?
    ) throws(KeychainFailure) -> R {
        // The number of attempts is limited, because a program may change the keys each time.
        for _ in 0..<3 {
            var call = call(operation)
            call.isCreating = isCreating
            let result: R? = try perform(call) { (keys) throws(KeychainFailure) in
                let header = try keys.header()
                let prepared: Prepared
                do throws(KeychainFailure) {
                    prepared = try prepare(keys, header)
                } catch {
                    // After a key change, the device key and perhaps the passcode are new.
                    guard keys.haveChanged(since: header, error) else { throw error }
                    return nil
                }
                return try make(keys, header, prepared)
            }
            if let result { return result }
        }
        throw KeychainFailure(
            .timedOut, during: operation, message: "other programs keep changing its keys",
            hint: "try again")
    }

    private func perform<R>(
        _ call: StoreCall, _ body: (KeychainPasscodes) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        let result = try attempt(call) { (keychain) throws(KeychainFailure) in
            try body(KeychainPasscodes(keychain, call.operation, timeLimit, before: nil))
        }
        guard let result else {
            throw KeychainFailure(
                .itemNotFound, during: call.operation, message: "there is no keychain yet",
                path: location.folder)
        }
        return result
    }

    /// Runs `body` with the open keychain, and again if the keychain is replaced while it runs; nil
    /// if there is no keychain.
    @inline(__always)
    func attempt<R>(
        _ call: StoreCall, _ body: (OpenKeychain) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        var attempts = try slot.attempts(call)
        while true {
            do {
                guard let keychain = try attempts.next() else { return nil }
                return try body(keychain)
            } catch { try attempts.repeatUnlessFinal(error) }
        }
    }

    func call(_ operation: String) -> StoreCall {
        StoreCall(
            operation: operation, location: location, deadline: deadline(after: timeLimit), now: now
        )
    }

    /// Refuses to make a keychain of a level that the process does not accept.
    ///
    /// - Throws: ``KeychainFailure/Code/insufficientProtection``; the errors of opening the
    ///   keychain.
    private func checkLevelOfNew(_ operation: String) throws(KeychainFailure) {
        guard RequiredLevel.isSet else { return }
        guard try inspect(operation, { _ in true }) == nil else { return }
        let source = try DeviceSecretSource(location: location).preferred()
        try RequiredLevel.check(
            source == .ownFile ? .file : .credential, operation,
            hint: "make the keychain first, with `valet passcode set`")
    }
}
