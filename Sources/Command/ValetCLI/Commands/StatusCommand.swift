// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// `valet status`.
enum StatusCommand {
    static let declaration = CommandDeclaration(
        name: "status", abstract: "show where the keychain is and how it is protected",
        discussion: [
            "Reads no secret and creates nothing. Leaves out lines without a value; in the JSON "
                + "object they are null."
        ],
        options: [ItemOptions.json],
        schema: [
            (
                "state",
                "absent, incomplete, keyUnavailable, noPasscode, beforeFirstUnlock, unlocked or "
                    + "locked"
            ),
            ("folder", "the folder that holds the keychain"),
            ("deviceKey", "the file that the device key is read from"),
            ("level", "file, credential, passcode, tpm or tpm+passcode"),
            ("keychainID", "32 hexadecimal digits"), ("format", "the version of the format"),
            ("epoch", "the generation of the keys"),
            ("items", "how many items there are, without former values"),
            ("quarantinedRows", "how many damaged rows were set aside"),
            ("byteCount", "the size of the database and its log"),
            ("isReadOnly", "true if nothing can be written"),
            ("lockState", "where opened keys are kept, kernel or process; null without a passcode"),
            ("lockStateReason", "why they are kept there"),
            (
                "lockStateWarning",
                "how another program has changed the opened keys in the kernel; null if it has not"
            ),
            ("locksIn", "how long the keychain stays unlocked at most, as 7h59m; null for no end"),
            ("autoLock", "after which time without use it locks, as 15m; null for never"),
            ("recoveryKey", "whether a recovery key opens the keychain"),
            ("needsRecovery", "true if the device key is lost, and a recovery key can replace it"),
            ("isErasePending", "true while old keys may still be on the disk"),
        ] + StatusReport.passcodeSchema + StatusReport.tpmSchema,
        examples: [("valet status --json | jq -r .level", "The level of protection.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let status = try requesting(context.own().store.keychain.status())
        try StatusReport(status).write(to: context.console, asJSON: values.has(ItemOptions.json))
        return .success
    }
}
