// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// The argument and options that verbs about items share, and the ``Scope`` and ``ItemSelector``
/// that they choose.
package enum ItemOptions {
    static let key = ArgumentDeclaration(
        name: "KEY", help: "the name of the secret", alternative: keyDescriptor,
        dispensers: PasswordOptions.naming)
    static let optionalKey = ArgumentDeclaration(
        name: "KEY", help: "the name of the secret", isRequired: false,
        alternative: keyDescriptor)
    static let keyDescriptor = OptionDeclaration(
        name: "key-fd", valueName: "N",
        help: "read KEY from file descriptor N, one line: other users can see arguments")

    package static let identifier = OptionDeclaration(
        name: "id", valueName: "IDENTIFIER",
        help: "the identifier of the valet (default: 'default'; with --group: none)")
    package static let application = OptionDeclaration(
        name: "app", valueName: "APPLICATION-IDENTIFIER",
        help: "the application that owns the secret (default: valet)")
    package static let group = OptionDeclaration(
        name: "group", valueName: "PREFIX.GROUP",
        help: "the access group that shares the secret, with its prefix")
    package static let accessibility = OptionDeclaration(
        name: "accessibility", valueName: "CLASS",
        help: "when the secret can be read; not needed to find one that exists",
        defaultValue: ProtectionClass.whenUnlocked.word,
        choices: ProtectionClass.offered.map(\.word))
    package static let cloud = OptionDeclaration(
        name: "cloud",
        help: "the secret is in an iCloud valet: 'valet sync' shares it between your devices; not "
            + "needed to find one that exists")
    package static let local = OptionDeclaration(
        name: "local", help: "the secret stays on this device, and is not shared")
    package static let json = OptionDeclaration(name: "json", help: "write one JSON object")

    package static let force = OptionDeclaration(
        name: "force", letter: "f", help: "write bytes of any kind, even to a terminal")

    /// The options that choose a valet, and `--json`.
    package static let all = [identifier, application, group, accessibility, cloud, local, json]
    /// The options of verbs about one secret.
    static let ofOneSecret = [keyDescriptor] + all + PasswordOptions.all

    /// Help on the name, for verbs about one secret.
    static let keyDiscussion =
        "Other users of the machine can see KEY among the arguments of running programs. For a "
        + "confidential name use --key-fd: 'valet VERB --key-fd 3 3<name.txt'."

    /// Help on where a secret is, for verbs about one secret.
    static let placeDiscussion =
        "One name is one secret of an application and identifier, whatever its accessibility, "
        + "shared or not. If a program has stored two of one name, --accessibility, --cloud or "
        + "--local choose one."

    /// Help on passwords of other software, for verbs about one secret.
    static let passwordDiscussion =
        "Without other options KEY is a secret of the valet 'default'. --service, --server and "
        + "--keychain-swift reach the passwords that programs store without a valet: KEY is the "
        + "account then, and may be missing if only one password matches. If no secret is called "
        + "KEY, verbs about one that exists take KEY for the label, host or service of a "
        + "password; 'remove --yes' does not. If several match, the error lists the options that "
        + "choose each."

    /// The hint of a verb for several secrets that leaves passwords where they are.
    static let hintAtLogins = "'--server HOST', '--service NAME' or '--label LABEL' chooses them"

    /// The valet that the options choose.
    package static func scope(_ values: ParsedValues) throws(CLIError) -> Scope {
        var scope = Scope(requester: try requester(values))
        let defaultIdentifier = scope.requester.group == nil ? "default" : nil
        scope.identifier = values[identifier] ?? defaultIdentifier
        scope.isIdentifierChosen = values.isGiven(identifier)
        scope.accessibility =
            values[accessibility].flatMap(ProtectionClass.init(word:)) ?? .whenUnlocked
        scope.isAccessibilityChosen = values.isGiven(accessibility)
        scope.isCloud = values.has(cloud)
        scope.isCloudChosen = values.has(cloud) || values.has(local)
        if values.has(cloud), values.has(local) {
            throw .usage("'--cloud' and '--local' exclude each other")
        }
        if scope.isCloud, scope.accessibility.isThisDeviceOnly {
            throw .usage(
                "'--cloud' and '--accessibility \(scope.accessibility.word)' exclude each other",
                hint: "an iCloud valet stores no secrets for this device only")
        }
        return scope
    }

    /// The item that the options and KEY choose.
    static func selection(_ values: ParsedValues) throws(CLIError) -> ItemSelection {
        let password = try PasswordOptions(values)
        var key: ItemSelector?
        if let account = values[PasswordOptions.account] {
            guard values[ItemOptions.key] == nil, !values.isGiven(keyDescriptor) else {
                throw .usage("KEY and '--account' exclude each other")
            }
            key = .argument(account)
        } else if password == nil || values[ItemOptions.key] != nil
            || values.isGiven(keyDescriptor)
        {
            key = try ItemOptions.key(values)
        }
        return ItemSelection(scope: try scope(values), key: key, password: password)
    }

    package static func requester(_ values: ParsedValues) throws(CLIError) -> Requester {
        var requester = Requester(application: values[application])
        if let name = values[group] { requester.group = try group(name, of: group) }
        return requester
    }

    /// The group that an option names.
    package static func group(
        _ name: String, of option: OptionDeclaration
    ) throws(CLIError) -> AccessGroup {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(name))",
                hint: "a group has a prefix and a name: '\(option.spelling)=PREFIX.GROUP'")
        }
        return AccessGroup(name)
    }

    /// Where the key comes from. A key on the command line is never empty.
    static func key(_ values: ParsedValues) throws(CLIError) -> ItemSelector {
        if let descriptor = try KeyOptions.descriptor(keyDescriptor, values) {
            return .descriptor(descriptor)
        }
        guard let key = values[key], !key.isEmpty else { throw .usage("the key is empty") }
        return .argument(key)
    }
}

/// The name of a secret: an argument, or a line of a file descriptor.
enum ItemSelector: Hashable, Sendable {
    case argument(String)
    case descriptor(PasscodeDescriptor)

    private static let name = SecretName(text: "name", option: ItemOptions.keyDescriptor)
    /// Linux's limit for one argument.
    private static let maximumByteCount = 128 << 10

    /// The name, never empty. Reads one line of a descriptor, without the newline.
    ///
    /// - Throws: ``ExitCode/usage`` for an empty name and for text that is not UTF-8.
    func text() throws(CLIError) -> String {
        switch self {
        case .argument(let text): return text
        case .descriptor(let descriptor):
            let line: SecretBytes
            do {
                line = try descriptor.readLine(
                    atMost: Self.maximumByteCount, within: .seconds(60))
            } catch {
                throw CLIError(error, asking: Self.name)
            }
            guard let text = line.withBytes({ $0.text }) else {
                throw .usage("the name is not UTF-8")
            }
            return text
        }
    }
}
