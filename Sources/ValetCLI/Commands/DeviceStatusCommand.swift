// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// `valet device status`.
struct DeviceStatusCommand: Command {
    static let declaration = CommandDeclaration(
        name: "device status", abstract: "show where the device key comes from",
        discussion: [
            "Opens no item and changes nothing. If a TPM keeps the device key, asks it for the key."
        ],
        options: [ItemOptions.json],
        schema: [
            ("source", "own-file, credential, key-file or tpm, as recorded in the keychain"),
            ("path", "where this program looks for it, or null"),
            ("isAvailable", "whether the right key is there"),
            ("level", "the level of protection: file, credential, passcode, tpm, tpm+passcode"),
            ("needsRecovery", "true if it is missing, and a recovery key can replace it"),
        ] + StatusReport.tpmSchema,
        exitCodes: [KeyOptions.noKeychain],
        examples: [("valet device status", "Where it comes from, and whether it is there.")])

    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let status = try asking { () throws(KeychainFailure) in try context.store().status() }
        guard status.state != .absent else {
            throw CLIError(.notFound, "there is no keychain yet")
        }
        let isAvailable = status.state != .incomplete && status.state != .keyUnavailable
        let fields: [StatusReport.Field] = [
            .init(
                member: "source", label: "Device key", value: .text(status.deviceKeySource?.name)),
            .init(member: "path", label: "Path", value: .text(status.deviceKeyPath)),
            .init(
                member: "isAvailable", label: "Available", value: .flag(isAvailable),
                remark: status.needsRecovery ? StatusReport.remarkOnRecovery : nil),
            .init(member: "level", label: "Protection", value: .text(status.level?.rawValue)),
            .init(
                member: "needsRecovery", label: "", value: .flag(status.needsRecovery),
                isShownAsText: false),
        ]
        try StatusReport(fields: fields + StatusReport.tpmFields(status))
            .write(to: context.console, asJSON: writesJSON)
        return .success
    }
}
