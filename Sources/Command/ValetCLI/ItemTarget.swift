// SPDX-License-Identifier: Apache-2.0

// The one item that a verb works on: the secret of a valet, or a password of other software.
// `ItemOptions.selection` makes the selection, which finds its item with the keychain.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// The part of a command line that selects one item.
struct ItemSelection: Hashable, Sendable {
    let scope: Scope
    /// nil if the options for a password find it without an account.
    let key: ItemSelector?
    /// nil for the secret of a valet.
    let password: PasswordOptions?

    /// Reads the key, and opens the keychain.
    func target(_ context: Context) throws(CLIError) -> ItemTarget {
        try target(in: try context.keychain(for: scope.requester))
    }

    /// Reads the key. `keychain` is open for the application of this selection.
    func target(in keychain: CommandKeychain) throws(CLIError) -> ItemTarget {
        let key = try key?.text()
        return ItemTarget(scope: scope, key: key, form: form(key), keychain: keychain)
    }

    private func form(_ key: String?) -> ItemTarget.Form {
        guard let password else { return .secret }
        var query = scope.query(password)
        if let key { query.attributes[.account] = .text(password.keyPrefix + key) }
        return .password(query)
    }

    /// Searches for everything that the options choose, whatever its key.
    var queries: [ItemQuery] {
        password.map { [scope.query($0)] } ?? scope.chosenServices.map(\.query)
    }
}

extension Scope {
    /// A search for the passwords that the options choose.
    fileprivate func query(_ password: PasswordOptions) -> ItemQuery {
        var query = ItemQuery(
            password.itemClass, attributes: password.attributes, accessGroup: requester.group,
            synchronizable: synchronizable)
        if isAccessibilityChosen { query.protectionClass = accessibility }
        return query
    }

    /// Whether the options choose an item of the application.
    ///
    /// - Parameter isNarrow: Whether only the valet of that identifier is meant.
    func chooses(_ item: StoredItem, narrow isNarrow: Bool) -> Bool {
        let owner = item.owner
        return (!isNarrow || (owner.isValet && owner.name == identifier ?? ""))
            && (!isAccessibilityChosen || item.protectionClass == accessibility)
            && (!isCloudChosen || item.isSynchronizable == isCloud)
    }

    /// The options' choice among shared and other items.
    var synchronizable: ItemQuery.Synchronizable {
        isCloudChosen ? (isCloud ? .synchronizedOnly : .localOnly) : .any
    }
}

/// One item of an open keychain.
struct ItemTarget {
    enum Form {
        /// A secret, in one of the valets of the scope: ``SecretPlaces``.
        case secret
        case password(ItemQuery)
    }

    let scope: Scope
    /// The key on the command line; nil for a password that is found without its account.
    let key: String?
    let form: Form
    let keychain: CommandKeychain

    var session: KeychainSession { keychain.session }

    /// The key in JSON and messages.
    var name: String { key ?? "" }

    /// Where the item is, in messages: "valet 'default' of application 'valet'".
    var place: String {
        switch form {
        case .secret: scope.place(of: keychain)
        case .password: "application \(quoted(keychain.applicationIdentifier))"
        }
    }

    var title: String {
        guard case .password(let query) = form else { return quoted(name) }
        let parts = Self.named.compactMap { attribute, word in
            query.attributes[attribute].map { value in
                let text = ListedItem.text(value)
                return "\(word) "
                    + quoted(attribute == .protocol ? NetworkProtocol.name(text) : text)
            }
        }
        return "password with " + parts.joined(separator: ", ")
    }

    private static let named: [(Attribute, String)] = [
        (.service, "service"), (.server, "server"), (.protocol, "protocol"), (.port, "port"),
        (.account, "account"), (.label, "label"),
    ]

    // MARK: - Reading

    /// The value.
    ///
    /// - Throws: ``ExitCode/notFound``; ``ExitCode/usage`` if several items match.
    func value() throws(CLIError) -> SecretValue {
        let value: SecretValue?
        switch form {
        case .secret:
            value = try onLocated { (name) throws(KeychainFailure) in
                try session.value(of: name)
            }
        case .password:
            let reference = try details().reference
            value = try requesting(keychain.attempt(session.value(of: ItemQuery(reference))))
        }
        guard let value else {
            throw CLIError(.notFound, "\(title) in \(place) has no value")
        }
        return value
    }

    /// All that is stored beside the value.
    ///
    /// - Throws: Like ``value()``.
    func details() throws(CLIError) -> StoredItem {
        guard let found = try detailsIfAny() else {
            throw error(KeychainFailure(.itemNotFound, during: "find the item"))
        }
        return found
    }

    /// Like ``details()``; nil if there is no such item.
    func detailsIfAny() throws(CLIError) -> StoredItem? {
        try one(of: try requesting(keychain.find(queries)))
    }

    /// The searches for the item, whose results belong together: ``one(of:)``.
    var queries: [ItemQuery] {
        switch form {
        case .secret: secretQueries
        // If no password matches, those for the same server in its canonical form count.
        case .password(let query): [query] + (query.canonical.map { [$0] } ?? [])
        }
    }

    /// The item that one of ``queries`` finds; nil if none does.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several; ``ExitCode/damaged`` if a damaged one may
    ///   match: it may be the wanted one.
    func one(of each: [FoundItems<StoredItem>]) throws(CLIError) -> StoredItem? {
        guard case .password = form else {
            guard let found = try oneService(in: each)?.found else { return nil }
            // Several groups may have it. The command line means that of the first one.
            return try requesting(found.items).first
        }
        guard let found = each.first(where: { !$0.isEmpty }) else { return nil }
        let items = try requesting(found.items)
        guard items.count > 1 else { return items.first }
        let shown = items.prefix(5).map { "\(quoted($0.name)) of \(quoted($0.owner.name))" }
        let rest = items.count > 5 ? ", and \(items.count - 5) more" : ""
        throw .usage(
            "\(items.count) passwords match: \(shown.joined(separator: ", "))\(rest)",
            hint: "name one with KEY, --service, --server, --port, --protocol, --label, --cloud, "
                + "--local or --accessibility")
    }

    /// Whether there is such an item, damaged or not. Never reads the value.
    ///
    /// - Throws: ``ExitCode/damaged`` for a damaged keychain.
    func exists() throws(CLIError) -> Bool {
        do {
            return try contains()
        } catch {
            guard error.isOfDamagedItem else { throw error }
            return true
        }
    }

    /// Whether there is such an item. Does not open its value.
    ///
    /// - Throws: ``ExitCode/damaged`` if a damaged item may be the only one.
    func contains() throws(CLIError) -> Bool {
        switch form {
        case .secret:
            let found = try requesting(keychain.attempt(session.contents(of: queries)))
            guard let (_, items) = try oneService(in: found) else { return false }
            return try requesting(items.hasItem())
        case .password:
            let found = try requesting(keychain.find(queries))
            return try requesting(FoundItems(joining: found).hasItem())
        }
    }

    // MARK: - Writing

    /// Changes the password that matches, and adds one if there is none.
    ///
    /// - Parameter isOnlyIfAbsent: Whether to fail with ``ExitCode/alreadyThere`` if the item
    ///   exists.
    func storePassword(
        _ value: SecretValue, _ query: ItemQuery, ifAbsent isOnlyIfAbsent: Bool
    ) throws(CLIError) {
        var wanted = query
        // These are attributes to set: they do not select the item.
        wanted.attributes[.label] = nil
        wanted.protectionClass = nil
        let other = ItemTarget(
            scope: scope, key: key, form: .password(wanted), keychain: keychain)
        guard !isOnlyIfAbsent else {
            // Also fails for a damaged password, which an added one would set aside. One that a
            // plain `set` would change may have attributes that the command line leaves out.
            guard try !other.contains() else { throw alreadyThere }
            return try addPassword(value, query)
        }
        var changes = ItemChanges(
            protectionClass: scope.isAccessibilityChosen ? scope.accessibility : nil)
        changes.attributes[.label] = query.attributes[.label]
        let update = changes
        _ = try keychain.repeating(title) { () throws(CLIError) -> Int? in
            guard let existing = try other.detailsIfAny() else {
                do throws(KeychainFailure) {
                    try keychain.attempt(session.set(newPassword(query), value: value))
                    return 1
                } catch {
                    throw unnamed(error)
                }
            }
            return try keychain.unlessChanged(
                session.update(ItemQuery(existing.reference), update, value: value))
        }
    }

    private func addPassword(_ value: SecretValue, _ query: ItemQuery) throws(CLIError) {
        do {
            // One step of the keychain: looking first would miss what another program adds.
            _ = try keychain.attempt(session.add(newPassword(query), value: value))
        } catch {
            throw error.code == .duplicateItem ? alreadyThere : unnamed(error)
        }
    }

    private func unnamed(_ failure: KeychainFailure) -> CLIError {
        guard failure.code == .invalidRequest else { return CLIError(failure) }
        return .usage(
            "a new password needs KEY, its account, and '--service', '--server' or "
                + "'--keychain-swift'")
    }

    /// The password to add.
    ///
    /// - Throws: `invalidRequest` without an account, or without service and server.
    func newPassword(_ query: ItemQuery) throws(KeychainFailure) -> NewItem {
        let place: Attribute = query.itemClass == .genericPassword ? .service : .server
        guard query.attributes[.account] != nil, query.attributes[place] != nil else {
            throw KeychainFailure(
                .invalidRequest, during: "store a password",
                message: "a new password needs an account, and a service or server")
        }
        var attributes = query.attributes
        if let server = query.canonical?.attributes[.server] { attributes[.server] = server }
        return NewItem(
            query.itemClass, attributes: attributes, accessGroup: query.accessGroup,
            isSynchronizable: scope.isCloud, protectionClass: scope.accessibility)
    }

    /// Deletes the item. Returns how many were deleted: one.
    func delete() throws(CLIError) -> Int {
        guard case .password = form else {
            return try onLocated { (name) throws(KeychainFailure) in
                try session.delete(name.query)
            }
        }
        let reference = try details().reference
        return try requesting(keychain.attempt(session.delete(ItemQuery(reference))))
    }

    // MARK: - Errors

    /// The error of a command that may not replace the item.
    var alreadyThere: CLIError {
        CLIError(
            .alreadyThere, "\(title) exists in \(place) already, and stays",
            hint: "without '--if-absent' the new secret replaces it")
    }

    /// The error for a failed request about the item.
    func error(_ failure: KeychainFailure) -> CLIError {
        guard failure.code == .itemNotFound else { return CLIError(failure) }
        return CLIError(
            .notFound, "no \(title) in \(place)",
            hint: otherPlace ?? similarName ?? failure.commandHint.map(Escaping.printable)
                ?? listHint)
    }

    /// A name here that looks like the key, for a person who has mistyped it.
    private var similarName: String? {
        guard case .secret = form, keychain.unlocking.console.isErrorTerminal else { return nil }
        let queries = scope.chosenServices.map { service in
            var query = service.query
            query.limit = 1000
            return query
        }
        // An error, as for a locked class, counts as "none": nobody is asked for a hint.
        let names = ((try? session.find(queries).items.items) ?? []).map(\.name)
        return Suggestion.nearest(to: name, among: names).map { "did you mean \(quoted($0))?" }
    }

    /// Where to look for what the item is really called.
    private var listHint: String {
        let isPlain = name.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !"'\"\\*?-".utf8.contains($0)
        }
        let pattern = isPlain && !name.isEmpty ? name : "PATTERN"
        var list = "valet list"
        if let application = scope.requester.application {
            list += " --app " + Escaping.printable(application)
        }
        return "'\(list)' shows the names here, 'valet search \(pattern)' those of all "
            + "applications"
    }

    /// Where else the application has something of that name.
    private var otherPlace: String? {
        guard let key else { return nil }
        let queries = ItemClass.allCases.map { itemClass in
            ItemQuery(itemClass, attributes: [.account: .text(key)], synchronizable: .any)
        }
        // An error, as for a locked class, counts as "not found".
        let found = (try? keychain.items(queries)) ?? []
        // An item whose owner has the chosen name is the likeliest.
        let near = found.filter { $0.owner.name == scope.identifier }
        return (near + found).lazy.compactMap { self.hint(to: $0) }.first
    }

    private func hint(to item: StoredItem) -> String? {
        guard item.owner.kind != .enclaveValet else { return nil }
        guard item.owner.isValet else {
            let name = Escaping.printable(item.owner.name)
            let option =
                switch item.owner.kind {
                case .internet: "--server \(name)"
                default: name.isEmpty ? "--keychain-swift" : "--service \(name)"
                }
            return "another program stored it as a password: use '\(option)'"
        }
        guard item.accessGroup.rawValue == keychain.applicationIdentifier,
            ProtectionClass.offered.contains(item.protectionClass)
        else { return nil }
        let identifier = item.owner.name
        guard case .secret = form, identifier == scope.identifier else {
            return "it is in valet \(quoted(identifier)): use "
                + "'--id \(Escaping.printable(identifier))'"
        }
        let place = item.isSynchronizable ? ", shared" : ", on this device"
        return "it is stored otherwise (\(item.protectionClass.word)\(place)): leave out "
            + "'--accessibility', '--cloud' and '--local'"
    }
}
