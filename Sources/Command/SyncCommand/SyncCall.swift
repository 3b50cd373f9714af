// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSync
internal import ValetSyncAgent
internal import ValetSyncStores
internal import ValetSystem

/// One call of the program: its values, the keychain and the console.
struct SyncCall {
    let values: ParsedValues
    let context: Context
    let options: KeyOptions
    let store: ItemStore
    let keychain: SyncedKeychain
    /// How long a command waits for the agent to let it work.
    private static let patience = Duration.seconds(60)

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        (self.values, self.context) = (values, context)
        options = try KeyOptions(values)
        store = try context.wholeKeychain()
        keychain = SyncedKeychain(store)
    }

    var console: any Console { context.console }

    // MARK: The circle of the keychain

    struct Notes {
        let circle: CircleNote
        let address: StoreAddress
        var names: DeviceNames
    }

    func notes() throws(KeychainFailure) -> Notes? {
        let found = try keychain.notes(.circle, .address, .names, during: "look for a circle")
        guard let found, let circle = found[0], let address = found[1] else { return nil }
        do {
            return Notes(
                circle: try CircleNote(parsing: circle),
                address: try StoreAddress(parsing: address),
                names: try DeviceNames(parsing: found[2]))
        } catch {
            throw KeychainFailure(
                .damaged, during: "look for a circle", message: "\(error)",
                hint: "`valet sync leave --here`, then join the circle anew")
        }
    }

    func requireCircle() throws(CLIError) -> Notes {
        guard let notes = try syncing(notes()) else {
            throw CLIError(
                .notFound, "this keychain is in no circle",
                hint: "'valet sync create' founds one, 'valet sync join' joins one")
        }
        return notes
    }

    func requireNoCircle() throws(CLIError) {
        guard try syncing(notes()) != nil else { return }
        throw CLIError(
            .alreadyThere, "this keychain is in a circle already",
            hint: "'valet sync status' shows it; 'valet sync leave' leaves it")
    }

    // MARK: Work on the circle

    /// Runs `body` while no agent and no other command works on the circle.
    func withLock<R>(_ body: () throws(CLIError) -> R) throws(CLIError) -> R {
        let held = try syncing(syncLock().acquire(before: Deadline(after: Self.patience)))
        let result = Result(catching: body)
        _ = consume held
        return try result.get()
    }

    /// The lock in the keychain's folder. Creates the folder if it does not exist.
    func syncLock() throws(KeychainFailure) -> SyncLock {
        do {
            return SyncLock(try PrivateDirectory.open(store.folder, creating: true))
        } catch {
            throw KeychainFailure(
                .inputOutput, during: "open the keychain's folder", message: "\(error)",
                path: store.folder)
        }
    }

    func session(in remote: any SyncStore) throws(KeychainFailure) -> SyncSession {
        guard let session = try SyncSession.open(keychain, remote) else {
            throw .circle(.notAMember)
        }
        return session
    }

    /// Runs `body` with the circle of this keychain, whose roster has just been read.
    func withSession<R>(
        _ body: (SyncSession, Notes) throws(CLIError) -> R
    ) throws(CLIError) -> R {
        let notes = try requireCircle()
        let remote = try syncing(open(notes.address))
        return try withLock { () throws(CLIError) in
            let session = try syncing(session(in: remote))
            try syncing(remote.check(session.circle.circle, by: Deadline(after: .seconds(30))))
            try syncing(session.readRoster())
            defer { warnOfUnfinished(session) }
            return try body(session, notes)
        }
    }

    static let unfinished = "the change is made, and 'valet sync once' does what is left"

    /// Warns of what has failed after the store had taken a change of the circle.
    func warnOfUnfinished(_ session: SyncSession) {
        if let failure = session.unfinished { warn(of: failure, Self.unfinished) }
    }

    /// Runs `body` in one write transaction of the keychain: ``SyncedKeychain/update(_:_:)``.
    func update<R>(
        _ operation: String, _ body: (SyncUpdate) throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        try syncing(keychain.update(operation, body))
    }

    /// Requires an unlocked keychain. Where each program unlocks for itself, asks for the passcode.
    func requireUnlocked() throws(CLIError) {
        try context.unlocking(store, options.passcode) { () throws(KeychainFailure) in
            let isLocked = try keychain.read("change the circle") { $0.isLocked }
            if isLocked == true { throw KeychainFailure.lockedCircle }
        }
    }

    /// The keychain's passcode, to store the secrets of sync with it; nil if it has none.
    func passcode() throws(CLIError) -> Passcode? {
        _ = try context.usableStore(creating: true)
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to store the secrets of sync.")
        if let passcode, try unlocksForItself() {
            try requesting(store.keychain.unlock(passcode, for: nil))
        }
        return passcode
    }

    private func unlocksForItself() throws(CLIError) -> Bool {
        try requesting(store.keychain.status()).lockStateProvider == "process"
    }

    /// Where each program unlocks the keychain for itself, asks for the passcode.
    func unlockForItself() throws(CLIError) {
        guard try unlocksForItself() else { return }
        try context.unlocking(store, options.passcode) { () throws(KeychainFailure) in
            guard try keychain.read("unlock the keychain", { $0.isLocked }) == true else { return }
            throw KeychainFailure(.locked, during: "unlock the keychain")
        }
    }

    /// On a terminal, shows how many messages have been read.
    func progress() -> () -> Void {
        guard console.isErrorTerminal else { return {} }
        let console = console
        var count = 0
        return {
            count += 1
            console.show("\rvalet: messages read: \(count)")
        }
    }

    var ownName: String {
        values[SyncOptions.name]
            ?? TextFile.contents("/proc/sys/kernel/hostname").map {
                String($0.prefix { $0 != "\n" })
            } ?? "this device"
    }

    /// Throws if the console cannot ask a person.
    func requirePerson() throws(CLIError) {
        guard let obstacle = console.obstacleToAsking else { return }
        throw .usage(
            "a person has to compare words, but \(obstacle)", hint: "run this at a terminal")
    }
}

extension SyncBytes {
    /// 32 lower-case hexadecimal digits.
    var text: String { Hexadecimal.text(bytes) }

    init?(text: String) {
        guard let bytes = Hexadecimal.bytes(text.lowercased()), bytes.count == 16 else {
            return nil
        }
        let (high, low) = (bytes.prefix(8), bytes.suffix(8))
        self.init(
            high: high.reduce(0) { $0 << 8 | UInt64($1) },
            low: low.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

// How failures of sync become errors of the command: exit codes, messages and hints.

/// Evaluates `step`, a step of sync, and translates its failure by ``CLIError/init(ofSync:)``.
func syncing<R: ~Copyable>(
    _ step: @autoclosure () throws(KeychainFailure) -> R
) throws(CLIError) -> R {
    do {
        return try step()
    } catch {
        throw CLIError(ofSync: error)
    }
}

extension CLIError {
    init(ofSync failure: KeychainFailure) {
        guard let code = ExitCode(ofSync: failure.code) else {
            self.init(failure)
            return
        }
        let isOfStore = KeychainFailure.Code.ofStores.contains(failure.code)
        self.init(
            code, Escaping.printable(isOfStore ? failure.description : failure.message),
            hint: failure.hint.map(Escaping.printable))
    }
}

extension ExitCode {
    /// The exit code for a failure of the store or the circle; nil for one of the keychain.
    fileprivate init?(ofSync code: KeychainFailure.Code) {
        switch code {
        case .storeUnavailable, .storeTimedOut, .storeOutcomeUnknown, .rosterInMotion,
            .roundInterrupted, .unsentChanges:
            self = .locked
        case .storeDenied, .notAMember, .invitationSeen, .invitationBroken, .invitationWithdrawn:
            self = .denied
        case .storeFull, .storeMalformed, .noCircleKeys, .circleIsFull: self = .failure
        case .badStoreAddress: self = .usage
        case .undecidedRoster: self = .damaged
        default: return nil
        }
    }
}
