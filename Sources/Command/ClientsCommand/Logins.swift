// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The items that one call of a helper reads and writes: those of the application and group that
/// its options choose.
struct Logins {
    private let session: KeychainSession
    private let context: Context
    private let group: AccessGroup?
    /// When an item that is added can be read.
    private let accessibility: ProtectionClass
    private let isCloud: Bool
    /// Whether a person is asked to unlock a locked keychain.
    private let asks: Bool
    private let cache = Cache()

    /// Searches that one call makes once. Helpers never store strays.
    private final class Cache {
        var strays: FoundItems<StoredItem>?
    }

    /// - Parameter asks: False for helpers: they fail at once while the keychain is locked, because
    ///   the program that calls them waits, and has the terminal for itself.
    init(_ values: ParsedValues, _ context: Context, asks: Bool = true) throws(CLIError) {
        let requester = try ItemOptions.requester(values)
        var session = try requesting(context.session(of: requester))
        // A person's import may be a mistake; programs that store their own logins make none.
        session.caller.keepsHistory = asks
        self.session = session
        self.context = context
        self.asks = asks
        group = requester.group
        accessibility =
            values[ClientOptions.accessibility].flatMap(ProtectionClass.init(word:))
            ?? .whenUnlocked
        isCloud = values.has(ClientOptions.cloud)
        guard !isCloud || !accessibility.isThisDeviceOnly else {
            throw .usage("'--cloud' and this accessibility exclude each other")
        }
    }

    /// The items of a class with these attributes, local or shared, without their values.
    func found(
        _ itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws(CLIError) -> FoundItems<StoredItem> {
        try found(
            ItemQuery(itemClass, attributes: attributes, accessGroup: group, synchronizable: .any))
    }

    /// What the queries find, all of one moment, without values.
    func found(_ queries: [ItemQuery]) throws(CLIError) -> FoundItems<StoredItem> {
        try call(session.find(queries).items)
    }

    private func found(_ query: ItemQuery) throws(CLIError) -> FoundItems<StoredItem> {
        func result() throws(KeychainFailure) -> FoundItems<StoredItem> {
            do {
                return try session.attributes(of: query)
            } catch {
                switch error.code {
                case .itemNotFound: return FoundItems()
                case .damaged: return FoundItems(damage: error)
                default: throw error
                }
            }
        }
        return try call(result())
    }

    /// ``found(_:_:)`` for a client that takes the newest item, or all of them.
    ///
    /// - Returns: The newest item first.
    /// - Throws: ``ExitCode/damaged`` if a damaged item may be among them.
    func items(
        _ itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws(CLIError) -> [StoredItem] {
        let found = try found(itemClass, attributes)
        return try requesting(found.items).newestFirst
    }

    /// Internet passwords that ``found(_:_:)`` does not find, because other programs stored their
    /// server in another form: with capitals, or with the port that the protocol has anyway.
    func strays(_ attributes: ItemAttributes) throws(CLIError) -> FoundItems<StoredItem> {
        try allStrays().filter { item in
            let canonical = item.attributes.canonical
            return attributes.allSatisfy { canonical.has($0.key, $0.value) }
        }
    }

    /// The internet passwords for a place that a person or another program may have stored: of any
    /// authentication type, with the protocol of the place, or for https without one, with any
    /// path, or that of the place.
    ///
    /// - Parameter account: nil for all accounts.
    func serving(_ place: LoginPlace, _ account: String?) throws(CLIError) -> FoundItems<StoredItem>
    {
        let attributes = Self.attributes(of: place, account)
        let queries = place.protocols.map { code in
            var query = ItemQuery(
                .internetPassword, attributes: attributes, accessGroup: group, synchronizable: .any)
            query.attributes[.protocol] = code
            return query
        }
        return try found(queries).filter { $0.serves(place) }
    }

    /// What ``serving(_:_:)`` does not find, as ``strays(_:)``.
    func straysServing(
        _ place: LoginPlace, _ account: String?
    ) throws(CLIError) -> FoundItems<StoredItem> {
        let wanted = Self.attributes(of: place, account)
        return try allStrays().filter { item in
            let server = AttributeValue.text(HostName.canonical(item.text(.server) ?? ""))
            let own = item.attributes.overwritten(by: [.server: server])
            return item.serves(place) && wanted.allSatisfy { own.has($0.key, $0.value) }
        }
    }

    private static func attributes(of place: LoginPlace, _ account: String?) -> ItemAttributes {
        var attributes = place.attributes.filter { [.server, .path].contains($0.key) }
        if let account { attributes[.account] = .text(account) }
        return attributes
    }

    private func allStrays() throws(CLIError) -> FoundItems<StoredItem> {
        if let known = cache.strays { return known }
        let found = try found(.internetPassword, [:]).filter { item in
            let canonical = item.attributes.canonical
            let isCanonical = [.server, .port, .protocol].allSatisfy { attribute in
                canonical[attribute].map { item.attributes.has(attribute, $0) } ?? true
            }
            let server = item.text(.server) ?? ""
            return !isCanonical || !server.hasSameBytes(as: HostName.canonical(server))
        }
        cache.strays = found
        return found
    }

    /// The ``strays(_:)`` that can be read, the newest first, for changes. A damaged one gives no
    /// value to anybody, and readers find an exact name first.
    func readableStrays(_ attributes: ItemAttributes) throws(CLIError) -> [StoredItem] {
        var damage: KeychainFailure?
        return try strays(attributes).readable(noting: &damage).newestFirst
    }

    /// The value of an item; nil if it has none, or was deleted.
    func value(of item: StoredItem) throws(CLIError) -> SecretValue? {
        try call(unless: [.itemNotFound], session.value(of: ItemQuery(item.reference))) ?? nil
    }

    /// The value of an item and its fields; nil if it has no value, or was deleted.
    func whole(of item: StoredItem) throws(CLIError) -> ItemValue? {
        guard item.attributes[.fieldCount] != nil else {
            return try value(of: item).map { ItemValue($0) }
        }
        let query = ItemQuery(item.reference)
        let found = try call(unless: [.itemNotFound], session.copy(query, .value))
        guard let found, let whole = try requesting(found.items).first else { return nil }
        return whole.value.map { ItemValue($0, whole.fields) }
    }

    /// Those of `services` that have an item of this name, readable or not.
    func services(
        having name: String, among services: [PasswordService]
    ) throws(CLIError) -> [PasswordService] {
        try call(session.services(having: name, among: services))
    }

    /// Stores an item. An item with the same whole primary key gets the value, and keeps the rest.
    /// Writes nothing if that item has the value.
    func store(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, _ value: SecretValue
    ) throws(CLIError) {
        try retrying { () throws(CLIError) in
            guard let stored = try existing(itemClass, attributes) else {
                return try add(itemClass, attributes, value)
            }
            if try has(stored, value) { return true }
            // The keychain finds the item by its whole primary key, and needs its accessibility.
            let item = NewItem(
                itemClass, attributes: stored.primaryKey, accessGroup: group,
                isSynchronizable: stored.isSynchronizable,
                protectionClass: stored.protectionClass)
            return try call(unless: [.duplicateItem], session.set(item, value: value)) != nil
        }
    }

    /// Adds an item; returns false if another item has the same primary key.
    func add(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, _ value: SecretValue
    ) throws(CLIError) -> Bool {
        let item = newItem(itemClass, attributes)
        return try call(unless: [.duplicateItem], session.add(item, value: value)) != nil
    }

    /// An item as the options of the call choose it.
    func newItem(_ itemClass: ItemClass, _ attributes: ItemAttributes) -> NewItem {
        NewItem(
            itemClass, attributes: attributes, accessGroup: group, isSynchronizable: isCloud,
            protectionClass: accessibility)
    }

    /// Tries a change again if another program was faster. `body` returns false then.
    func retrying(_ body: () throws(CLIError) -> Bool) throws(CLIError) {
        for _ in 0..<4 where try body() { return }
        throw CLIError(
            .failure, "other programs keep changing this item", hint: "try again")
    }

    /// The item with this whole primary key; nil if there is none, or if it is damaged: adding an
    /// item sets it aside. A call that adds local items gets a shared one only if there is no local
    /// one: the shared one came by sync.
    ///
    /// - Throws: ``ExitCode/damaged`` for a damaged shared item, which an added one would not
    ///   replace.
    func existing(
        _ itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws(CLIError) -> StoredItem? {
        var damage: KeychainFailure?
        let own = try alike(itemClass, attributes, isCloud: isCloud).readable(noting: &damage)
        guard own.isEmpty, !isCloud else { return own.first }
        let shared = try exact(itemClass, attributes, isCloud: true)
        guard shared.isEmpty else { return try requesting(shared.items).first }
        // A damaged stray hides no exact name, which readers find first.
        return try strays(like: attributes, of: itemClass, isCloud: true)
            .readable(noting: &damage).first
    }

    /// The item with this whole primary key, in the group that new items go to. If there is none,
    /// that which ``strays(_:)`` finds.
    ///
    /// - Parameter attributes: Missing attributes of the primary key have their default value.
    func alike(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, isCloud: Bool
    ) throws(CLIError) -> FoundItems<StoredItem> {
        let exact = try exact(itemClass, attributes, isCloud: isCloud)
        guard exact.isEmpty else { return exact }
        return try strays(like: attributes, of: itemClass, isCloud: isCloud)
    }

    private func exact(
        _ itemClass: ItemClass, _ attributes: ItemAttributes, isCloud: Bool
    ) throws(CLIError) -> FoundItems<StoredItem> {
        let group = try groupToWrite()
        // The label of an item that a person has stored may be another one.
        var query = ItemQuery(
            itemClass,
            attributes: attributes.filter { itemClass.primaryKeyAttributes.contains($0.key) },
            accessGroup: group, synchronizable: isCloud ? .synchronizedOnly : .localOnly)
        for attribute in itemClass.primaryKeyAttributes where attributes[attribute] == nil {
            query.attributes[attribute] = attribute.defaultValue
        }
        return try found(query)
    }

    private func strays(
        like attributes: ItemAttributes, of itemClass: ItemClass, isCloud: Bool
    ) throws(CLIError) -> FoundItems<StoredItem> {
        guard itemClass == .internetPassword else { return FoundItems() }
        let (group, canonical) = (try groupToWrite(), attributes.canonical)
        return try strays(canonical.filter { $0.key == .server }).filter {
            $0.accessGroup == group && $0.isSynchronizable == isCloud
                && $0.attributes.canonical.hasPrimaryKey(of: canonical, itemClass)
        }
    }

    private func groupToWrite() throws(CLIError) -> AccessGroup {
        try call(session.caller.group(writing: group, during: "store an item"))
    }

    /// Whether an item has this value, so that it need not be written. Never asks the user: an item
    /// with an access control counts as one with another value, and so does one whose value is
    /// damaged.
    ///
    /// - Parameter read: What counts of the item's value; nil for none of it.
    func has(
        _ item: StoredItem, _ value: SecretValue,
        read: (SecretValue) -> SecretValue? = { $0 }
    ) throws(CLIError) -> Bool {
        guard item.accessControl == nil else { return false }
        do {
            return try self.value(of: item).flatMap(read)?.isEqual(to: value) ?? false
        } catch {
            guard error.code == .damaged else { throw error }
            return false
        }
    }

    /// Adds an item, or gives `existing` the attributes and the value, and deletes `others`: all in
    /// one step, or nothing.
    ///
    /// - Returns: false if another program has changed one of them, or has added the item.
    func store(
        _ item: NewItem, _ value: SecretValue, over existing: StoredItem?,
        deleting others: [StoredItem]
    ) throws(CLIError) -> Bool {
        var transfer = ItemTransfer(deletions: others.map(\.version))
        if let existing {
            let isUnchanged = item.attributes.allSatisfy {
                existing.attributes.has($0.key, $0.value)
            }
            if isUnchanged, others.isEmpty, try has(existing, value) { return true }
            transfer.changes = [.init(existing.version, to: item, settingValue: value)]
        } else {
            transfer.additions = [Addition(item, value: value)]
        }
        let raced: [KeychainFailure.Code] = [.duplicateItem, .itemNotFound]
        return try call(unless: raced, session.perform(transfer)) != nil
    }

    /// Fails before the user types a value that could not be stored now.
    func checkIsUnlocked() throws(CLIError) {
        // $VALET_PASSCODE_FD opens the keychain for calls about items.
        _ = try found(.genericPassword, [.service: .text("")])
        try call(requireAvailable())
    }

    private func requireAvailable() throws(KeychainFailure) {
        guard try session.store.keychain.availability().isAvailable(accessibility) else {
            throw KeychainFailure(.locked, during: "store an item", hint: "run `valet unlock`")
        }
    }

    /// Deletes items: all or none.
    ///
    /// - Parameter keepsHistory: Whether `valet undo` can bring them back.
    /// - Returns: false if another program has changed one of them since it was found.
    func delete(
        _ items: [StoredItem], keepingHistory keepsHistory: Bool = false
    ) throws(CLIError) -> Bool {
        guard !items.isEmpty else { return true }
        let transfer = ItemTransfer(deletions: items.map(\.version))
        var session = session
        session.caller.keepsHistory = session.caller.keepsHistory || keepsHistory
        let deleting = session
        return try call(unless: [.itemNotFound], deleting.perform(transfer)) != nil
    }

    /// Adds items: all or none.
    func add(_ additions: [Addition]) throws(CLIError) {
        _ = try call(session.perform(ItemTransfer(additions: additions)))
    }

    /// Adds items, or gives existing ones their values: all or none.
    func set(_ additions: [Addition]) throws(CLIError) {
        var known: [Addition] = []
        for addition in additions {
            var addition = addition
            let item = addition.item
            // A damaged item is set aside.
            var damage: KeychainFailure?
            let stored = try alike(
                item.itemClass, item.attributes, isCloud: item.isSynchronizable
            ).readable(noting: &damage)
            // A stray keeps its name.
            if let key = stored.first?.primaryKey {
                addition.item.attributes = item.attributes.overwritten(by: key)
            }
            known.append(addition)
        }
        try call(session.set(known))
    }

    /// Makes a request of the keychain.
    private func call<R>(
        _ request: @autoclosure () throws(KeychainFailure) -> R
    ) throws(CLIError) -> R {
        guard !asks else { return try context.unlocking(session.store, nil, request) }
        do {
            return try request()
        } catch {
            guard error.code == .locked,
                (try? session.store.keychain.availability())?.isOfProcess == true
            else { throw CLIError(error) }
            throw CLIError(
                .locked, CLIError(error).message,
                hint: "each program unlocks the keychain for itself here: pass the passcode "
                    + "through a file descriptor, and its number in $VALET_PASSCODE_FD")
        }
    }

    /// Makes a request; returns nil if it fails with one of those codes.
    private func call<R>(
        unless codes: [KeychainFailure.Code],
        _ request: @autoclosure () throws(KeychainFailure) -> R
    ) throws(CLIError) -> R? {
        func result() throws(KeychainFailure) -> R? {
            do {
                return try request()
            } catch {
                guard codes.contains(error.code) else { throw error }
                return nil
            }
        }
        return try call(result())
    }
}

extension [StoredItem] {
    var newestFirst: [StoredItem] {
        sorted { $0.modificationDate ?? 0 > $1.modificationDate ?? 0 }
    }
}

extension StoredItem {
    /// The attributes that together identify the item.
    fileprivate var primaryKey: ItemAttributes {
        attributes.filter { itemClass.primaryKeyAttributes.contains($0.key) }
    }

    /// The item where it is, with these attributes; the others stay.
    func with(_ attributes: ItemAttributes) -> NewItem {
        NewItem(
            itemClass, attributes: attributes, accessGroup: accessGroup,
            isSynchronizable: isSynchronizable, protectionClass: protectionClass)
    }

    /// Whether an internet password is for the protocol and port of a place.
    fileprivate func serves(_ place: LoginPlace) -> Bool {
        let code = attributes[.protocol] ?? .number(0)
        let port = UInt16(exactly: attributes[.port]?.asNumber ?? 0)
        let own = port.flatMap {
            LoginPlace(scheme: place.scheme, server: place.server, port: $0, path: nil)
        }
        return own?.port == place.port
            && place.protocols.contains { Attribute.protocol.matches($0, code) }
    }

    /// An attribute as text; nil if it is missing or no text.
    func text(_ attribute: Attribute) -> String? { attributes[attribute]?.asText }
}

extension LoginPlace {
    /// The protocols of passwords for this place. One without a protocol is for https.
    fileprivate var protocols: [AttributeValue] {
        let none = scheme == "https" ? Attribute.protocol.defaultValue : nil
        return [attributes[.protocol], none].compactMap(\.self)
    }
}

extension ItemAttributes {
    /// The same with the server, port and protocol in the form that helpers write.
    var canonical: Self {
        LoginPlace(self).map { overwritten(by: $0.attributes) } ?? self
    }

    /// Whether an attribute has this value. Compares as searches do, whatever the types. Missing
    /// parts of a primary key count as empty.
    fileprivate func has(_ attribute: Attribute, _ value: AttributeValue) -> Bool {
        (self[attribute] ?? attribute.defaultValue).map { attribute.matches(value, $0) } ?? false
    }

    /// Whether both have the same primary key. Missing parts count as empty.
    fileprivate func hasPrimaryKey(of other: Self, _ itemClass: ItemClass) -> Bool {
        itemClass.primaryKeyAttributes.allSatisfy { attribute in
            let values = (self[attribute], other[attribute])
            switch (values.0 ?? attribute.defaultValue, values.1 ?? attribute.defaultValue) {
            case (let own?, let other?): return attribute.matches(other, own)
            case (nil, nil): return true
            default: return false
            }
        }
    }
}
