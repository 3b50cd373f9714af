// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetUserPresence

/// `valet device bind`.
struct DeviceBindCommand: Command {
    private static let credential = OptionDeclaration(
        name: "credential", help: "the systemd credential valet.device-key")
    private static let keyFile = OptionDeclaration(
        name: "key-file", valueName: "PATH", help: "the file at PATH, an absolute one")
    private static let ownFile = OptionDeclaration(
        name: "own-file", help: "a new file of the keychain's own, device.key")
    private static let tpm = OptionDeclaration(
        name: "tpm", help: "the machine's TPM 2.0, which keeps the key from now on")
    private static let pcrs = OptionDeclaration(
        name: "pcrs", valueName: "LIST",
        help: "with --tpm: release the key only while these PCRs are as now: 7 or 0,2,7")
    private static let acceptance = OptionDeclaration(
        name: "accept-resettable-lockout",
        help: "with --tpm: accept a TPM whose count of wrong passcodes anybody can reset")

    static let declaration = CommandDeclaration(
        name: "device bind", abstract: "take the device key from another place",
        discussion: [
            "Gives the keychain new keys that open with the device key of the chosen "
                + "place, and erases a device key of its own. Passcode and recovery key stay. A "
                + "key in a file or credential must exist already: 32 random bytes, or a copy "
                + "of this keychain's device.key, in a file that belongs to you or root and "
                + "that nobody else can read. Keep a copy of it: without it, only a recovery "
                + "key helps.",
            "PATH is not recorded in the keychain. From then on every program, this "
                + "command as well, needs VALET_DEVICE_KEY_FILE=PATH in its environment. If the "
                + "variable is set already it must name PATH. With --credential, every program, "
                + "this command as well, must be started with the credential (LoadCredential= "
                + "or LoadCredentialEncrypted= of systemd). A program without it finds no key; "
                + "it never makes one.",
            "The keychain's own device.key is refused as PATH, because it is erased. "
                + "--lower is needed where the new place protects less: from a credential or "
                + "key file to --own-file, which puts the key beside the keychain, and from a "
                + "TPM to any other place.",
            "With --tpm, the keychain opens on this machine only; copies of all files do "
                + "not open elsewhere. A passcode is bound to the TPM, too: the TPM counts "
                + "wrong ones, takes none after too many, and nobody can guess without it. The "
                + "user needs access to /dev/tpmrm0, on Debian through the group tss. If the "
                + "TPM breaks or is cleared, or a PCR of --pcrs changes (7 holds the keys of "
                + "secure boot), only a recovery key helps: make one first, with 'valet "
                + "recovery create'. 'valet device unbind' goes back to a file.",
            "The TPM limits guesses only if its lockout authorization is set. While it is "
                + "empty, anybody who starts another system on this machine can reset the count "
                + "of wrong passcodes, and guess at the cost of Argon2 alone. 'device bind "
                + "--tpm' then asks first; where nobody can be asked it needs "
                + "--accept-resettable-lockout. 'tpm2_changeauth -c lockout file:PATH' sets the "
                + "authorization to the contents of a file; without that value nobody can end a "
                + "lockout early.",
            KeyOptions.lockDiscussion, KeyOptions.damageDiscussion, KeyOptions.askingDiscussion,
        ],
        options: [
            credential, keyFile, tpm, pcrs, acceptance, ownFile, KeyOptions.lower,
            KeyOptions.passcodeDescriptor, KeyOptions.skipDamaged,
        ],
        exitCodes: [
            (
                .usage,
                "the command line is wrong, '--lower' is missing, VALET_DEVICE_KEY_FILE names "
                    + "another path, or nobody can be asked, for the passcode or about a TPM whose "
                    + "lockout authorization is empty"
            ),
            (.failure, "there is no usable key at that place, or something failed"),
            KeyOptions.noKeychain, KeyOptions.damagedItems, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet device bind --key-file /run/secrets/valet.key", "A file that is mounted."),
            ("valet device bind --credential", "In a service that has the credential."),
            ("valet device bind --tpm", "To this machine."),
            ("valet device bind --own-file --lower", "Back to a file of its own."),
        ])

    private let place: DeviceKeySource
    private let path: String?
    private let registers: [Int]?
    private let acceptsResettableLockout: Bool
    private let isLoweringAllowed: Bool
    private let descriptor: PasscodeDescriptor?
    private let skipsDamaged: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        skipsDamaged = values.has(KeyOptions.skipDamaged)
        let places: [(OptionDeclaration, DeviceKeySource)] = [
            (Self.credential, .credential), (Self.keyFile, .keyFile), (Self.tpm, .tpm),
            (Self.ownFile, .ownFile),
        ]
        let chosen = places.filter { values.has($0.0) || values.isGiven($0.0) }
        guard let place = chosen.first?.1, chosen.count == 1 else {
            throw .usage("expected one of '--credential', '--key-file', '--tpm' and '--own-file'")
        }
        self.place = place
        path = try Self.path(values)
        registers = try Self.registers(values)
        guard registers == nil || place == .tpm else {
            throw .usage("'--pcrs' needs '--tpm'")
        }
        acceptsResettableLockout = values.has(Self.acceptance)
        guard !acceptsResettableLockout || place == .tpm else {
            throw .usage("'--accept-resettable-lockout' needs '--tpm'")
        }
        isLoweringAllowed = values.has(KeyOptions.lower)
        descriptor = try KeyOptions.descriptor(KeyOptions.passcodeDescriptor, values)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let store = try store(context)
        let status = try asking { () throws(KeychainFailure) in
            try store.checkDeviceKey()
            return try store.status()
        }
        let protection = Protection(status)
        try protection.check(
            lowering: isLoweringAllowed,
            to: Protection(hasPasscode: protection.hasPasscode, place: place))
        // Before anybody types a passcode.
        if place == .tpm {
            let tpm = try asking { () throws(KeychainFailure) in try store.tpmSummary() }
            if tpm.isLockoutResettable { try acceptLockout(on: context.console) }
        }
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to bind it to another device key.")
        try context.changingKeys(of: store, skippingDamaged: skipsDamaged) {
            (options) throws(KeychainFailure) in
            try store.rotateKeys(
                passcode, movingDeviceKeyTo: place, boundTo: registers, options)
        }
        context.console.note("valet: the device key comes from \(place.name) now")
        if let requirement = place.requirement(path: path) {
            context.console.hint(requirement)
        }
        return .success
    }

    /// Says that the TPM does not limit guesses, and has a person accept that.
    private func acceptLockout(on console: any Console) throws(CLIError) {
        console.warnOfResettableLockout()
        guard !acceptsResettableLockout else { return }
        if let obstacle = console.obstacleToAsking {
            throw .usage(
                "this TPM does not limit guesses, and \(obstacle)",
                hint: TPMSummary.lockoutHint + "; or accept it: '--accept-resettable-lockout'")
        }
        guard try console.confirm("Bind to this TPM all the same?") else {
            throw CLIError(.denied, "nothing was changed")
        }
    }

    /// The keychain as it is where the variable names the path.
    private func store(_ context: Context) throws(CLIError) -> ItemStore {
        let store = try asking { () throws(KeychainFailure) in try context.store() }
        guard let path else { return store }
        if let known = store.location.deviceKeyPath {
            guard known == path else {
                throw .usage(
                    "VALET_DEVICE_KEY_FILE names \(quoted(known)), and not \(quoted(path))",
                    hint: "programs look where the variable says: bind to that, or change it first")
            }
            return store
        }
        // The files may be open already, with no key at that path.
        store.close()
        return store.takingDeviceKey(from: path)
    }

    /// Numbers from 0 to 23 with commas between them.
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
                hint: "it takes numbers from 0 to 23 with commas between them: 0,2,7")
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

extension Console {
    /// Says that a TPM counts wrong passcodes and does not limit guesses.
    func warnOfResettableLockout() {
        note(
            "valet: warning: the TPM's lockout authorization is empty: anybody who starts another "
                + "system on this machine can reset the count of wrong passcodes")
    }
}
