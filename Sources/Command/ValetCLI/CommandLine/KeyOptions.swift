// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem
package import ValetUserPresence

/// The options that verbs about passcodes and keys share. Its static members are declarations and
/// help; a value holds the options of one command line.
package struct KeyOptions: Sendable {
    package static let passcodeDescriptor = OptionDeclaration(
        name: "passcode-fd", valueName: "N",
        help: "read the passcode from file descriptor N: one line, without the newline")
    static let newPasscodeDescriptor = OptionDeclaration(
        name: "new-passcode-fd", valueName: "N",
        help: "read the new passcode from file descriptor N (default: the next line of the other "
            + "descriptor)")
    static let weak = OptionDeclaration(
        name: "weak", help: "accept a passcode of fewer than 8 characters")
    package static let yes = OptionDeclaration(name: "yes", letter: "y", help: "do not ask first")
    static let lower = OptionDeclaration(
        name: "lower", help: "accept weaker protection than before")
    static let skipDamaged = OptionDeclaration(
        name: "skip-damaged", help: "set damaged items aside for good, instead of failing")

    package let passcode: PasscodeDescriptor?
    let newPasscode: PasscodeDescriptor?
    let allowsWeak: Bool
    package let isAgreed: Bool
    let allowsLowering: Bool
    let skipsDamaged: Bool

    /// The options of one command line. Those that the verb does not declare are nil or false.
    package init(_ values: ParsedValues) throws(CLIError) {
        passcode = try Self.descriptor(Self.passcodeDescriptor, values)
        newPasscode = try Self.descriptor(Self.newPasscodeDescriptor, values)
        allowsWeak = values.has(Self.weak)
        isAgreed = values.has(Self.yes)
        allowsLowering = values.has(Self.lower)
        skipsDamaged = values.has(Self.skipDamaged)
    }

    /// The descriptor that an option names; nil if it is not given.
    package static func descriptor(
        _ option: OptionDeclaration, _ values: ParsedValues
    ) throws(CLIError) -> PasscodeDescriptor? {
        guard let text = values[option] else { return nil }
        do {
            return try PasscodeDescriptor(text)
        } catch {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(text))", hint: error.hint)
        }
    }
}

/// Help that several verbs share.
extension KeyOptions {
    /// For every verb that gives the keychain new keys.
    static let damageDiscussion =
        "Fails without a change while items are damaged: after a repair the old keys might still "
        + "open them, but erased keys cannot. 'valet doctor' counts damaged items. Store them "
        + "again, remove them, or use --skip-damaged."

    /// For every verb that asks for the passcode.
    package static let askingDiscussion =
        "Type the passcode at the terminal, or into pinentry if there is no terminal. Scripts pass "
        + "it through a file descriptor: --passcode-fd, else $VALET_PASSCODE_FD. It is never read "
        + "from the command line or the environment. You have three tries, a descriptor has one. A "
        + "descriptor supplies one line for each question, in the order of the questions."

    /// For every verb that gives the keychain new keys and sets no passcode.
    static let lockDiscussion =
        "A locked keychain stays locked; an unlocked one keeps its time limits. A warning says if "
        + "other programs must unlock again: if the kernel has no room for the new keys, or if "
        + "this command shares no keys with them (see 'valet unlock')."

    static let noKeychain: (code: ExitCode, help: String) = (.notFound, "there is no keychain")
    static let damagedItems: (code: ExitCode, help: String) = (
        .damaged, "items are damaged, and nothing was changed"
    )
    /// The exit code where the user has declined.
    package static let noConsent: (code: ExitCode, help: String) = (
        .usage, "wrong usage, or nobody can be asked and --yes is missing"
    )
    static let changed: (code: ExitCode, help: String) = (
        .locked,
        "more would be destroyed than the command has said, and nothing was changed; or the "
            + "keychain is busy"
    )
    static let wrongPasscode: (code: ExitCode, help: String) = (
        .denied, "the passcode is wrong, or you declined"
    )
}
