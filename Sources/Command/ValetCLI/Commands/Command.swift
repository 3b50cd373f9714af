// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainServices
package import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
package import ValetUserPresence

/// A verb: its declaration, which is made when it is needed, and its work.
///
/// Not a protocol: the linker keeps every type that conforms to one. Each program that links this
/// module would then contain all verbs.
struct Verb {
    let declaration: () -> CommandDeclaration
    /// - Throws: ``ExitCode/usage`` for values that are missing or contradict each other.
    let run: (ParsedValues, Context) throws(CLIError) -> ExitCode

    init(
        _ declaration: @autoclosure @escaping () -> CommandDeclaration,
        _ run: @escaping (ParsedValues, Context) throws(CLIError) -> ExitCode
    ) {
        (self.declaration, self.run) = (declaration, run)
    }
}

/// The console, keychain and sources of secrets that verbs work with; tests replace them.
package struct Context {
    /// Where questions, results and notes go.
    package let console: any Console
    /// The keychain as the command itself sees it, an application like any other.
    var own: () throws(KeychainFailure) -> KeychainSession = KeychainSession.current
    /// The keychain as a whole, for verbs that act on the items of all applications.
    var store: () throws(KeychainFailure) -> ItemStore = ItemStore.ofThisProcess
    /// The source of the keychain's passcode: the descriptor of an option, else that of
    /// `$VALET_PASSCODE_FD`, else the user.
    var passcodes: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true)
    }
    /// The source of secrets other than the keychain's passcode: the descriptor of an option, else
    /// the user.
    package var otherSecrets: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true, readsVariable: false)
    }
    /// The time of day, in nanoseconds since 1970.
    var clock: () -> Int64 = { WallClock.nanoseconds }
    /// The verbs of the program beside those of this module.
    var added = AddedVerbs.none
}

/// Opening the keychain.
extension Context {
    /// The session of `requester`. Only the command itself, a requester without application and
    /// group, heeds `VALET_ENTITLEMENTS`.
    package func session(of requester: Requester) throws(KeychainFailure) -> KeychainSession {
        guard requester != Requester() else { return try own() }
        let application = requester.application ?? Requester.defaultApplication
        let groups = requester.group.map { [AccessGroup(application), $0] } ?? []
        return KeychainSession(
            try store(), Caller(applicationIdentifier: application, accessGroups: groups))
    }

    /// The keychain as `requester` sees it.
    func keychain(for requester: Requester) throws(CLIError) -> CommandKeychain {
        var session = try requesting(session(of: requester))
        session.caller.keepsHistory = true
        return CommandKeychain(session: session, unlocking: unlocking(session.store, nil))
    }

    private func unlocking(
        _ store: ItemStore, _ descriptor: PasscodeDescriptor?
    ) -> CommandUnlocking {
        CommandUnlocking(
            passcodes: passcodes(descriptor), keychain: store.keychain, console: console)
    }

    /// Runs `body`, which uses the keychain of `store`. Unlocks it if `body` finds it locked:
    /// ``CommandUnlocking``.
    package func unlocking<R>(
        _ store: ItemStore, _ descriptor: PasscodeDescriptor?,
        _ body: () throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        try requesting(unlocking(store, descriptor).run(body))
    }

    /// The keychain as a whole. Nothing is opened yet.
    package func wholeKeychain() throws(CLIError) -> ItemStore { try requesting(store()) }

    /// The keychain as a whole, with its status. The device key of one that exists is available.
    ///
    /// - Parameter creating: Whether the verb creates a keychain that does not exist.
    /// - Throws: ``ExitCode/notFound`` without a keychain, unless `creating`; ``ExitCode/failure``
    ///   without its device key.
    package func usableStore(
        creating: Bool = false
    ) throws(CLIError) -> (ItemStore, KeychainStatus) {
        let store = try requesting(store())
        let status = try requesting(store.keychain.status())
        if !creating || status.state != .absent { try requesting(store.keychain.checkDeviceKey()) }
        return (store, status)
    }

    /// The keychain as a whole, for verbs that need one with a passcode.
    ///
    /// - Throws: ``ExitCode/notFound`` without a keychain, ``ExitCode/failure`` without a passcode
    ///   or the device key.
    func storeWithPasscode() throws(CLIError) -> ItemStore {
        let (store, status) = try usableStore()
        guard status.lockStateProvider != nil else {
            throw CLIError(
                .failure, "the keychain has no passcode", hint: "'valet passcode set' sets one")
        }
        return store
    }

    /// A dialogue that reads passcodes from the given descriptors, else as ``passcodes`` does.
    /// Without `new`, the new passcode comes from `descriptor`, too.
    package func dialogue(
        _ descriptor: PasscodeDescriptor?, new: PasscodeDescriptor? = nil
    ) -> PasscodeDialogue {
        PasscodeDialogue(current: passcodes(descriptor), new: passcodes(new ?? descriptor))
    }
}

/// Changing keys, and reporting the result on standard error.
extension Context {
    /// Runs `body`, which changes the keys of `store` and returns how many damaged items it set
    /// aside. Shows its progress. Then warns about those items, about programs that lost the
    /// opened keys, and about device keys that were left behind.
    func changingKeys(
        of store: ItemStore, skippingDamaged skips: Bool = false,
        _ body: (KeyChangeOptions) throws(KeychainFailure) -> KeyChangeOutcome
    ) throws(CLIError) {
        noteDuration(of: store)
        let line = ProgressLine("sealing items again", on: console)
        defer { line.end() }
        let options = KeyChangeOptions(skippingDamaged: skips) { line.show($0, of: $1) }
        let outcome = try requesting(body(options))
        line.end()
        noteSetAside(outcome.setAsideCount)
        if let cause = outcome.pendingErasure { warnOfOldKeys(cause) }
        warnOfLockedPrograms(store)
        for finding in store.keychain.strayDeviceKeys() {
            let place = finding.path.map { " (\(Escaping.printable($0)))" } ?? ""
            console.note("valet: warning: \(finding.message)\(place)")
            if let hint = finding.hint { console.hint(hint) }
        }
    }

    /// Warns about programs for which a key change by this process has locked `store`.
    package func warnOfLockedPrograms(_ store: ItemStore) {
        guard let reason = store.keychain.reasonOthersAreLocked() else { return }
        console.note(
            "valet: warning: the keychain is locked for other programs: "
                + Escaping.printable(reason))
        console.hint("'valet unlock' unlocks it for them")
    }

    /// Warns that a key change is complete, but has not erased the old keys.
    package func warnOfOldKeys(_ cause: KeychainFailure) {
        console.note(
            "valet: warning: the old keys are still on the disk, and open what was stored before: "
                + Escaping.printable(cause.message))
        console.hint(cause.hint ?? "the next change of an item erases them")
    }

    /// Warns how long other programs may be unable to write; only for 20,000 items or more.
    private func noteDuration(of store: ItemStore) {
        guard let count = (try? store.keychain.status())?.itemCount, count >= 20_000 else { return }
        // Sealing an item again takes 0.02 ms on a fast machine, and 0.1 ms on a slow one. The
        // estimate is twice that of a slow one.
        console.note(
            "valet: sealing \(count) items again may take \(max(2, count / 5_000)) seconds; "
                + "other programs cannot write until then")
    }

    /// Reports how many damaged items a key change has set aside, if any.
    func noteSetAside(_ count: Int) {
        guard count > 0 else { return }
        let items = count == 1 ? "1 damaged item was" : "\(count) damaged items were"
        console.note("valet: warning: \(items) set aside and can no longer be opened")
        console.hint("store the missing secrets again")
    }

    /// Reports `result`, and for which programs the keychain is unlocked now, if that can be read.
    func noteLockState(_ result: String, of store: ItemStore) {
        guard let status = try? store.keychain.status() else {
            return console.note("valet: \(result)")
        }
        switch (status.state, status.isUnlockedByProcess) {
        case (.unlocked, false): console.note("valet: \(result); the keychain is unlocked")
        case (_, true):
            console.note(
                "valet: \(result); each program unlocks the keychain for itself "
                    + "(\(status.lockStateReason ?? "no reason"))")
        default: console.note("valet: \(result)")
        }
    }
}
