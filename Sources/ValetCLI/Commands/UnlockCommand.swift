// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet unlock`.
struct UnlockCommand: Command {
    private static let duration = OptionDeclaration(
        name: "for", valueName: "DURATION",
        help: "lock again after that time: 90s, 15m, 8h, 2d, 1h30m (default: never)")
    private static let autoLock = OptionDeclaration(
        name: "auto-lock", valueName: "DURATION",
        help: "lock again after that time without use (default: never)")

    private static let insist = OptionDeclaration(
        name: "insist",
        help: "try the passcode even if the TPM takes only few more wrong ones")

    static let declaration = CommandDeclaration(
        name: "unlock", abstract: "unlock the keychain for all programs of the user",
        discussion: [
            "Puts the opened keys into the kernel's keyring of the user, sealed. Programs "
                + "of the same user that can open the keychain's folder find them. The keychain "
                + "stays unlocked until 'valet lock', the end of --for, the idle time of "
                + "--auto-lock, a restart, or the last log-out if that removes /run/user/ID. "
                + "Times go on while the machine sleeps. An unlocked keychain can be unlocked "
                + "again, for other times. A keychain without a passcode is always open, and "
                + "this command does nothing.",
            "The idle time begins anew when a program of the user reads, looks for, "
                + "stores or removes a secret that needs the keychain unlocked. 'valet status', "
                + "'valet doctor' and programs that wait for the keychain do not count. The "
                + "keychain may lock up to an eighth of the idle time early, and never late.",
            "Keys are shared only where a person has logged in: at a terminal, on a "
                + "desktop, by ssh, with sudo. In system services and containers, also for "
                + "root, each program unlocks for itself, and this command fails. Give such "
                + "programs the passcode through a descriptor, and its number in "
                + "$VALET_PASSCODE_FD. There, the verbs that meet a locked keychain read that "
                + "descriptor, or ask. 'valet status' says which case this is, and why; "
                + "VALET_LOCK_STATE=kernel or =process chooses.",
            "A keychain that is bound to a TPM has the TPM check the passcode. The TPM "
                + "counts the wrong passcodes of all its users, and after too many it takes "
                + "none for a while. If fewer than half of the tries are left, nothing is tried "
                + "without --insist.",
            KeyOptions.askingDiscussion,
        ],
        options: [duration, autoLock, insist, KeyOptions.passcodeDescriptor],
        exitCodes: [
            (.failure, "each program unlocks for itself here, or something failed"),
            KeyOptions.noKeychain, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet unlock", "Asks for the passcode."),
            ("valet unlock --for 8h", "For a working day."),
            ("valet unlock --for 8h --auto-lock 15m", "The same, but not for a long break."),
            (
                "valet unlock --passcode-fd 3 3<passcode.txt",
                "In a script: the shell opens the file."
            ),
        ])

    private let duration: Duration?
    private let autoLock: Duration?
    private let descriptor: PasscodeDescriptor?
    private let isInsisting: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        isInsisting = values.has(Self.insist)
        duration = try DurationText.value(of: Self.duration, in: values)
        autoLock = try DurationText.value(of: Self.autoLock, in: values)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let (store, status) = try context.usableStore()
        guard status.lockStateProvider != nil else {
            context.console.note("valet: the keychain has no passcode and is always open")
            return .success
        }
        try Self.checkIsShared(status)
        let dialogue = context.dialogue(descriptor, new: nil)
        try dialogue.withPasscode(for: "Unlock the keychain.", insisting: isInsisting) {
            (passcode) throws(KeychainFailure) in
            try store.unlock(passcode, for: duration, autoLock: autoLock)
        }
        let unlocked = try asking { () throws(KeychainFailure) in try store.status() }
        // What was left undone of a change of keys may have gone on.
        context.noteSetAside(
            (unlocked.quarantinedRowCount ?? 0) - (status.quarantinedRowCount ?? 0))
        // The kernel may have had no room.
        try Self.checkIsShared(unlocked)
        let time = duration.map { " for " + DurationText.text($0) } ?? ""
        let idle = autoLock.map { ", and locks after \(DurationText.text($0)) without use" } ?? ""
        context.console.note("valet: the keychain is unlocked\(time)\(idle)")
        return .success
    }

    private static func checkIsShared(_ status: KeychainStatus) throws(CLIError) {
        guard status.isUnlockedByProcess else { return }
        throw CLIError(
            .failure,
            "each program unlocks for itself here, and this one has nothing to unlock: "
                + Escaping.printable(status.lockStateReason ?? "no reason"),
            hint: "give programs the passcode through a descriptor, and its number in "
                + "$VALET_PASSCODE_FD")
    }
}
