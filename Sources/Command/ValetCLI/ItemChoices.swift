// SPDX-License-Identifier: Apache-2.0

// Where KEY is no name: the login that it may mean. Where several items match: the KEY and options
// that choose each of them.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// The logins that KEY may lead to.
enum LoginKind {
    case present
    case presentOrRemoved
    /// Present and removed ones that have former values. Without any, the present ones.
    case withFormerValues
}

extension ItemTarget {
    /// This target if KEY is the name of a secret, else the one item of an enclave valet with that
    /// name, or the one login that has KEY as its label, host or service. This target, too, if
    /// there is none. A given identifier excludes logins.
    ///
    /// - Parameter kind: Which logins count. The name of a removed secret counts unless they are to
    ///   be present.
    /// - Throws: ``ExitCode/usage`` for several logins; ``ExitCode/damaged`` if a damaged item may
    ///   be one of them.
    func orLogin(_ kind: LoginKind = .present) throws(CLIError) -> ItemTarget {
        if case .password(let search) = form, search.itemID != nil {
            // Its name also finds its former values.
            var item = try detailsIfAny()
            if item == nil, kind != .present { item = try removed(search.queries).first }
            guard let item else { return self }
            return login(PasswordSearch(item.asNew), named: key)
        }
        guard case .secret = form, let key else { return self }
        let services = try services()
        guard services.isEmpty else {
            var target = self
            target.known = services
            return target
        }
        let secrets = scope.services.map { PasswordName(key, in: $0).query }
        let logins =
            scope.enclaveServices.map { PasswordName(key, in: $0).query }
            + (scope.isIdentifierChosen ? [] : loginQueries(key))
        let found = try requesting(
            keychain.attempt(
                session.find(secrets + logins, former: kind == .present ? [] : secrets)))
        guard found.each.prefix(secrets.count).allSatisfy(\.isEmpty), found.former.isEmpty else {
            return self
        }
        let present = FoundItems(joining: Array(found.each.dropFirst(secrets.count)))
        var items = distinct(try requesting(present.items))
        if kind != .present { items = try withRemoved(items, logins, kind) }
        if items.isEmpty, !scope.isIdentifierChosen { items = try strays(key) }
        guard let item = items.first else { return self }
        guard items.count == 1 else { throw several(items, orRemoved: kind != .present) }
        var login = login(PasswordSearch(item.asNew), named: item.name)
        guard !item.owner.isValet else { return login }
        login.alias = "'\(Escaping.printable(key))' is its \(Self.aspect(of: item, called: key))"
        return login
    }

    private func login(_ search: PasswordSearch, named name: String?) -> ItemTarget {
        ItemTarget(scope: scope, key: name, form: .password(search), keychain: keychain)
    }

    /// The logins that count, of `present` ones and of those that are removed.
    private func withRemoved(
        _ present: [StoredItem], _ logins: [ItemQuery], _ kind: LoginKind
    ) throws(CLIError) -> [StoredItem] {
        let removed = try distinct(removed(logins))
        guard kind == .withFormerValues else { return present + removed }
        let former = try present.having { (item) throws(CLIError) in
            try requesting(
                !keychain.attempt(session.formerItems([item.asNew.nameQuery])).isEmpty)
        }
        return former.isEmpty && removed.isEmpty ? present : former + removed
    }

    /// The removed logins that former values are of, the last removed first.
    private func removed(_ logins: [ItemQuery]) throws(CLIError) -> [StoredItem] {
        let former = try requesting(keychain.attempt(session.formerItems(logins)))
        let items = try former.filter { $0.item != nil || !$0.hasItem }
            .map { (former) throws(CLIError) in
                guard let item = former.item else {
                    throw CLIError(
                        .damaged, "a former value that may be meant is damaged",
                        hint: "'valet doctor --purge-damaged' gives up what is damaged")
                }
                return item
            }
        return try items.having { (item) throws(CLIError) in
            try requesting(keychain.items([item.asNew.nameQuery])).isEmpty
        }
    }

    /// The searches for logins that have `key` as their label, service or host.
    private func loginQueries(_ key: String) -> [ItemQuery] {
        let server: ItemAttributes = [.server: .text(key)]
        // An item may lack the protocol of a URL.
        let canonical = server.withCanonicalServer?.filter { $0.key != .protocol }
        let internet = [[.label: .text(key)], server, canonical].compactMap(\.self)
        let generic: [ItemAttributes] = [[.label: .text(key)], [.service: .text(key)]]
        let searches =
            internet.map { (ItemClass.internetPassword, $0) }
            + generic.map { (ItemClass.genericPassword, $0) }
        return searches.map { itemClass, attributes in
            var query = ItemQuery(
                itemClass, attributes: attributes, accessGroup: scope.requester.group,
                synchronizable: scope.synchronizable)
            if scope.isAccessibilityChosen { query.protectionClass = scope.accessibility }
            return query
        }
    }

    /// The logins of the host and port in KEY that were stored in another form: with capitals, or
    /// with the port that the protocol has anyway.
    ///
    /// - Throws: ``ExitCode/damaged`` if one is found, and a damaged one may be another one.
    private func strays(_ key: String) throws(CLIError) -> [StoredItem] {
        // A name of another kind needs no search through all logins.
        guard key.utf8.contains(where: { ".:".utf8.contains($0) }), LoginAddress(key) != nil else {
            return []
        }
        let name: ItemAttributes = [.server: .text(key)]
        let wanted = name.withCanonicalServer ?? name
        var query = ItemQuery(
            .internetPassword, accessGroup: scope.requester.group,
            synchronizable: scope.synchronizable)
        if scope.isAccessibilityChosen { query.protectionClass = scope.accessibility }
        var damage: KeychainFailure?
        let found = FoundItems(joining: try requesting(keychain.find([query])))
            .readable(noting: &damage).filter { $0.attributes.isLogin(of: wanted) }
        if !found.isEmpty, let damage { throw CLIError(damage) }
        return distinct(found)
    }

    /// Says which passwords have the name of a new secret as their label, host or service, and what
    /// changes them, as far as they can be read.
    func noteLogins(_ console: any Console) {
        guard case .secret = form, !scope.isIdentifierChosen, let key,
            let found = try? session.find(loginQueries(key)).items
        else { return }
        var damage: KeychainFailure?
        let items = distinct(found.readable(noting: &damage))
        guard let first = items.first else { return }
        let others =
            items.count == 1
            ? "\(title) is the \(Self.aspect(of: first, called: key)) of a password, too"
            : "\(items.count) passwords have the label, host or service \(title), too"
        console.note("valet: stored a new secret: \(others): \(CommandKeychain.titles(items))")
        for item in items.prefix(3) {
            console.hint("'valet set \(words(for: item))' changes that password")
        }
    }

    /// The logins among items that several searches have found, each once.
    private func distinct(_ items: [StoredItem]) -> [StoredItem] {
        var known: Set<SecretPlace> = []
        return items.filter { !$0.owner.isOfSecrets && known.insert(SecretPlace($0)).inserted }
    }

    private static func aspect(of item: StoredItem, called key: String) -> String {
        if item.attributes[.label].map({ Attribute.label.matches(.text(key), $0) }) == true {
            return "label"
        }
        return item.itemClass == .internetPassword ? "host" : "service"
    }

    // MARK: - Several items

    /// How many items an error shows.
    private static let shownCount = 20

    /// The error for several passwords.
    ///
    /// - Parameter includesRemoved: Whether they may be removed ones.
    func several(_ items: [StoredItem], orRemoved includesRemoved: Bool = false) -> CLIError {
        let match = includesRemoved ? "match, or did" : "match"
        return choosing(
            among: items, orRemoved: includesRemoved, .usage("\(items.count) passwords \(match)"))
    }

    /// An error with a line for each item that may be meant.
    ///
    /// - Parameter includesRemoved: Whether the verb also finds removed items.
    func choosing(
        among items: [StoredItem], orRemoved includesRemoved: Bool = false, _ error: CLIError
    ) -> CLIError {
        let lines = items.prefix(Self.shownCount).map { words(for: $0, orRemoved: includesRemoved) }
        return choosing(error, lines, of: items.count)
    }

    /// The KEY and options that choose an item, and no other one.
    ///
    /// - Parameter includesRemoved: Whether the verb also finds removed items.
    func words(for item: StoredItem, orRemoved includesRemoved: Bool = false) -> String {
        ItemWords(item, rivals: rivals(of: item, orRemoved: includesRemoved), self).line
    }

    /// The error for several secrets of one name.
    func ambiguous(_ services: [PasswordService]) -> CLIError {
        let lines = services.map { service in
            var words = ItemWords(self)
            words.add(service, among: services)
            return words.line
        }
        let places = services.map(\.place).joined(separator: "; ")
        return choosing(
            .usage("\(services.count) secrets are called \(title) in \(place): \(places)"), lines,
            of: lines.count)
    }

    private func choosing(_ error: CLIError, _ lines: [String], of count: Int) -> CLIError {
        let rest = count - lines.count
        let more = rest > 0 ? "; 'valet list' shows \(rest) more" : ""
        var error = CLIError(
            error.code, error.message, hint: "each line has the KEY and options of one" + more)
        error.choices = lines
        return error
    }

    /// The other items that a command line finds which names no more than the account of `item`
    /// and its valet, service or server.
    private func rivals(of item: StoredItem, orRemoved includesRemoved: Bool) -> [StoredItem] {
        let queries: [ItemQuery]
        if item.owner.isOfSecrets {
            var valet = scope
            valet.identifier = item.owner.name.isEmpty ? nil : item.owner.name
            queries = valet.services.map { PasswordName(item.name, in: $0).query }
        } else {
            let owner: Attribute = item.itemClass == .internetPassword ? .server : .service
            let name = item.attributes.filter { [.account, owner].contains($0.key) }
            let canonical = name.withCanonicalServer?.filter { $0.key != .protocol }
            queries = [name, canonical].compactMap(\.self).map { attributes in
                ItemQuery(
                    item.itemClass, attributes: attributes, accessGroup: scope.requester.group,
                    synchronizable: .any)
            }
        }
        // An error counts as "none": the items that are known are shown all the same.
        let found =
            (try? keychain.attempt(
                session.find(queries, former: includesRemoved ? queries : []))) ?? Findings()
        var damage: KeychainFailure?
        let others = found.items.readable(noting: &damage).filter {
            $0.reference != item.reference
        }
        guard !item.owner.isOfSecrets else { return others }
        // Former values of one name are one item, even if it was removed and stored again.
        let place = SecretPlace(item)
        return (others + found.former.compactMap(\.item)).filter { SecretPlace($0) != place }
    }
}

/// The KEY and options of a command line that choose one item.
struct ItemWords {
    private var options: [String] = []
    private var key: String?

    /// The words that choose the application and group of a target, and its KEY.
    init(_ target: ItemTarget) {
        self.init(target.scope.requester)
        if target.scope.isIdentifierChosen, let identifier = target.scope.identifier {
            _ = add(ItemOptions.identifier, identifier)
        }
        key = target.key.flatMap { Self.isSafe($0) ? $0 : nil }
    }

    private init(_ requester: Requester) {
        if let application = requester.application {
            _ = add(ItemOptions.application, application)
        }
        if let group = requester.group { _ = add(ItemOptions.group, group.rawValue) }
    }

    /// The words that choose `item`.
    ///
    /// - Parameter rivals: The other items with its account and its valet, service or server.
    init(_ item: StoredItem, rivals: [StoredItem], _ target: ItemTarget) {
        self.init(target.scope.requester)
        let isNamed = addName(of: item, hasGroup: target.scope.requester.group != nil)
        var rivals = rivals
        if !item.owner.isOfSecrets {
            for (option, attribute) in Self.filters {
                guard let value = item.attributes[attribute], value != attribute.defaultValue,
                    let text = Self.text(value, of: attribute)
                else { continue }
                let rest = rivals.filter {
                    guard let other = $0.attributes[attribute] ?? attribute.defaultValue else {
                        return false
                    }
                    return attribute.matches(value, other)
                }
                if rest.count < rivals.count, add(option, text) { rivals = rest }
            }
        }
        let alike = rivals.filter { $0.isSynchronizable == item.isSynchronizable }
        if alike.count < rivals.count {
            addPlace(isCloud: item.isSynchronizable)
            rivals = alike
        }
        guard item.owner.isOfSecrets else {
            if !isNamed || !rivals.isEmpty {
                _ = add(PasswordOptions.item, Hexadecimal.text(item.reference.itemID))
            }
            return
        }
        if rivals.contains(where: { $0.protectionClass != item.protectionClass }),
            ProtectionClass.offered.contains(item.protectionClass)
        {
            _ = add(ItemOptions.accessibility, item.protectionClass.word)
        }
    }

    private static let filters: [(OptionDeclaration, Attribute)] = [
        (PasswordOptions.port, .port), (PasswordOptions.networkProtocol, .protocol),
        (PasswordOptions.label, .label),
    ]

    /// Adds the options that choose one service of several.
    mutating func add(_ service: PasswordService, among services: [PasswordService]) {
        if services.contains(where: { $0.protectionClass != service.protectionClass }) {
            _ = add(ItemOptions.accessibility, service.protectionClass.word)
        }
        if services.contains(where: { $0.isSynchronizable != service.isSynchronizable }) {
            addPlace(isCloud: service.isSynchronizable)
        }
    }

    private mutating func addPlace(isCloud: Bool) {
        options.append((isCloud ? ItemOptions.cloud : ItemOptions.local).spelling)
    }

    /// Adds the account and the owner. Returns whether both could be written.
    private mutating func addName(of item: StoredItem, hasGroup: Bool) -> Bool {
        if let account = item.attributes[.account]?.text, Self.isSafe(account) { key = account }
        let owner = item.owner
        guard !owner.isOfSecrets else {
            let usual = hasGroup ? "" : Scope.ofCommand.identifier
            return owner.name == usual || add(ItemOptions.identifier, owner.name)
        }
        if item.itemClass == .genericPassword, owner.name.isEmpty {
            options.append(PasswordOptions.keychainSwift.spelling)
            return key != nil
        }
        let isInternet = item.itemClass == .internetPassword
        let text = item.attributes[isInternet ? .server : .service]?.text ?? ""
        return add(isInternet ? PasswordOptions.server : PasswordOptions.service, text)
            && key != nil
    }

    private static func text(_ value: AttributeValue, of attribute: Attribute) -> String? {
        guard attribute == .protocol else {
            if case .bytes = value { return nil }
            return ListedItem.text(value)
        }
        guard let code = value.text else { return nil }
        let name = NetworkProtocol.name(code)
        return (try? NetworkProtocol.code(name)) == code ? name : nil
    }

    /// Whether a terminal shows a word as it is, and a shell reads it so.
    private static func isSafe(_ word: String) -> Bool {
        !word.isEmpty && Escaping.harmless(word) == word
            && !word.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }

    /// Adds an option with its value. Returns false, with nothing done, if the value cannot be
    /// shown.
    private mutating func add(_ option: OptionDeclaration, _ value: String) -> Bool {
        guard Self.isSafe(value) else { return false }
        let isAttached = value.hasPrefix("-")
        options.append(option.spelling + (isAttached ? "=" : " ") + ShellLine.quoted(value))
        return true
    }

    /// The words, as a shell reads them. A KEY with a hyphen at its start comes last.
    var line: String {
        guard let key else { return options.joined(separator: " ") }
        let word = ShellLine.quoted(key)
        return key.hasPrefix("-")
            ? (options + ["--", word]).joined(separator: " ")
            : ([word] + options).joined(separator: " ")
    }
}

extension [StoredItem] {
    /// The items for which `isIncluded` is true.
    fileprivate func having(
        _ isIncluded: (StoredItem) throws(CLIError) -> Bool
    ) throws(CLIError) -> [StoredItem] {
        var items: [StoredItem] = []
        for item in self where try isIncluded(item) { items.append(item) }
        return items
    }
}

extension ItemAttributes {
    /// Whether an internet password is for a server in its canonical form, and for its port, if it
    /// has one.
    fileprivate func isLogin(of place: ItemAttributes) -> Bool {
        let own = withCanonicalServer ?? self
        guard let server = place[.server]?.asText, own[.server]?.asText == server else {
            return false
        }
        guard let port = place[.port]?.asNumber else { return true }
        let scheme = own[.protocol]?.asText.map(NetworkProtocol.name) ?? "https"
        let ports = [port, own[.port]?.asNumber ?? 0].map { number in
            UInt16(exactly: number).flatMap {
                LoginPlace(scheme: scheme, server: server, port: $0, path: nil)?.port
            }
        }
        return ports[0] != nil && ports[0] == ports[1]
    }
}
