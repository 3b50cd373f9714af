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
        guard case .password(let query) = form else {
            guard let name = try located() else { return nil }
            return try requesting(keychain.items(name.query)).first
        }
        let found = try matches(query)
        guard found.count > 1 else { return found.first }
        let shown = found.prefix(5).map { "\(quoted($0.name)) of \(quoted($0.owner.name))" }
        let rest = found.count > 5 ? ", and \(found.count - 5) more" : ""
        throw .usage(
            "\(found.count) passwords match: \(shown.joined(separator: ", "))\(rest)",
            hint: "name one with KEY, --service, --server, --port, --protocol, --label, --cloud, "
                + "--local or --accessibility")
    }

    /// The passwords that match; if none does, those for the same server in its canonical form.
    ///
    /// - Throws: ``ExitCode/damaged`` if a damaged one may match: it may be the wanted one.
    private func matches(_ query: ItemQuery) throws(CLIError) -> [StoredItem] {
        let found = try requesting(keychain.items(query))
        guard found.isEmpty, let other = query.canonical else { return found }
        return try requesting(keychain.items(other))
    }

    private func contains(_ query: ItemQuery) throws(CLIError) -> Bool {
        if try requesting(keychain.contains(query)) { return true }
        guard let other = query.canonical else { return false }
        return try requesting(keychain.contains(other))
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
            guard let name = try located() else { return false }
            return try requesting(keychain.attempt(session.contains(name)))
        case .password(let query): return try contains(query)
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
        guard let existing = try other.detailsIfAny() else {
            do {
                return try keychain.attempt(session.set(newPassword(query), value: value))
            } catch {
                throw unnamed(error)
            }
        }
        var changes = ItemChanges(
            protectionClass: scope.isAccessibilityChosen ? scope.accessibility : nil)
        changes.attributes[.label] = query.attributes[.label]
        _ = try requesting(
            keychain.attempt(
                session.update(ItemQuery(existing.reference), changes, value: value)))
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
        let names = scope.chosenServices.flatMap { service in
            var query = service.query
            query.limit = 1000
            // An error, as for a locked class, counts as "none": nobody is asked for a hint.
            return ((try? session.attributes(of: query).items) ?? []).map(\.name)
        }
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
        let found = ItemClass.allCases.flatMap { itemClass in
            let query = ItemQuery(
                itemClass, attributes: [.account: .text(key)], synchronizable: .any)
            // An error, as for a locked class, counts as "not found".
            return (try? keychain.items(query)) ?? []
        }
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
