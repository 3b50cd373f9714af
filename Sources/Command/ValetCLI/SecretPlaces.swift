// SPDX-License-Identifier: Apache-2.0

// Where the secret of a name is. The library has a valet for each accessibility, shared or not. The
// command treats the valets of one application and identifier as one valet, in which a name stands
// for one secret. Programs can still store two secrets of one name: then the command line has to
// choose.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// What became of an item that was stored.
struct StoredSecret {
    /// The item as it is now.
    let item: NewItem
    /// The item as it was before; nil if it is new.
    let old: NewItem?

    /// The item as it was before; nil if it did not move, or is new.
    var origin: NewItem? { old == item ? nil : old }
}

/// What a command line sets beside the value of a secret.
struct SecretDetails {
    private(set) var attributes: ItemAttributes = [:]
    private(set) var fields: [FieldChange] = []

    /// Nothing.
    init() {}

    /// - Throws: ``ExitCode/usage`` for an empty text.
    init(note: String?, username: String?, url: String?) throws(CLIError) {
        if let note { attributes[.comment] = .text(note) }
        for (name, text) in [(FieldName.username, username), (.url, url)] {
            guard let text else { continue }
            guard !text.isEmpty else {
                throw .usage(
                    "the field \(quoted(name.text)) is empty",
                    hint: "'valet remove KEY --field \(name.text)' removes a field")
            }
            let value = SecretValue(copying: Array(text.utf8).span)
            guard let field = EntryField(name.text, isSecret: false, value) else { continue }
            fields.append(.set(field))
        }
    }
}

extension ItemTarget {
    // MARK: - Finding

    /// The searches for the secret, one for each service that the command line allows.
    var secretQueries: [ItemQuery] {
        scope.chosenServices.map { PasswordName(name, in: $0).query }
    }

    /// The one service of those that the command line allows that has something in `each`, the
    /// results of ``secretQueries``; nil if none has.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several.
    func oneService(
        in each: [FoundItems<StoredItem>]
    ) throws(CLIError) -> (service: PasswordService, found: FoundItems<StoredItem>)? {
        let found = zip(scope.chosenServices, each).filter { !$0.1.isEmpty }
        guard let first = found.first else { return nil }
        guard found.count == 1 else { throw ambiguous(found.map(\.0)) }
        return first
    }

    /// The full name of the secret; nil if there is none.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several, and the command line does not choose one.
    private func located(_ known: [PasswordService]? = nil) throws(CLIError) -> PasswordName? {
        var services = known ?? []
        if known == nil { services = try self.services() }
        let chosen = services.filter(scope.allows)
        if let service = chosen.first {
            guard chosen.count == 1 else { throw ambiguous(chosen) }
            return PasswordName(name, in: service)
        }
        // This takes longer, but finds and reports items that `services()` misses.
        let found = try requesting(keychain.attempt(session.contents(of: secretQueries)))
        return try oneService(in: found).map { PasswordName(name, in: $0.service) }
    }

    /// The services of the scope that have an item of that name, readable or not.
    func services() throws(CLIError) -> [PasswordService] {
        try requesting(
            keychain.attempt(session.services(having: name, among: scope.services)))
    }

    /// Whether devices share the item; false if there is none.
    func isShared() throws(CLIError) -> Bool {
        switch form {
        case .secret: try located()?.service.isSynchronizable ?? false
        case .password: try detailsIfAny()?.isSynchronizable ?? false
        }
    }

    /// Runs `body` with the full name of the secret. Looks again if another program moves it.
    ///
    /// - Throws: ``ExitCode/notFound``; as ``located()``.
    func onLocated<R>(
        _ body: (PasswordName) throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        var known = known
        return try keychain.repeating(title) { () throws(CLIError) in
            guard let name = try located(known) else { try absent() }
            known = nil
            if let result = try keychain.unlessChanged(body(name)) { return result }
            // An item that is bound to other fingers has a place, and is absent nevertheless.
            guard try contains() else { try absent() }
            return nil
        }
    }

    /// Throws the best reason why there is no such secret.
    private func absent() throws(CLIError) -> Never {
        do throws(KeychainFailure) {
            _ = try keychain.attempt(session.value(of: PasswordName(name, in: scope.service)))
            throw KeychainFailure(.itemNotFound, during: "find the item")
        } catch {
            throw self.error(error)
        }
    }

    // MARK: - Storing

    /// Stores `value`: in place of the secret of that name, else as a new one. A secret moves if
    /// the command line asks for another accessibility, or to share it or not.
    ///
    /// - Parameter isOnlyIfAbsent: Whether to fail with ``ExitCode/alreadyThere`` if there is one.
    func storeSecret(
        _ value: SecretValue, _ details: SecretDetails = SecretDetails(),
        ifAbsent isOnlyIfAbsent: Bool
    ) throws(CLIError) -> StoredSecret {
        let scope = scope
        var placement = Placement(name, value, among: scope.services) { found in
            scope.choice(among: found, ifAbsent: isOnlyIfAbsent)
        }
        (placement.attributes, placement.fields) = (details.attributes, details.fields)
        let wanted = placement
        let (found, choice) = try requesting(keychain.attempt(session.place(wanted)))
        switch choice {
        case .set(let service):
            let item = service.item(name)
            return StoredSecret(item: item, old: found.isEmpty ? nil : item)
        case .move(let old, let new):
            return StoredSecret(item: new.item(name), old: old.item(name))
        case .nothing where isOnlyIfAbsent: throw alreadyThere
        case .nothing: throw ambiguous(found)
        }
    }

    /// What ``storeSecret(_:ifAbsent:)`` would do now: the service that has the secret, and the one
    /// that it goes to; nil for a new secret.
    ///
    /// - Throws: ``ExitCode/usage`` if there are several, and the command line does not choose one.
    func foreseen() throws(CLIError) -> (old: PasswordService, new: PasswordService)? {
        let found = try services()
        switch scope.choice(among: found, ifAbsent: false) {
        case .nothing: throw ambiguous(found)
        case .move(let old, let new): return (old, new)
        case .set(let service): return found.isEmpty ? nil : (service, service)
        }
    }
}

extension Scope {
    /// The place for a secret whose name already exists in `found`, damaged or not.
    fileprivate func choice(
        among found: [PasswordService], ifAbsent isOnlyIfAbsent: Bool
    ) -> Placement.Choice {
        guard let first = found.first else { return .set(service) }
        guard !isOnlyIfAbsent else { return .nothing }
        guard found.count == 1 else {
            let chosen = found.filter(allows)
            guard let service = chosen.first, chosen.count == 1 else { return .nothing }
            return .set(service)
        }
        let new = destination(from: first)
        return new == first ? .set(first) : .move(from: first, to: new)
    }
}

/// What may exist only once. To the command, a name in a valet is one secret, whatever its
/// accessibility, synchronizable or not.
struct SecretPlace: Hashable {
    private let owner: ItemOwner
    private let attributes: ItemAttributes
    private let isSynchronizable: Bool
    private let group: AccessGroup?

    /// The place among the items of one group.
    init(_ item: NewItem, in group: AccessGroup) {
        self.init(item, in: group, amongAll: false)
    }

    /// The place among the items of all groups.
    init(_ item: StoredItem) {
        self.init(item.asNew, in: item.accessGroup, amongAll: true)
    }

    private init(_ item: NewItem, in group: AccessGroup, amongAll isAmongAll: Bool) {
        let owner = ItemOwner(item.itemClass, item.attributes, in: group)
        let isPlain = owner.isOfSecrets
        let names = isPlain ? [.account] : item.itemClass.primaryKeyAttributes
        attributes = item.attributes.filter { names.contains($0.key) }
        self.owner = isPlain ? ItemOwner(kind: .valet, name: owner.name) : owner
        isSynchronizable = item.isSynchronizable && !isPlain
        self.group = isAmongAll ? group : nil
    }
}

extension NewItem {
    /// How it is kept: "when-unlocked, on this device".
    var keeping: String { protectionClass.place(isCloud: isSynchronizable) }

    /// A search for the item of that name in that group.
    var nameQuery: ItemQuery {
        ItemQuery(
            itemClass, attributes: attributes, accessGroup: accessGroup,
            synchronizable: isSynchronizable ? .synchronizedOnly : .localOnly)
    }
}

extension StoredItem {
    /// The item as it would be added, without what the store sets by itself.
    var asNew: NewItem {
        NewItem(
            itemClass,
            attributes: attributes.filter { itemClass.primaryKeyAttributes.contains($0.key) },
            accessGroup: accessGroup, isSynchronizable: isSynchronizable,
            protectionClass: protectionClass)
    }
}
