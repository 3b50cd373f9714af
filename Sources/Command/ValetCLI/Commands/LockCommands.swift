// SPDX-License-Identifier: Apache-2.0

// The verbs `unlock` and `lock`.

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet unlock`.
enum UnlockCommand {
    private static let duration = OptionDeclaration(
        name: "for", valueName: "DURATION",
        help: "lock again after that time: 90s, 15m, 8h, 2d, 1h30m (default: never)")
    private static let autoLock = OptionDeclaration(
        name: "auto-lock", valueName: "DURATION",
        help: "lock again after that time without use (default: never)")

    private static let insist = OptionDeclaration(
        name: "insist",
        help: "try the passcode even if the TPM allows only a few more wrong ones")

    static let declaration = CommandDeclaration(
        name: "unlock", abstract: "unlock the keychain for all programs of the user",
        discussion: [
            "Puts the opened keys, sealed, into the user's keyring in the kernel. Programs of the "
                + "same user that can open the keychain's folder find them. The keychain stays "
                + "unlocked until 'valet lock', the end of --for, the idle time of --auto-lock, a "
                + "restart, or the last log-out if that removes /run/user/ID. Times continue while "
                + "the machine sleeps. Unlock again to set other times. A keychain without a "
                + "passcode is always unlocked, and this command does nothing.",
            "The idle time starts again when a program of the user reads, finds, stores or "
                + "removes a secret that needs the keychain unlocked. 'valet status', 'valet "
                + "doctor' and programs that wait for the keychain do not count. The keychain may "
                + "lock up to an eighth of the idle time early, and never late.",
            "Programs share keys only where you have logged in: at a terminal, on a desktop, by "
                + "ssh, with sudo. In system services and containers, also for root, each "
                + "program unlocks for itself, and this command fails. Pass the passcode to such "
                + "programs through a file descriptor, and its number in $VALET_PASSCODE_FD. "
                + "There, a verb that finds the keychain locked reads that descriptor, or asks. "
                + "'valet status' shows which case this is, and why; VALET_LOCK_STATE=kernel or "
                + "=process chooses one.",
            "If the keychain is bound to a TPM, the TPM checks the passcode. It counts the wrong "
                + "passcodes of all its users, and refuses all passcodes for a while after too "
                + "many. With fewer than half of the tries left, this command needs --insist.",
            KeyOptions.askingDiscussion,
        ],
        options: [duration, autoLock, insist, KeyOptions.passcodeDescriptor],
        exitCodes: [
            (.failure, "each program unlocks for itself here, or another failure"),
            KeyOptions.noKeychain,
            (.locked, "the keychain is busy, or another program has locked it again"),
            KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet unlock", "Asks for the passcode."),
            ("valet unlock --for 8h", "For a working day."),
            ("valet unlock --for 8h --auto-lock 15m", "The same, but not for a long break."),
            (
                "valet unlock --passcode-fd 3 3<passcode.txt",
                "For scripts: the shell opens the file."
            ),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let duration = try DurationText.value(of: duration, in: values)
        let autoLock = try DurationText.value(of: autoLock, in: values)
        let options = try KeyOptions(values)
        let (store, status) = try context.usableStore()
        guard status.lockStateProvider != nil else {
            context.console.note("valet: the keychain has no passcode and is always unlocked")
            return .success
        }
        try checkIsShared(status)
        try context.dialogue(options.passcode).withPasscode(
            for: "Unlock the keychain.", insisting: values.has(insist)
        ) { (passcode) throws(KeychainFailure) in
            try store.keychain.unlock(passcode, for: duration, autoLock: autoLock)
        }
        let now: KeychainStatus
        do {
            now = try store.keychain.status()
        } catch {
            context.console.afterEffect { () throws(CLIError) in throw CLIError(error) }
            return .success
        }
        // Unlocking continues an interrupted key change, which may set items aside.
        context.noteSetAside((now.quarantinedRowCount ?? 0) - (status.quarantinedRowCount ?? 0))
        // The kernel may have had no room for the keys.
        try checkIsShared(now)
        guard ![.locked, .beforeFirstUnlock].contains(now.state) else {
            throw CLIError(.locked, "another program has locked the keychain since")
        }
        let time = duration.map { " for " + DurationText.text($0) } ?? ""
        let idle = autoLock.map { ", and locks after \(DurationText.text($0)) without use" } ?? ""
        context.console.note("valet: the keychain is unlocked\(time)\(idle)")
        return .success
    }

    private static func checkIsShared(_ status: KeychainStatus) throws(CLIError) {
        guard status.isUnlockedByProcess else { return }
        throw CLIError(
            .failure,
            "each program unlocks the keychain for itself here: "
                + Escaping.printable(status.lockStateReason ?? "no reason"),
            hint: "pass the passcode to programs through a file descriptor, and its number in "
                + "$VALET_PASSCODE_FD")
    }
}

/// `valet lock`.
enum LockCommand {
    private static let all = OptionDeclaration(
        name: "all", help: "also lock the items that stay readable after the first unlock")
    private static let wait = OptionDeclaration(
        name: "wait", help: "wait until the write in progress has ended; no other can follow")

    static let declaration = CommandDeclaration(
        name: "lock", abstract: "lock the keychain for all programs that share it",
        discussion: [
            "While the keychain is locked, items with the accessibility when-unlocked, "
                + "when-unlocked-this-device-only or when-passcode-set-this-device-only can be "
                + "removed, but not read or written. The others stay readable, as on a phone "
                + "that was unlocked once; --all locks them too, as a restart does. A keychain "
                + "without a passcode cannot be locked: this is an error without --all.",
            "A call that another program began before may still finish. With --wait, no write "
                + "finishes after this command has ended, except a key change that has the "
                + "passcode already: it continues, and unlocks nothing.",
            "If the keychain's files cannot be read, the command fails, but still removes the "
                + "opened keys: those of the keychain that its device key names. If files are "
                + "damaged or missing, and it does not know the keychain, or the keychain shares "
                + "no keys, it removes those of every keychain of the user.",
            "Programs that unlocked for themselves (see 'valet unlock') are locked too, if they "
                + "share the keychain's folder. If the folder cannot be written, they stay "
                + "unlocked: the command removes the shared keys, and fails.",
        ],
        options: [all, wait],
        exitCodes: [
            (.failure, "there is no passcode, or programs that unlocked for themselves stay so"),
            KeyOptions.noKeychain,
            (.locked, "with --wait: a write may go on, but the keychain is locked"),
        ],
        examples: [
            ("valet lock", "When you leave."), ("valet lock --all --wait", "Before a log-out."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let takesAll = values.has(all)
        // Locks before it looks at anything: no report is worth an open key.
        let store = try requesting(context.store())
        try requesting(
            store.keychain.lock(all: takesAll, waiting: values.has(wait), orEveryKeychain: true))
        // An unknown state, as during a key change, is no failure of the lock.
        let state = (try? store.keychain.status())?.state
        let outcome =
            if state == .noPasscode {
                "the keychain has no passcode, and is always unlocked"
            } else if takesAll {
                "the keychain is locked as after a restart"
            } else {
                "the keychain is locked"
            }
        context.console.note("valet: " + outcome)
        return .success
    }
}
