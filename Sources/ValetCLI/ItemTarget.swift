// SPDX-License-Identifier: Apache-2.0

// The one item that a verb works on: the secret of a valet, or a password of other software.
// `ItemOptions.selection` makes the selection, which finds its item with the keychain.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSecretMemory

/// What a command line says about one item.
struct ItemSelection: Hashable, Sendable {
    let scope: Scope
    /// nil if the options for a password find it without an account.
    let key: ItemKey?
    /// nil for the secret of a valet.
    let password: PasswordOptions?
    /// Whether the accessibility was given. Only in a valet it is part of the name.
    let hasAccessibility: Bool

    /// Reads the key, and opens the keychain.
    func target(_ context: Context) throws(CLIError) -> ItemTarget {
        try target(in: try context.keychain(for: scope.requester))
    }

    /// Reads the key. `keychain` is open for the application of this selection.
    func target(in keychain: any ItemAccess) throws(CLIError) -> ItemTarget {
        let key = try key?.text()
        return ItemTarget(
            scope: scope, key: key, form: form(key),
            newClass: hasAccessibility ? scope.accessibility : nil, keychain: keychain)
    }

    private func form(_ key: String?) -> ItemTarget.Form {
        guard let password else { return .secret(scope.name(key ?? "")) }
        var query = query
        if let key { query.attributes[.account] = .text(password.keyPrefix + key) }
        return .password(query)
    }

    /// A search for everything that the options choose, whatever its key.
    var query: ItemQuery {
        guard let password else { return scope.service.query }
        var query = ItemQuery(
            password.itemClass, attributes: password.attributes,
            accessGroup: scope.requester.group,
            synchronizable: scope.isCloud ? .synchronizedOnly : .any)
        if hasAccessibility { query.protectionClass = scope.accessibility }
        return query
    }
}

/// One item of an open keychain.
struct ItemTarget {
    enum Form {
        case secret(PasswordName)
        case password(ItemQuery)
    }

    let scope: Scope
    /// The key as it was given; nil for a password that is found without its account.
    let key: String?
    let form: Form
    /// The accessibility that was asked for; nil if none was.
    let newClass: ProtectionClass?
    let keychain: any ItemAccess

    /// The key in JSON and messages.
    var name: String { key ?? "" }

    /// A search for the item.
    var query: ItemQuery {
        switch form {
        case .secret(let name): name.query
        case .password(let query): query
        }
    }

    /// Where the item is, in messages: "valet 'default' of application 'valet'".
    var place: String {
        switch form {
        case .secret: scope.place(of: keychain)
        case .password: "application \(quoted(keychain.applicationIdentifier))"
        }
    }

    /// The item in messages.
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
    /// - Throws: ``ExitCode/notFound``; ``ExitCode/usage`` if several passwords match.
    func value() throws(CLIError) -> SecretValue {
        guard let value = try valueIfAny() else {
            throw CLIError(.notFound, "\(title) in \(place) has no value")
        }
        return value
    }

    private func valueIfAny() throws(CLIError) -> SecretValue? {
        if case .password = form {
            let reference = try details().reference
            return try requesting(keychain.value(of: ItemQuery(reference)))
        }
        do throws(KeychainFailure) {
            return try keychain.value(of: scope.name(name))
        } catch {
            throw self.error(error)
        }
    }

    /// All that is stored beside the value.
    ///
    /// - Throws: Like ``value()``.
    func details() throws(CLIError) -> ItemDetails {
        guard let found = try detailsIfAny() else {
            throw error(KeychainFailure(.itemNotFound, during: "find the item"))
        }
        return found
    }

    /// Like ``details()``; nil if there is no such item.
    func detailsIfAny() throws(CLIError) -> ItemDetails? {
        let found: [ItemDetails]
        do {
            found = try keychain.details(of: query)
        } catch {
            throw self.error(error)
        }
        guard found.count > 1 else { return found.first }
        let shown = found.prefix(5).map { "\(quoted($0.name)) of \(quoted($0.owner.name))" }
        let rest = found.count > 5 ? ", and \(found.count - 5) more" : ""
        throw .usage(
            "\(found.count) passwords match: \(shown.joined(separator: ", "))\(rest)",
            hint: "name one with KEY, --service, --server, --port, --protocol, --label, --cloud or "
                + "--accessibility")
    }

    /// Whether there is such an item, damaged or not. Never reads the value.
    func exists() throws(CLIError) -> Bool {
        do throws(KeychainFailure) {
            return try contains()
        } catch {
            guard error.code == .damaged else { throw CLIError(error) }
            return true
        }
    }

    /// Whether there is such an item, and it is not damaged.
    func contains() throws(KeychainFailure) -> Bool {
        switch form {
        case .secret(let name): try keychain.contains(name)
        case .password(let query): try !keychain.details(of: query).isEmpty
        }
    }

    // MARK: - Writing

    /// Stores `value`, in place of an existing one.
    ///
    /// - Parameter isOnlyIfAbsent: Whether to fail with ``ExitCode/alreadyThere`` if the item
    ///   exists.
    func store(_ value: SecretValue, ifAbsent isOnlyIfAbsent: Bool = false) throws(CLIError) {
        do throws(KeychainFailure) {
            if isOnlyIfAbsent {
                // One step of the keychain: looking first would miss what another program adds.
                return try keychain.add(try newItem(), value: value)
            }
            guard case .password = form else {
                return try keychain.set(scope.service.item(name), value: value)
            }
        } catch {
            guard isOnlyIfAbsent, error.code == .duplicateItem else { throw CLIError(error) }
            throw alreadyThere
        }
        try storePassword(value)
    }

    /// Changes the password that matches, and adds one if there is none.
    private func storePassword(_ value: SecretValue) throws(CLIError) {
        let label = query.attributes[.label]
        var wanted = query
        // What is to be set does not choose the item.
        wanted.attributes[.label] = nil
        wanted.protectionClass = nil
        let other = ItemTarget(
            scope: scope, key: key, form: .password(wanted), newClass: newClass,
            keychain: keychain)
        guard let existing = try other.detailsIfAny() else {
            do throws(KeychainFailure) {
                return try keychain.set(try newItem(), value: value)
            } catch {
                guard error.code == .invalidRequest else { throw CLIError(error) }
                throw .usage(
                    "a new password needs KEY, its account, and '--service', '--server' or "
                        + "'--keychain-swift'")
            }
        }
        var changes = ItemChanges(protectionClass: newClass)
        changes.attributes[.label] = label
        _ = try requesting(
            keychain.update(ItemQuery(existing.reference), changes, value: value))
    }

    /// The item to add.
    ///
    /// - Throws: `invalidRequest` for a password without an account, or without service and server.
    func newItem() throws(KeychainFailure) -> NewItem {
        guard case .password(let query) = form else { return scope.service.item(name) }
        let place: Attribute = query.itemClass == .genericPassword ? .service : .server
        guard query.attributes[.account] != nil, query.attributes[place] != nil else {
            throw KeychainFailure(
                .invalidRequest, during: "store a password",
                message: "a new password needs an account, and a service or server")
        }
        return NewItem(
            query.itemClass, attributes: query.attributes, accessGroup: query.accessGroup,
            isSynchronizable: scope.isCloud, protectionClass: newClass ?? .whenUnlocked)
    }

    /// Deletes the item. Returns how many were deleted: one.
    func delete() throws(CLIError) -> Int {
        do throws(KeychainFailure) {
            guard case .password = form else { return try keychain.delete(query) }
        } catch {
            throw self.error(error)
        }
        let reference = try details().reference
        return try requesting(keychain.delete(ItemQuery(reference)))
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
            hint: otherPlace ?? failure.hint.map(Escaping.printable)
                ?? "'valet list' shows the names of the stored secrets")
    }

    /// Where else the application has something of that name.
    private var otherPlace: String? {
        guard let key else { return nil }
        let query = ItemQuery(
            .genericPassword, attributes: [.account: .text(key)], synchronizable: .any)
        // An error, as for a locked class, counts as "not found".
        guard let found = try? keychain.details(of: query) else { return nil }
        // The one that differs least is the likeliest.
        let near = found.filter {
            $0.owner.name == scope.identifier && $0.isCloud == scope.isCloud
        }
        return (near + found).lazy.compactMap { self.hint(to: $0) }.first
    }

    private func hint(to item: ItemDetails) -> String? {
        guard item.owner.kind != .enclaveValet else { return nil }
        guard item.owner.isValet else {
            let service = item.owner.name
            let option =
                service.isEmpty ? "--keychain-swift" : "--service \(Escaping.printable(service))"
            return "another program stored it as a password: use '\(option)'"
        }
        guard item.group == keychain.applicationIdentifier else { return nil }
        let identifier = item.owner.name
        guard case .secret = form, identifier == scope.identifier, item.isCloud == scope.isCloud
        else {
            let cloud = item.isCloud ? " --cloud" : ""
            let word = item.protectionClass.word
            let isUsual = item.protectionClass == .whenUnlocked
            let accessibility = isUsual ? "" : " --accessibility \(word)"
            return "it is in valet \(quoted(identifier)): use "
                + "'--id \(Escaping.printable(identifier))\(cloud)\(accessibility)'"
        }
        return "it is stored with another accessibility: use '--accessibility "
            + "\(item.protectionClass.word)'"
    }
}

/// An item of the keychain with its attributes, and without its value.
struct ItemDetails: Hashable, Sendable {
    let reference: PersistentReference
    let group: String
    let isCloud: Bool
    let protectionClass: ProtectionClass
    let attributes: [Attribute: AttributeValue]
    let byteCount: Int?

    /// The account, as `list` shows it.
    var name: String { ListedItem.text(attributes[.account]) }

    /// The valet, service or server.
    var owner: ItemOwner {
        switch reference.itemClass {
        case .genericPassword:
            ItemOwner(
                service: ListedItem.text(attributes[.service]), group: AccessGroup(group))
        case .internetPassword:
            ItemOwner(kind: .internet, name: ListedItem.text(attributes[.server]))
        }
    }
}

extension ItemDetails {
    /// The details of a stored item.
    init(_ item: StoredItem) {
        self.init(
            reference: item.reference, group: item.accessGroup.rawValue,
            isCloud: item.isSynchronizable, protectionClass: item.protectionClass,
            attributes: item.attributes, byteCount: item.valueByteCount)
    }
}
