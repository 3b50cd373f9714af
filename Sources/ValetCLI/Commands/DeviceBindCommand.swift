// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainServices
internal import KeychainStore
internal import UserPresence

/// `valet device bind`.
struct DeviceBindCommand: Command {
    private static let credential = OptionDeclaration(
        name: "credential", help: "the systemd credential valet.device-key")
    private static let keyFile = OptionDeclaration(
        name: "key-file", valueName: "PATH", help: "the file at PATH, an absolute one")
    private static let ownFile = OptionDeclaration(
        name: "own-file", help: "a new file of the keychain's own, device.key; needs --lower")

    static let declaration = CommandDeclaration(
        name: "device bind", abstract: "take the device key from another place",
        discussion: [
            "Gives the keychain new keys that open with the device key of the place that was "
                + "chosen, and erases a device key of its own. Passcode and recovery key stay. "
                + "The key must be there already: 32 random bytes, or a copy of this keychain's "
                + "device.key, in a file that belongs to you or root and that nobody else can "
                + "read. Keep a copy of it: without it, only a recovery key helps.",
            "PATH is not recorded in the keychain. Programs find the file through "
                + "$VALET_DEVICE_KEY_FILE, and must have VALET_DEVICE_KEY_FILE=PATH in their "
                + "environment from then on, this command as well; where the variable is set "
                + "already it must name PATH. With --credential, programs must be started with "
                + "the credential (LoadCredential= or LoadCredentialEncrypted= of systemd), and "
                + "this command, too. A program without it finds no key; it never makes one.",
            "The keychain's own device.key is refused as PATH, because it is erased. Going back "
                + "to --own-file puts the key beside the keychain, which protects less, and "
                + "takes --lower.",
            KeyOptions.askingDiscussion,
        ],
        options: [
            credential, keyFile, ownFile, KeyOptions.lower, KeyOptions.passcodeDescriptor,
        ],
        exitCodes: [
            (.failure, "there is no usable key at that place, or something failed"),
            KeyOptions.noKeychain, KeyOptions.wrongPasscode,
        ],
        examples: [
            ("valet device bind --key-file /run/secrets/valet.key", "A file that is mounted."),
            ("valet device bind --credential", "In a service that has the credential."),
            ("valet device bind --own-file --lower", "Back to a file of its own."),
        ])

    private let place: DeviceKeyPlace
    private let path: String?
    private let isLoweringAllowed: Bool
    private let descriptor: PasscodeDescriptor?

    init(_ values: ParsedValues) throws(CLIError) {
        let places: [(OptionDeclaration, DeviceKeyPlace)] = [
            (Self.credential, .credential), (Self.keyFile, .keyFile), (Self.ownFile, .ownFile),
        ]
        let chosen = places.filter { values.has($0.0) || values.isGiven($0.0) }
        guard let place = chosen.first?.1, chosen.count == 1 else {
            throw .usage("expected one of '--credential', '--key-file' and '--own-file'")
        }
        self.place = place
        path = try Self.path(values)
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
            to: Protection(
                hasPasscode: protection.hasPasscode, isKeyElsewhere: place != .ownFile))
        let passcode = try context.dialogue(descriptor, new: nil).passcode(
            of: store, for: "The keychain's passcode, to bind it to another device key.")
        try context.changingKeys(of: store) { (progress) throws(KeychainFailure) in
            try store.rotateKeys(passcode, movingDeviceKeyTo: place, progress: progress)
        }
        context.console.note("valet: the device key comes from \(place.name) now")
        if let requirement = place.requirement(path: path) {
            context.console.hint(requirement)
        }
        return .success
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
