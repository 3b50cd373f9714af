// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore
internal import SecretMemory
internal import UserPresence

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
    /// Asks for a secret that is no keychain's passcode.
    var ask: (PasscodePrompt, PasscodeDescriptor?) throws(UserPresenceError) -> SecretBytes = {
        (prompt, descriptor) throws(UserPresenceError) in
        try PasscodeAsker.forProcess(
            descriptor: descriptor, prefersTerminal: true, readsVariable: false
        ).ask(prompt)
    }
    /// Who answers questions for the keychain's passcode: a descriptor that an option names, else
    /// that of `$VALET_PASSCODE_FD`, else a person.
    var passcodes: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true)
    }
    /// Who answers questions for a recovery key: a descriptor that an option names, else a person.
    var recoveryKeys: (PasscodeDescriptor?) -> any SecretSource = {
        PasscodeAsker.forProcess(descriptor: $0, prefersTerminal: true, readsVariable: false)
    }

    /// The keychain as `requester` sees it. Where each process unlocks for itself, the passcode is
    /// asked for when a verb meets the keychain locked.
    func keychain(for requester: Requester) throws(CLIError) -> any ItemAccess {
        let keychain = try asking { () throws(KeychainFailure) in try open(requester) }
        return UnlockingAccess(keychain, passcodes: passcodes(nil))
    }

    /// The keychain as a whole, with its status, once its device key was found.
    ///
    /// - Throws: ``ExitCode/notFound`` if there is no keychain, ``ExitCode/failure`` without key.
    func usableStore() throws(CLIError) -> (ItemStore, KeychainStatus) {
        try asking { () throws(KeychainFailure) in
            let store = try store()
            try store.checkDeviceKey()
            return (store, try store.status())
        }
    }
}
