// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

/// The argument and options that verbs about items share.
enum ItemOptions {
    static let key = ArgumentDeclaration(name: "KEY", help: "the name of the secret")
    static let optionalKey = ArgumentDeclaration(
        name: "KEY", help: "the name of the secret", isRequired: false)

    static let identifier = OptionDeclaration(
        name: "id", valueName: "IDENTIFIER",
        help: "the identifier of the valet that has the secret (default: default; with --group: "
            + "none)")
    static let application = OptionDeclaration(
        name: "app", valueName: "APPLICATION-IDENTIFIER",
        help: "the application whose secret it is (default: valet)")
    static let group = OptionDeclaration(
        name: "group", valueName: "PREFIX.GROUP",
        help: "the access group that shares the secret, with its prefix")
    static let accessibility = OptionDeclaration(
        name: "accessibility", valueName: "CLASS",
        help: "when the secret can be read; a part of its name, which every verb has to be told",
        defaultValue: Accessibility.whenUnlocked.rawValue,
        choices: Accessibility.allCases.map(\.rawValue))
    static let cloud = OptionDeclaration(
        name: "cloud",
        help: "a secret of an iCloud valet, kept apart from the others; nothing is sent to other "
            + "devices yet")
    static let json = OptionDeclaration(name: "json", help: "write one JSON object")

    /// The options that choose a valet, and `--json`.
    static let all = [identifier, application, group, accessibility, cloud, json]

    /// The valet that the options choose.
    static func scope(_ values: ParsedValues) throws(CLIError) -> Scope {
        var scope = Scope(requester: try requester(values))
        let defaultIdentifier = scope.requester.group == nil ? "default" : nil
        scope.identifier = values[identifier] ?? defaultIdentifier
        scope.accessibility =
            values[accessibility].flatMap(Accessibility.init(rawValue:)) ?? .whenUnlocked
        scope.isCloud = values.has(cloud)
        if scope.isCloud, scope.accessibility.protectionClass.isThisDeviceOnly {
            throw .usage(
                "'--cloud' does not go with '--accessibility \(scope.accessibility.rawValue)'",
                hint: "an iCloud valet keeps no secrets for this device only")
        }
        return scope
    }

    /// The application and group that the options choose.
    static func requester(_ values: ParsedValues) throws(CLIError) -> Requester {
        var requester = Requester(application: values[application])
        if let name = values[group] {
            let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
                throw .usage(
                    "'--group' does not take \(quoted(name))",
                    hint: "a group has a prefix and a name: '--group=PREFIX.GROUP'")
            }
            requester.group = AccessGroup(name)
        }
        return requester
    }

    /// The key, which is never empty.
    static func key(_ values: ParsedValues) throws(CLIError) -> String {
        guard let key = values[key], !key.isEmpty else { throw .usage("the key is empty") }
        return key
    }
}
