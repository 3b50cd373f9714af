// SPDX-License-Identifier: Apache-2.0

// The verbs of `device`: status, bind and unbind.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

enum DeviceGroup {
    static let declaration = GroupDeclaration(
        name: "device", abstract: "choose where the device key is kept",
        discussion: [
            "The device key opens the keychain, alone or together with the passcode. It is a file "
                + "of the keychain's own, unless it is bound to a systemd credential, to a file "
                + "that an administrator keeps, or to the machine's TPM. Without the device key, "
                + "only a recovery key opens the keychain."
        ],
        examples: [
            ("valet device status", "Shows where the key is kept, and whether it is available."),
            ("valet device bind --key-file /run/secrets/valet.key", "Uses the key in a file."),
        ])
}

/// `valet device status`.
enum DeviceStatusCommand {
    static let declaration = CommandDeclaration(
        name: "device status", abstract: "show where the device key is kept",
        discussion: [
            "Reads no item and changes nothing. If a TPM keeps the device key, asks the TPM for it."
        ],
        options: [ItemOptions.json],
        schema: [
            ("source", "own-file, credential, key-file or tpm, as recorded in the keychain"),
            ("path", "the file that this program reads it from, or null"),
            ("isAvailable", "whether the right key is available"),
            ("level", "the level of protection: file, credential, passcode, tpm, tpm+passcode"),
            ("needsRecovery", "true if the key is lost, and a recovery key can replace it"),
        ] + StatusReport.tpmSchema,
        exitCodes: [KeyOptions.noKeychain],
        examples: [
            ("valet device status", "Shows where the key is kept, and whether it is available.")
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let status = try requesting(context.store().keychain.status())
        guard status.state != .absent else {
            throw CLIError(
                .notFound, "there is no keychain yet", hint: "'valet set' creates it")
        }
        let isAvailable = status.state != .incomplete && status.state != .keyUnavailable
        let fields: [StatusReport.Field] = [
            .init("source", "Device key", .text(status.deviceKeySource?.name)),
            .init("path", "Path", .text(status.deviceKeyPath)),
            .init(
                "isAvailable", "Available", .flag(isAvailable),
                status.needsRecovery ? StatusReport.remarkOnRecovery : nil),
            .init("level", "Protection", .text(status.level?.rawValue)),
            .init("needsRecovery", nil, .flag(status.needsRecovery)),
        ]
        try StatusReport(fields: fields + StatusReport.tpmFields(status))
            .write(to: context.console, asJSON: values.has(ItemOptions.json))
        return .success
    }
}

/// `valet device bind`.
enum DeviceBindCommand {
    private static let credential = OptionDeclaration(
        name: "credential", help: "the systemd credential valet.device-key")
    private static let keyFile = OptionDeclaration(
        name: "key-file", valueName: "PATH", help: "the file at PATH, an absolute path")
    private static let ownFile = OptionDeclaration(
        name: "own-file", help: "a new file of the keychain's own, device.key")
    private static let tpm = OptionDeclaration(
        name: "tpm", help: "a new key in the machine's TPM 2.0")
    private static let pcrs = OptionDeclaration(
        name: "pcrs", valueName: "LIST",
        help: "with --tpm: release the key only while these PCRs have their current values: 7 or "
            + "0,2,7")
    private static let acceptance = OptionDeclaration(
        name: "accept-resettable-lockout",
        help: "with --tpm: accept a TPM whose count of wrong passcodes anyone can reset")

    static let declaration = CommandDeclaration(
        name: "device bind", abstract: "keep the device key in another place",
        discussion: [
            "Gives the keychain new keys that open with the device key of the chosen place, and "
                + "erases a device key of its own. Passcode and recovery key stay. A key in a "
                + "file or credential must exist already: 32 random bytes, or a copy of this "
                + "keychain's device.key. The file must belong to you or root, and be unreadable "
                + "for others. Keep a copy of the key: without it, only a recovery key helps.",
            "The keychain does not record PATH. From now on every program, including this "
                + "command, needs VALET_DEVICE_KEY_FILE=PATH in its environment. If the variable "
                + "is set already, it must name PATH. With --credential, every program, including "
                + "this command, must be started with the credential (LoadCredential= or "
                + "LoadCredentialEncrypted= of systemd). A program without it finds no key, and "
                + "never makes one.",
            "PATH must not be the keychain's own device.key, because that file is erased. "
                + "--lower is required if the new place protects less: from a credential or key "
                + "file to --own-file, which puts the key beside the keychain, and from a TPM to "
                + "any other place.",
            "With --tpm, the keychain opens on this machine only; copies of its files open "
                + "nowhere else. A passcode is bound to the TPM too: the TPM counts wrong "
                + "passcodes, refuses all after too many, and nobody can guess without it. You "
                + "need access to /dev/tpmrm0, on Debian through the group tss. If the TPM breaks "
                + "or is cleared, or a PCR of --pcrs changes (7 measures the keys of secure "
                + "boot), only a recovery key helps: make one first, with 'valet recovery "
                + "create'. 'valet device unbind' goes back to a file.",
            "The TPM limits guesses only if its lockout authorization is set. While it is empty, "
                + "anyone who starts another system on this machine can reset the count of wrong "
                + "passcodes, and guess at the cost of Argon2 alone. In this case the command asks "
                + "first, or needs --accept-resettable-lockout. 'tpm2_changeauth -c lockout "
                + "file:PATH' sets the authorization to the contents of a file; without that "
                + "value nobody can end a lockout early.",
            KeyOptions.lockDiscussion, KeyOptions.damageDiscussion, KeyOptions.askingDiscussion,
        ],
        options: [
            credential, keyFile, tpm, pcrs, acceptance, ownFile, KeyOptions.lower,
            KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged,
        ],
        exitCodes: [
            (
                .usage,
                "wrong usage, --lower is missing, VALET_DEVICE_KEY_FILE names another path, or "
                    + "nobody can be asked for the passcode or about the TPM's lockout"
            ),
            (.failure, "there is no usable key at that place, or another failure"),
            KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet device bind --key-file /run/secrets/valet.key", "To a mounted file."),
            ("valet device bind --credential", "In a service that has the credential."),
            ("valet device bind --tpm", "To this machine."),
            ("valet device bind --own-file --lower", "Back to a file of its own."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let place = try place(values)
        let (path, registers) = (try path(values), try registers(values))
        guard registers == nil || place == .tpm else { throw .usage("'--pcrs' needs '--tpm'") }
        guard !values.has(acceptance) || place == .tpm else {
            throw .usage("'--accept-resettable-lockout' needs '--tpm'")
        }
        let store = try store(context, path)
        try requesting(store.keychain.checkDeviceKey())
        let protection = Protection(try requesting(store.keychain.status()))
        try protection.check(
            lowering: options.allowsLowering,
            to: Protection(hasPasscode: protection.hasPasscode, place: place))
        // Asks about the TPM before it asks for the passcode.
        if place == .tpm {
            let tpm = try requesting(store.keychain.tpmSummary())
            if tpm.isLockoutResettable {
                context.console.warnOfResettableLockout()
                try context.console.requireConsent(
                    to: "Bind to this TPM anyway?", isGiven: values.has(acceptance),
                    because: "this TPM does not limit guesses",
                    hint: TPMSummary.lockoutHint
                        + "; or accept it with '--accept-resettable-lockout'")
            }
        }
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to bind it to another device key.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.rotateKeys(
                passcode, movingDeviceKeyTo: place, boundTo: registers, epoch)
        }
        context.console.note("valet: the device key now comes from \(place.name)")
        place.requirement(path: path).map(context.console.hint)
        return .success
    }

    private static func place(_ values: ParsedValues) throws(CLIError) -> DeviceKeySource {
        let places: [(OptionDeclaration, DeviceKeySource)] = [
            (credential, .credential), (keyFile, .keyFile), (tpm, .tpm), (ownFile, .ownFile),
        ]
        let chosen = places.filter { values.has($0.0) || values.isGiven($0.0) }
        guard let place = chosen.first?.1, chosen.count == 1 else {
            throw .usage(
                "expected one of '--credential', '--key-file', '--tpm' and '--own-file'",
                hint: "'valet device bind --help' explains them")
        }
        return place
    }

    /// The keychain as seen by a program whose `VALET_DEVICE_KEY_FILE` is `path`.
    private static func store(
        _ context: Context, _ path: String?
    ) throws(CLIError) -> ItemStore {
        let store = try requesting(context.store())
        guard let path else { return store }
        if let known = store.deviceKeyPath {
            guard known == path else {
                throw .usage(
                    "VALET_DEVICE_KEY_FILE names \(quoted(known)), not \(quoted(path))",
                    hint: "bind to the path that the variable names, or change the variable first")
            }
            return store
        }
        return try requesting(store.takingDeviceKey(from: path))
    }

    /// Numbers from 0 to 23, separated by commas.
    private static func registers(_ values: ParsedValues) throws(CLIError) -> [Int]? {
        guard let text = values[pcrs] else { return nil }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { digits in
            digits.allSatisfy(\.isASCII) && !digits.hasPrefix("+") ? Int(digits) : nil
        }
        let registers = numbers.compactMap { $0 }
        guard registers.count == numbers.count, registers.allSatisfy({ (0...23).contains($0) })
        else {
            throw .usage(
                "'--pcrs' does not take \(quoted(text))",
                hint: "it takes numbers from 0 to 23, separated by commas: 0,2,7")
        }
        return registers
    }

    private static func path(_ values: ParsedValues) throws(CLIError) -> String? {
        guard let path = values[keyFile] else { return nil }
        guard path.hasPrefix("/") else {
            throw .usage(
                "'--key-file' does not take \(quoted(path))",
                hint: "it takes an absolute path, as VALET_DEVICE_KEY_FILE does")
        }
        return path
    }
}

/// `valet device unbind`.
enum DeviceUnbindCommand {
    static let declaration = CommandDeclaration(
        name: "device unbind", abstract: "take the device key out of the TPM",
        discussion: [
            "Gives the keychain new keys, and a device key in a file of its own, device.key, which "
                + "opens it on any machine. A passcode stays, but the TPM no longer counts wrong "
                + "ones. This protects less, and requires --lower. It needs the TPM that the "
                + "keychain is bound to; without that TPM, use 'valet recovery use'.",
            KeyOptions.lockDiscussion,
            KeyOptions.damageDiscussion,
            KeyOptions.askingDiscussion,
        ],
        options: [KeyOptions.lower, KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged],
        exitCodes: [
            (.failure, "the keychain is not bound to a TPM, or the TPM does not release the key"),
            (.usage, "--lower is missing, or wrong usage"),
            KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [("valet device unbind --lower", "Before you give the machine away.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let options = try KeyOptions(values)
        let (store, status) = try context.usableStore()
        guard status.deviceKeySource == .tpm else {
            throw CLIError(
                .failure, "the keychain is not bound to a TPM",
                hint: "'valet device status' shows where its key is kept")
        }
        let protection = Protection(status)
        try protection.check(
            lowering: options.allowsLowering,
            to: Protection(hasPasscode: protection.hasPasscode, place: .ownFile))
        let passcode = try context.dialogue(options.passcode).passcode(
            of: store, for: "The keychain's passcode, to take it out of the TPM.")
        try context.changingKeys(of: store, skippingDamaged: options.skipsDamaged) {
            (epoch) throws(KeychainFailure) in
            try store.keychain.rotateKeys(passcode, movingDeviceKeyTo: .ownFile, epoch)
        }
        context.console.note("valet: the device key now comes from \(DeviceKeySource.ownFile.name)")
        return .success
    }
}

extension Console {
    /// Warns that a TPM counts wrong passcodes without limiting guesses.
    func warnOfResettableLockout() {
        note(
            "valet: warning: the TPM's lockout authorization is empty: anyone who starts another "
                + "system on this machine can reset the count of wrong passcodes")
    }
}

/// The names of a device key's places, in options and messages.
extension DeviceKeySource {
    var name: String {
        switch self {
        case .ownFile: "own-file"
        case .credential: "credential"
        case .keyFile: "key-file"
        case .tpm: "tpm"
        }
    }

    /// The place of that name.
    init?(name: String) {
        guard let place = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = place
    }

    /// What programs need from now on to find the key; nil if nothing.
    func requirement(path: String?) -> String? {
        switch self {
        case .ownFile: nil
        case .tpm:
            "without this machine's TPM only a recovery key opens the keychain: "
                + "'valet recovery create' makes one"
        case .credential:
            "every program that uses the keychain needs the systemd credential valet.device-key"
        case .keyFile:
            "every program that uses the keychain needs VALET_DEVICE_KEY_FILE="
                + Escaping.printable(path ?? "the path of the file") + " in its environment"
        }
    }
}

/// How well a keychain is protected. `device` and `recovery use` compare it before and after.
struct Protection {
    let hasPasscode: Bool
    /// Where the device key is kept; nil before it is made.
    let place: DeviceKeySource?

    init(_ status: KeychainStatus) {
        hasPasscode = status.lockStateProvider != nil
        place = status.deviceKeySource
    }

    init(hasPasscode: Bool, place: DeviceKeySource?) {
        self.hasPasscode = hasPasscode
        self.place = place
    }

    /// Refuses weaker protection, unless `--lower` accepts it.
    ///
    /// - Throws: ``ExitCode/usage``, which says what would be lost.
    func check(lowering: Bool, to next: Protection) throws(CLIError) {
        guard !lowering, let place, let nextPlace = next.place else { return }
        if hasPasscode, !next.hasPasscode {
            throw .usage(
                "the keychain would have no passcode",
                hint: "'--set-passcode' sets one; '--lower' continues without")
        }
        if place != .ownFile, nextPlace == .ownFile {
            throw .usage(
                "the device key would be a file beside the keychain: a thief of the disk gets both",
                hint: "'--lower' accepts this")
        }
        if place == .tpm, nextPlace != .tpm {
            throw .usage(
                "the TPM would no longer protect the keychain", hint: "'--lower' accepts this")
        }
    }
}
