// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// `valet settings [NAME [VALUE]]`.
enum SettingsCommand {
    private static let name = ArgumentDeclaration(
        name: "NAME", help: "the setting: history", isRequired: false)
    private static let value = ArgumentDeclaration(
        name: "VALUE", help: "its new value", isRequired: false)
    private static let purge = OptionDeclaration(
        name: "purge", help: "with 'history 0': remove all former values that are kept now")

    static let declaration = CommandDeclaration(
        name: "settings", abstract: "show or change the settings of the keychain",
        synonyms: ["config"],
        discussion: [
            "Without VALUE shows the setting, without NAME all settings. They are kept in the "
                + "keychain, sealed like its items.",
            "history: how many former values of each secret are kept, 0 to 10 (default: 3). A "
                + "smaller number takes effect with the next change of each secret. 0 keeps none "
                + "from now on; with --purge, those of all applications are removed at once, "
                + "damaged ones, too. This cannot be undone: it asks first, or needs --yes.",
        ],
        arguments: [name, value], options: [purge, KeyOptions.yes, ItemOptions.json],
        schema: [("history", "how many former values of each secret are kept")],
        exitCodes: [KeyOptions.noConsent, KeyOptions.changed],
        examples: [
            ("valet settings", "Shows all."),
            ("valet settings history 0 --purge", "Keeps no former values."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: Requester())
        let setting = try setting(values[name])
        if let setting, let text = values[value] {
            let number = try number(text, for: setting)
            if values.has(purge), number > 0 { throw purgeNeedsZero }
            guard values.has(purge) else {
                try requesting(keychain.attempt(keychain.session.set(setting, to: number)))
                return .success
            }
            try purge(keychain, isAgreed: values.has(KeyOptions.yes), context.console)
            return .success
        }
        if values.has(purge) { throw purgeNeedsZero }
        var fields: [StatusReport.Field] = []
        for shown in KeychainSetting.allCases where setting == nil || shown == setting {
            let number = try requesting(keychain.attempt(keychain.session.number(of: shown)))
            fields.append(
                .init(shown.rawValue, shown.rawValue, .number(number), "former values of a secret"))
        }
        try StatusReport(fields: fields)
            .write(to: context.console, asJSON: values.has(ItemOptions.json))
        return .success
    }

    private static func purge(
        _ keychain: CommandKeychain, isAgreed: Bool, _ console: any Console
    ) throws(CLIError) {
        var agreed: Int?
        if !isAgreed {
            let count = try requesting(keychain.attempt(keychain.session.formerCount()))
            if count > 0 {
                try console.requireConsent(
                    to: "Remove \(FormerValue.counted(count)) of all applications for good?",
                    isGiven: false)
            }
            agreed = count
        }
        let count = try requesting(keychain.attempt(keychain.session.endHistory(atMost: agreed)))
        console.note("valet: removed \(FormerValue.counted(count))")
    }

    private static let purgeNeedsZero = CLIError.usage("'--purge' goes with 'history 0' alone")

    /// nil if no setting is named.
    private static func setting(_ word: String?) throws(CLIError) -> KeychainSetting? {
        guard let word else { return nil }
        guard let setting = KeychainSetting(rawValue: word) else {
            throw .usage(
                "there is no setting \(quoted(word))",
                hint: "there is "
                    + KeychainSetting.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return setting
    }

    private static func number(
        _ text: String, for setting: KeychainSetting
    ) throws(CLIError) -> Int {
        guard let number = Int(text), setting.values.contains(number) else {
            throw .usage(
                "'\(setting.rawValue)' does not take \(quoted(text))",
                hint: "it takes a number from \(setting.values.lowerBound) to "
                    + "\(setting.values.upperBound)")
        }
        return number
    }
}
