// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// The items of the running Secret Service, in the form in which `valet serve` keeps items.
enum DesktopItems {
    /// The values of a command line, with the place where `valet serve` keeps items.
    ///
    /// - Throws: ``ExitCode/usage`` for options that choose another place, or another source.
    ///
    /// - Parameter option: The option that chooses the place.
    static func values(
        _ given: ParsedValues, of option: OptionDeclaration
    ) throws(CLIError) -> ParsedValues {
        guard option != ImportHelp.forDesktop || given[ImportHelp.from] == "secret-service" else {
            throw .usage("'--for-desktop' needs '--from secret-service'")
        }
        let other = ItemOptions.all.first {
            $0 != ItemOptions.json && (given.isGiven($0) || given.has($0))
        }
        if let other {
            throw .usage("'\(option.spelling)' and '\(other.spelling)' exclude each other")
        }
        let group = DesktopItem.group.rawValue
        return given.with(ItemOptions.application, group).with(ItemOptions.group, group)
    }

    static func read(_ values: ParsedValues, _ logins: Logins) throws(CLIError) -> ImportedItems {
        guard try !Keyring.isValet() else {
            throw CLIError(
                .failure, "the service that runs is 'valet serve' itself",
                hint: "import while the other keyring runs")
        }
        let service = DesktopItem.service(ofCollection: DesktopItem.usualCollection)
        // Two items with the same attributes are one here.
        var accounts: [AttributeValue?: AttributeValue] = [:]
        return try Keyring.read(skipsLocked: values.has(ImportHelp.skipUnreadable)) {
            (entry, secret) throws(CLIError) in
            let type =
                secret.contentType.isEmpty ? DesktopItem.usualContentType : secret.contentType
            let known = DesktopItem.attributes(
                entry.lookup, label: entry.label, contentType: type, service: service)
            guard var attributes = known else { return nil }
            let lookup = DesktopItem.lookupValue(entry.lookup.withoutGeneralSchema)
            var same: ItemAttributes = [.service: .text(service)]
            same[.lookupAttributes] = lookup
            // A program may have stored it here already.
            let stored = try logins.items(.genericPassword, same).first { item in
                DesktopItem.lookup(item.attributes).areSameItem(as: entry.lookup)
            }
            let account =
                accounts[lookup] ?? stored?.attributes[.account]
                ?? .text(DesktopItem.newAccount())
            accounts[lookup] = account
            attributes[.account] = account
            return ImportedItem(
                .genericPassword, attributes, secret.value,
                from: entry.label.isEmpty ? "an item without a label" : entry.label)
        }
    }
}
