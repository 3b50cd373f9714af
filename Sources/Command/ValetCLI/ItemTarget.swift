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

    /// Reads the key, and opens the keychain: for a verb that stores an item, which may be new.
    func target(_ context: Context) throws(CLIError) -> ItemTarget {
        try target(in: try context.keychain(for: scope.requester))
    }

    /// Reads the key. `keychain` is open for the application of this selection.
    func target(in keychain: CommandKeychain) throws(CLIError) -> ItemTarget {
        let key = try key?.text()
        return ItemTarget(scope: scope, key: key, form: form(key), keychain: keychain)
    }

    /// Like ``target(_:)``, for a verb about an item that exists: KEY may also be what a login is
    /// known by, ``ItemTarget/orLogin(_:)``.
    func existing(
        _ context: Context, _ kind: LoginKind = .present
    ) throws(CLIError) -> ItemTarget {
        try target(context).orLogin(kind)
    }

    private func form(_ key: String?) -> ItemTarget.Form {
        guard let password else { return .secret }
        return .password(PasswordSearch(password, account: key, in: scope))
    }

    /// Searches for everything that the options choose, whatever its key.
    var queries: [ItemQuery] {
        guard case .password(let search) = form(nil) else {
            return scope.chosenServices.map(\.query)
        }
        return search.queries
    }
}

/// How the passwords are found that a command line chooses, or one that was found before.
struct PasswordSearch: Hashable, Sendable {
    /// The classes that are searched.
    var classes: [ItemClass]
    /// What the passwords must have, as it was given.
    var attributes: ItemAttributes
    /// What a new one gets, and what counts if nothing has ``attributes``: the same server in its
    /// canonical form.
    var canonical: ItemAttributes?
    var itemID: [UInt8]?
    var group: AccessGroup?
    var synchronizable: ItemQuery.Synchronizable
    var protectionClass: ProtectionClass?

    init(_ password: PasswordOptions, account: String?, in scope: Scope) {
        classes = password.itemClasses
        (attributes, canonical) = (password.attributes, password.canonical)
        if let account {
            let name = AttributeValue.text(password.keyPrefix + account)
            attributes[.account] = name
            canonical?[.account] = name
        }
        itemID = password.itemID
        group = scope.requester.group
        synchronizable = scope.synchronizable
        protectionClass = scope.isAccessibilityChosen ? scope.accessibility : nil
    }

    /// The search for one item by its whole name, wherever it is read.
    init(_ item: NewItem) {
        classes = [item.itemClass]
        attributes = item.attributes
        group = item.accessGroup
        synchronizable = item.isSynchronizable ? .synchronizedOnly : .localOnly
    }

    /// The searches for ``attributes``, and those for ``canonical``, which count only if the first
    /// ones find nothing.
    var groups: [[ItemQuery]] {
        var groups = [queries(attributes)]
        guard var canonical else { return groups }
        var others = queries(canonical)
        if attributes[.protocol] == nil, canonical[.protocol] != nil {
            // An item may lack the protocol of a URL.
            canonical[.protocol] = Attribute.protocol.defaultValue
            others += queries(canonical)
        }
        groups.append(others)
        return groups
    }

    var queries: [ItemQuery] { groups.flatMap(\.self) }

    private func queries(_ attributes: ItemAttributes) -> [ItemQuery] {
        classes.map { itemClass in
            var query = ItemQuery(
                itemClass, attributes: attributes, accessGroup: group,
                synchronizable: synchronizable)
            query.protectionClass = protectionClass
            query.reference = itemID.map { PersistentReference(itemClass: itemClass, itemID: $0) }
            return query
        }
    }

    /// Whether it says for what a password is, or which item it is.
    var namesPlace: Bool {
        itemID != nil || attributes[.service] != nil || attributes[.server] != nil
    }

    /// What the first of ``groups`` finds that finds anything: an exact name comes before its
    /// canonical form.
    ///
    /// - Parameter each: The results of ``queries``.
    func found(in each: [FoundItems<StoredItem>]) -> FoundItems<StoredItem> {
        var rest = each[...]
        for group in groups {
            let found = FoundItems(joining: Array(rest.prefix(group.count)))
            if !found.isEmpty { return found }
            rest = rest.dropFirst(group.count)
        }
        return FoundItems()
    }

    /// Whether `item`, which this search has found, has a port, a path or another protocol than
    /// https, and nothing in this search says so.
    func leavesOpen(_ item: ItemAttributes) -> Bool {
        func has(_ attribute: Attribute, otherThan usual: [AttributeValue?]) -> Bool {
            guard itemID == nil, let value = item[attribute],
                attributes[attribute] == nil, canonical?[attribute] == nil
            else { return false }
            return !usual.compactMap(\.self).contains { attribute.matches($0, value) }
        }
        return has(.port, otherThan: [Attribute.port.defaultValue])
            || has(.path, otherThan: [Attribute.path.defaultValue])
            || has(.protocol, otherThan: [Attribute.protocol.defaultValue, .text("htps")])
    }
}

extension Scope {
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
        case password(PasswordSearch)
    }

    let scope: Scope
    /// The key on the command line; nil for a password that is found without its account.
    let key: String?
    let form: Form
    let keychain: CommandKeychain
    /// The services that have a secret of that name, if they were looked up just now.
    var known: [PasswordService]?
    /// What KEY is to the login that it leads to, as "label"; nil if KEY is a name.
    var alias: String?

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
        guard case .password(let search) = form else { return quoted(name) }
        var parts = Self.named.compactMap { attribute, word -> String? in
            // The whole name of an item also says what it does not have.
            guard let value = search.attributes[attribute],
                attribute == .service || value != attribute.defaultValue
            else { return nil }
            let text = ListedItem.text(value)
            return "\(word) " + quoted(attribute == .protocol ? NetworkProtocol.name(text) : text)
        }
        if let id = search.itemID { parts.append("id " + quoted(Hexadecimal.text(id))) }
        return "password with " + parts.joined(separator: ", ")
    }

    /// The title, and what KEY is to the item if it is not its name.
    var fullTitle: String { alias.map { "\(title) (\($0))" } ?? title }

    private static let named: [(Attribute, String)] = [
        (.service, "service"), (.server, "server"), (.protocol, "protocol"), (.port, "port"),
        (.path, "path"), (.account, "account"), (.label, "label"),
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
        case .password(let search): search.queries
        }
    }

    /// The item that one of ``queries`` finds; nil if none does.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several; ``ExitCode/damaged`` if a damaged one may
    ///   match: it may be the wanted one.
    func one(of each: [FoundItems<StoredItem>]) throws(CLIError) -> StoredItem? {
        guard case .password(let search) = form else {
            guard let found = try oneService(in: each)?.found else { return nil }
            // Several groups may have it. The command line means that of the first one.
            return try requesting(found.items).first
        }
        let items = try requesting(search.found(in: each).items)
        guard items.count > 1 else { return items.first }
        throw several(items)
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
        case .password(let search):
            let found = try requesting(keychain.find(search.queries))
            return try requesting(search.found(in: found).hasItem())
        }
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
        let others = namesakes()
        let error = CLIError(
            .notFound, "no \(title) in \(place)",
            hint: others.count == 1
                ? hint(to: others[0])
                : similarName ?? failure.commandHint.map(Escaping.printable) ?? listHint)
        return others.count < 2 ? error : choosing(among: others, error)
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
        return "'\(list)' shows all names of the application, 'valet search \(pattern)' those of "
            + "all applications"
    }

    /// What the application has of that name elsewhere.
    private func namesakes() -> [StoredItem] {
        guard let key else { return [] }
        let queries = ItemClass.allCases.map { itemClass in
            ItemQuery(itemClass, attributes: [.account: .text(key)], synchronizable: .any)
        }
        // An error, as for a locked class, counts as "not found".
        let found = ((try? keychain.items(queries)) ?? []).filter(isReachable)
        // An item whose owner has the chosen name is the likeliest.
        let near = found.filter { $0.owner.name == scope.identifier }
        return near + found.filter { $0.owner.name != scope.identifier }
    }

    /// Whether options of the command choose an item.
    private func isReachable(_ item: StoredItem) -> Bool {
        let isOwn = item.accessGroup.rawValue == keychain.applicationIdentifier
        return switch item.owner.kind {
        case .valet, .cloudValet: isOwn && ProtectionClass.offered.contains(item.protectionClass)
        case .enclaveValet, .generic, .internet: true
        }
    }

    private func hint(to item: StoredItem) -> String {
        guard item.owner.isOfSecrets else {
            return "another program stored it as a password: '\(words(for: item))' chooses it"
        }
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
