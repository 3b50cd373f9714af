// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet lock`.
struct LockCommand: Command {
    private static let all = OptionDeclaration(
        name: "all", help: "also lock the items that stay readable after the first unlock")
    private static let wait = OptionDeclaration(
        name: "wait", help: "wait until the write in progress has ended; no other follows")

    static let declaration = CommandDeclaration(
        name: "lock", abstract: "lock the keychain for all programs that share it",
        discussion: [
            "From then on, items with the accessibility when-unlocked, "
                + "when-unlocked-this-device-only or when-passcode-set-this-device-only can be "
                + "removed, but not read or written. The others stay readable, as on a phone "
                + "that was unlocked once; --all locks them, too, as a restart does. A keychain "
                + "without a passcode cannot be locked: this is an error without --all.",
            "A call that another program began before may still finish. With --wait, no "
                + "write finishes after this command has ended. The exception is a change of "
                + "keys that has the passcode already: it goes on, and unlocks nothing.",
            "If the keychain's files cannot be read, the command fails, but takes the "
                + "keys away: those of the keychain that its device key names. If the keychain "
                + "is unknown, or shares no keys, it takes those of every keychain of the user.",
            "Programs that unlocked for themselves (see 'valet unlock') are locked, too, "
                + "if they share the keychain's folder. If the folder cannot be written, they "
                + "are not reached: the shared keys are taken away, and the command fails.",
        ],
        options: [all, wait],
        exitCodes: [
            (.failure, "there is no passcode, or programs with keys of their own were not reached"),
            KeyOptions.noKeychain,
            (.locked, "with --wait: a write did not end in time; the keychain is locked"),
        ],
        examples: [
            ("valet lock", "When you leave."), ("valet lock --all --wait", "Before a log-out."),
        ])

    private let takesAll: Bool
    private let waits: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        takesAll = values.has(Self.all)
        waits = values.has(Self.wait)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        // Locked first: nothing that can be said of the keychain is worth its keys.
        let state = try asking { () throws(KeychainFailure) in
            let store = try context.store()
            try store.lock(all: takesAll, waiting: waits, orEveryKeychain: true)
            // A state that cannot be told, as during a change of keys, is no failure of the lock.
            return (try? store.status())?.state
        }
        let outcome =
            if state == .noPasscode {
                "the keychain has no passcode, and is always open"
            } else if takesAll {
                "the keychain is locked as after a start of the machine"
            } else {
                "the keychain is locked"
            }
        context.console.note("valet: " + outcome)
        return .success
    }
}
