// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore

/// `valet lock`.
struct LockCommand: Command {
    private static let all = OptionDeclaration(
        name: "all", help: "also take the keys that stay from the first unlock on")
    private static let wait = OptionDeclaration(
        name: "wait", help: "wait for the write that is under way: after that none is made")

    static let declaration = CommandDeclaration(
        name: "lock", abstract: "lock the keychain for all programs that share it",
        discussion: [
            "Items whose accessibility is when-unlocked, when-unlocked-this-device-only or "
                + "when-passcode-set-this-device-only cannot be read or written from then on. "
                + "The others can, as on a phone that was unlocked once; --all takes those away, "
                + "too, as a start of the machine does. A keychain that is locked stays so. One "
                + "without a passcode cannot be locked; --all takes that as it is.",
            "A call that another program began before may still end. With --wait no write does "
                + "once this command has ended, but those of a change of keys for which somebody "
                + "has given the passcode: it goes on, and unlocks nothing.",
            "If the keychain's files cannot be read, that is an error, and the keys are taken "
                + "away all the same: of the keychain that its device key names. If that is not "
                + "known, or none of its keys are shared, those of every keychain of the user.",
            "Programs that have unlocked for themselves (see 'valet unlock') are locked, too, if "
                + "they share the keychain's folder. Where the folder cannot be written they "
                + "cannot be told: the shared keys are taken away, and this command fails.",
        ],
        options: [all, wait],
        exitCodes: [
            (.failure, "there is no passcode, or programs with keys of their own were not told"),
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
        let status = try asking { () throws(KeychainFailure) in
            let store = try context.store()
            try store.lock(all: takesAll, waiting: waits, orEveryKeychain: true)
            return try store.status()
        }
        let outcome =
            if status.state == .noPasscode {
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
