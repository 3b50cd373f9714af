// SPDX-License-Identifier: Apache-2.0

internal import ValetUserPresence

/// The options that verbs about passcodes and keys share, and their groups.
enum KeyOptions {
    static let passcodeDescriptor = OptionDeclaration(
        name: "passcode-fd", valueName: "N",
        help: "read the passcode from descriptor N: one line, without the newline")
    static let newPasscodeDescriptor = OptionDeclaration(
        name: "new-passcode-fd", valueName: "N",
        help:
            "read the new passcode from descriptor N (default: the next line of what the answer "
            + "before came through)")
    static let weak = OptionDeclaration(
        name: "weak", help: "accept a passcode of fewer than 8 characters")
    static let yes = OptionDeclaration(name: "yes", letter: "y", help: "do not ask first")
    static let lower = OptionDeclaration(
        name: "lower", help: "accept that the keychain is protected less than before")

    static let skipDamaged = OptionDeclaration(
        name: "skip-damaged",
        help: "set damaged items aside for good; otherwise nothing is changed")

    /// Help of every verb that gives the keychain new keys.
    static let damageDiscussion =
        "Nothing is changed while items are damaged: the old keys might open them after a repair, "
        + "and erased keys cannot. 'valet doctor' says how many there are. Store them anew or "
        + "remove them, or use --skip-damaged."

    /// Help of every verb that asks for the passcode.
    static let askingDiscussion =
        "A passcode is asked for on the terminal, or through pinentry where there is none, or "
        + "read from a descriptor: --passcode-fd, else $VALET_PASSCODE_FD; never from the command "
        + "line or the environment. A person has three tries, a descriptor one. A descriptor gives "
        + "a line for each question, in the order of the questions."

    /// Help of every verb that gives new keys and sets no passcode.
    static let lockDiscussion =
        "A locked keychain stays locked, and an unlocked one keeps its times. If the kernel has no "
        + "room for the new keys, other programs must unlock again; a warning says so."

    static let noKeychain: (code: ExitCode, help: String) = (.notFound, "there is no keychain")
    static let damagedItems: (code: ExitCode, help: String) = (
        .damaged, "items are damaged, and nothing was changed"
    )
    static let noConsent: (code: ExitCode, help: String) = (
        .usage, "the command line is wrong, or nobody can be asked and --yes is missing"
    )
    static let wrongPasscode: (code: ExitCode, help: String) = (
        .denied, "the passcode is wrong, or a person declined"
    )

    /// The descriptor that an option names; nil where it was not given.
    static func descriptor(
        _ option: OptionDeclaration, _ values: ParsedValues
    ) throws(CLIError) -> PasscodeDescriptor? {
        guard let text = values[option] else { return nil }
        do throws(UserPresenceError) {
            return try PasscodeDescriptor(text)
        } catch {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(text))", hint: error.hint)
        }
    }
}
