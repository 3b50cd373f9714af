// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// `valet status`.
struct StatusCommand: Command {
    static let declaration = CommandDeclaration(
        name: "status", abstract: "show where the keychain is and how it is protected",
        discussion: [
            "Opens no secret and creates nothing. A line without a value is left out; its member "
                + "of the JSON object is null."
        ],
        options: [ItemOptions.json],
        schema: [
            (
                "state",
                "absent, incomplete, keyUnavailable, noPasscode, beforeFirstUnlock, unlocked or "
                    + "locked"
            ),
            ("folder", "the folder that holds the keychain"),
            ("deviceKey", "where the device key is read from"),
            ("level", "file, credential, passcode, tpm or tpm+passcode"),
            ("keychainID", "32 hexadecimal digits"), ("format", "the version of the format"),
            ("epoch", "the generation of the keys"), ("items", "how many items there are"),
            ("quarantinedRows", "how many damaged rows were set aside"),
            ("byteCount", "the size of the database and its log"),
            ("isReadOnly", "true where nothing can be written"),
            (
                "lockState",
                "where opened keys lie, kernel or process; null without a passcode"
            ),
            ("lockStateReason", "why there"),
            (
                "lockStateWarning",
                "what another program changed in the opened keys in the kernel; null if nothing"
            ),
            (
                "locksIn",
                "the longest time that the keychain stays unlocked, as 7h59m; null for no end"
            ),
            ("autoLock", "after how long without use it locks, as 15m; null for never"),
            ("recoveryKey", "whether a recovery key opens the keychain"),
            (
                "needsRecovery",
                "true if the device key is gone, and a recovery key can replace it"
            ),
            ("isRotating", "true while a change of keys is not finished"),
            ("isErasePending", "true while old keys may still be on the disk"),
        ] + StatusReport.peopleSchema + StatusReport.tpmSchema,
        examples: [("valet status --json | jq -r .level", "The level of protection.")])

    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: Requester())
        let report = try asking { () throws(KeychainFailure) in try keychain.report() }
        try report.write(to: context.console, asJSON: writesJSON)
        return .success
    }
}
