// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// One verb.
protocol Command: Sendable {
    /// What the verb takes and does.
    static var declaration: CommandDeclaration { get }
    /// Reads the values of a command line.
    ///
    /// - Throws: ``ExitCode/usage`` for values that do not go together.
    init(_ values: ParsedValues) throws(CLIError)
    /// Does the work.
    func run(in context: Context) throws(CLIError) -> ExitCode
}

/// What verbs work with.
struct Context {
    let console: any Console
    /// Opens the keychain as a requester sees it.
    let open: (Requester) throws(KeychainFailure) -> any ItemAccess
    /// The keychain as a whole, for verbs that serve all its owners at once.
    var store: () throws(KeychainFailure) -> ItemStore = { () throws(KeychainFailure) in
        ItemStore(try .ofThisProcess())
    }
    /// The source of the keychain's passcode: a descriptor that an option names, else
    /// that of `$VALET_PASSCODE_FD`, else a person.
    var passcodes: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true)
    }
    /// The source of secrets other than the keychain's passcode: a descriptor that an option names,
    /// else a person.
    var otherSecrets: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true, readsVariable: false)
    }

    /// The keychain as `requester` sees it. Where each process unlocks for itself, the passcode is
    /// asked for when a verb meets the keychain locked.
    func keychain(for requester: Requester) throws(CLIError) -> any ItemAccess {
        let keychain = try asking { () throws(KeychainFailure) in try open(requester) }
        return UnlockingAccess(keychain, passcodes: passcodes(nil))
    }

    /// Runs `body` on the keychain as a whole; as with ``keychain(for:)`` the passcode is asked for
    /// where `body` meets it locked.
    func unlocking<R>(
        _ store: ItemStore, _ descriptor: PasscodeDescriptor?,
        _ body: () throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        let unlocking = ProcessUnlocking(passcodes: passcodes(descriptor)) {
            () throws(KeychainFailure) in
            try store.status().isUnlockedByProcess
        } unlock: { (passcode) throws(KeychainFailure) in
            try store.unlock(passcode)
        }
        return try asking { () throws(KeychainFailure) in try unlocking.run(body) }
    }

    /// The keychain as a whole, with its status, once its device key was found.
    ///
    /// - Parameter creating: Whether the verb makes a keychain where there is none.
    /// - Throws: ``ExitCode/notFound`` if there is none, ``ExitCode/failure`` without key.
    func usableStore(
        creating: Bool = false
    ) throws(CLIError) -> (ItemStore, KeychainStatus) {
        try asking { () throws(KeychainFailure) in
            let store = try store()
            let status = try store.status()
            if !creating || status.state != .absent { try store.checkDeviceKey() }
            return (store, status)
        }
    }
}
