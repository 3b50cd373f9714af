// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing
package import ValetSystem
internal import ValetUserPresence

/// One application's view of one keychain. `Valet`, `KeychainSwift`, `SecItem` and the `valet`
/// command make all their requests through it.
///
/// Every call is safe from every thread and process, and ends by its deadline. A synchronous call
/// that fails keeps its failure as ``KeychainFailure/last``.
package struct KeychainSession: Sendable {
    package let store: ItemStore
    package var caller: Caller
    /// Runs before each call for items; nil except in tests.
    let script: (any CallScript)?

    package init(_ store: ItemStore, _ caller: Caller, script: (any CallScript)? = nil) {
        self.store = store
        self.caller = caller
        self.script = script
    }

    /// The same session for one call, which waits for locks, a person and fingerprint readers until
    /// `deadline` at most. By default a call waits five seconds for locks, and a minute for a
    /// person.
    package func ending(at deadline: Deadline) -> KeychainSession {
        KeychainSession(store.ending(at: deadline), caller, script: script)
    }

    /// The session of this process: its keychain, its application identifier.
    ///
    /// Determined at first use and the same from then on, except inside a ``SessionOverride``.
    /// - Throws: `noHome`; `invalidRequest` for a malformed environment variable; the failures of
    ///   ``ApplicationIdentity/current(environment:)``.
    package static func current() throws(KeychainFailure) -> KeychainSession {
        if let other = try SessionOverride.current() { return other }
        if let known = SessionSlot.current.value.known { return known }
        return try remembering { () throws(KeychainFailure) in
            let environment = Environment.ofProcess
            try checkSettings(environment)
            let location = try KeychainLocation.ofThisProcess(environment)
            let identity = try ApplicationIdentity.current(environment: environment.value)
            var caller = identity.caller
            caller.groupAdvice = identity.groupAdvice
            return SessionSlot.current.value.keep(KeychainSession(ItemStore(location), caller))
        }
    }

    /// A session in the keychain of this process on behalf of another application.
    package static func current(
        onBehalfOf applicationIdentifier: String, accessGroups: [AccessGroup] = []
    ) throws(KeychainFailure) -> KeychainSession {
        try remembering { () throws(KeychainFailure) in
            KeychainSession(
                ItemStore(try .ofThisProcess()),
                Caller(applicationIdentifier: applicationIdentifier, accessGroups: accessGroups))
        }
    }

    /// Refuses malformed environment variables at first use. Otherwise a mistyped
    /// `VALET_INTERACTION` would show only when a program asks its first question.
    private static func checkSettings(
        _ environment: Environment
    ) throws(KeychainFailure) {
        do {
            try PasscodeAsker.checkSettings(environment)
        } catch {
            throw KeychainFailure(
                .invalidRequest, during: error.operation, message: error.code.reason,
                hint: error.hint)
        }
    }

    /// Adds an item and returns it with its attributes (and without its value).
    ///
    /// - Parameter rule: What happens if the item exists already: `demanding` reports a duplicate
    ///   only to callers that may read it (spec/secitem.md §10.4).
    /// - Throws: `duplicateItem`, `missingEntitlement`, `valueTooLarge`, `passcodeNotSet`, and any
    ///   failure of the keychain itself.
    @discardableResult
    package func add(
        _ item: NewItem, value: SecretValue?,
        _ policy: AuthenticationPolicy = AuthenticationPolicy(),
        _ rule: PresenceAccess.Rule = .naming
    ) throws(KeychainFailure) -> StoredItem {
        try asking(.add(item)) { () throws(KeychainFailure) in
            let addition = Addition(try policy.bind(item, in: store), value: value)
            return try authenticating(policy, rule, "add an item") {
                (access) throws(KeychainFailure) in
                try store.add(addition, for: caller, access)
            }
        }
    }

    /// Adds an item. If an item with the same primary key exists, sets its value, and its access
    /// control if `item` has one, and keeps the rest of it. Does not ask the user.
    ///
    /// - Throws: `duplicateItem` if the existing item has another protection class.
    package func set(
        _ item: NewItem, value: SecretValue,
        _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) {
        try asking(.set(item)) { () throws(KeychainFailure) in
            try store.set(
                Addition(try policy.bind(item, in: store), value: value), for: caller)
        }
    }

    /// Stores a value in the service that `placement` chooses among several, and moves an item
    /// there if `placement` says so: all of it or nothing. Does not ask the user.
    ///
    /// - Throws: Like ``set(_:value:_:)``.
    package func place(
        _ placement: Placement
    ) throws(KeychainFailure) -> (found: [PasswordService], choice: Placement.Choice) {
        let items = placement.services.map { $0.item(placement.account) }
        return try asking(.transfer(items)) { () throws(KeychainFailure) in
            try store.place(placement, for: caller)
        }
    }

    /// Sets the value and the protection class of the item that `query` finds to those of `item`.
    /// Deletes the other items that `query` finds; if it finds none, adds `item`. Does all of it or
    /// nothing.
    ///
    /// - Throws: Like ``add(_:value:_:)``, except `duplicateItem`; `locked` if a match is locked.
    package func replace(
        _ query: ItemQuery, with item: NewItem, value: SecretValue
    ) throws(KeychainFailure) {
        try asking(.replace(query, item)) { () throws(KeychainFailure) in
            try store.replace(query, with: Addition(item, value: value), for: caller)
        }
    }

    /// Sets all items like ``set(_:value:_:)``, or none.
    package func set(
        _ additions: [Addition]
    ) throws(KeychainFailure) {
        try asking(.transfer(additions.map(\.item))) { () throws(KeychainFailure) in
            let policy = AuthenticationPolicy()
            let bound = try additions.map { (addition) throws(KeychainFailure) in
                try policy.bind(addition, in: store)
            }
            try store.set(bound, for: caller)
        }
    }

    /// Changes the item with the same service and lookup attributes, or adds `item`:
    /// ``KeychainStore/ItemStore/replaceByLookup(_:for:)``.
    package func replaceByLookup(
        _ item: NewItem, value: SecretValue
    ) throws(KeychainFailure) -> (reference: PersistentReference, wasThere: Bool) {
        try asking(.set(item)) { () throws(KeychainFailure) in
            try store.replaceByLookup(Addition(item, value: value), for: caller)
        }
    }

    /// The values of the items with these accounts, all from one moment. Accounts without an item,
    /// or without a value, are missing in the result.
    ///
    /// - Throws: `damaged` if one of the items cannot be read.
    package func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: SecretValue] {
        try asking(.values(accounts, service)) { () throws(KeychainFailure) in
            try store.values(of: accounts, in: service, for: caller)
        }
    }

    /// Changes, adds and deletes items: all of it or nothing. Does not ask the user.
    ///
    /// - Returns: How many of the deleted items are kept as former values.
    /// - Throws: `itemNotFound` if an item to change or delete has changed since it was read.
    @discardableResult
    package func perform(_ transfer: ItemTransfer) throws(KeychainFailure) -> Int {
        let items = transfer.additions.map(\.item) + transfer.changes.map(\.item)
        return try asking(.transfer(items)) { () throws(KeychainFailure) in
            var transfer = transfer
            let policy = AuthenticationPolicy()
            transfer.additions = try transfer.additions.map { (addition) throws(KeychainFailure) in
                try policy.bind(addition, in: store)
            }
            transfer.changes = try transfer.changes.map { (change) throws(KeychainFailure) in
                var change = change
                change.item = try policy.bind(change.item, in: store)
                return change
            }
            return try store.perform(transfer, for: caller)
        }
    }

    /// The accounts of a service's items that are text; empty if there are none. With `policy`, of
    /// items with an access control.
    ///
    /// - Throws: `damaged` if nothing but damaged items was found.
    package func accountTexts(
        of service: PasswordService, _ policy: AuthenticationPolicy? = nil
    ) throws(KeychainFailure) -> FoundItems<String> {
        guard let policy else {
            let found = try asking(.copy(service.query, readsValues: false)) {
                () throws(KeychainFailure) in
                let found = try store.accounts(of: service, for: caller)
                // Throws if nothing but damaged items was found.
                _ = try found.hasItem()
                return found
            }
            return found.compactMap(\.text)
        }
        do {
            return try copy(service.query, .attributes, policy)
                .compactMap { $0.attributes[.account]?.text }
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return FoundItems()
        }
    }

    /// Changes every item that matches, or none. Returns their number.
    ///
    /// - Throws: `itemNotFound` if none matches, `duplicateItem` if a primary key is taken; as
    ///   ``copy(_:_:_:)`` if one requires the user's presence.
    @discardableResult
    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue? = nil,
        fields: [FieldChange] = [], _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> Int {
        try asking(.update(query, changes)) { () throws(KeychainFailure) in
            var changes = changes
            if let accessControl = changes.accessControl {
                changes.accessControl = try policy.bind(accessControl, in: store)
            }
            let update = ItemUpdate(
                query: query, changes: changes, value: value, fields: fields)
            return try authenticating(policy, .demanding, "update items") {
                (access) throws(KeychainFailure) in
                try store.update(update, for: caller, access)
            }
        }
    }

    /// Deletes every item that matches. Returns their number.
    ///
    /// - Throws: `itemNotFound` if none matches.
    @discardableResult
    package func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try asking(.delete(query)) { () throws(KeychainFailure) in
            try store.delete(query, for: caller)
        }
    }

    /// Deletes every item that one of the queries finds: all or none. Finding none is no error.
    package func delete(allOf queries: [ItemQuery]) throws(KeychainFailure) {
        guard let first = queries.first else { return }
        try asking(.delete(first)) { () throws(KeychainFailure) in
            try store.delete(allOf: queries, for: caller)
        }
    }

    /// Runs `body`, a call for items, and keeps its failure as the thread's last one. Calls that
    /// meet a locked keychain run again if `$VALET_PASSCODE_FD` unlocks it, unless they have
    /// changed something before.
    @inline(__always)
    func asking<R>(
        _ call: @autoclosure () -> SessionCall, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            if let script { return try script.perform(call(), in: self, body) }
            do throws(KeychainFailure) {
                return try body()
            } catch {
                guard error.code == .locked, !error.hasTakenEffect, GivenPasscode.isThere
                else { throw error }
                return try GivenPasscode.current.value.repeating(body, after: error, in: store)
            }
        } catch {
            KeychainFailure.last = error
            throw error
        }
    }
}

final class SessionSlot: Sendable {
    /// A child of `fork` keeps its parent's session, because the store reopens its files.
    static let current = ProcessLocal<SessionSlot> { inherited in
        SessionSlot(inherited?.session.withLockIfAvailable { $0 } ?? nil)
    }

    private let session: Lock<KeychainSession?>

    private init(_ known: KeychainSession?) {
        session = Lock(known)
    }

    var known: KeychainSession? { session.withLock { $0 } }

    func keep(_ new: KeychainSession) -> KeychainSession {
        session.withLock { session in
            if let session { return session }
            session = new
            return new
        }
    }
}

/// The calls that read: searches, reading by name, and walks over many items.
extension KeychainSession {
    /// The items that match: at least one, at most the query's limit.
    ///
    /// - Throws: `itemNotFound` if none matches; `damaged` if only damaged ones do; if an item
    ///   needs the user: `userCancelled`, `authenticationFailed`, `interactionNotAllowed`.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts,
        _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        let call = SessionCall.copy(query, readsValues: parts.contains(.value))
        return try asking(call) { () throws(KeychainFailure) in
            try authenticating(policy, policy.searchRule, "read items") {
                (access) throws(KeychainFailure) in
                try store.copy(query, parts, for: caller, access)
            }
        }
    }

    /// The items that match, with their attributes and without their values, for programs that list
    /// items. Does not ask the user.
    ///
    /// - Throws: Like ``copy(_:_:_:)``.
    package func attributes(
        of query: ItemQuery
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        try asking(.copy(query, readsValues: false)) { () throws(KeychainFailure) in
            // A list shows items whether or not their fingers are still enrolled.
            let access = PresenceAccess(.naming, enrolment: .known([]))
            switch try store.copy(query, .attributes, for: caller, access) {
            case .found(let found): return found
            case .absent: throw store.keychain.notFound("read items")
            case .needsPerson:
                throw KeychainFailure(.internalFault, during: "list items")
            }
        }
    }

    /// A walk over what `queries` find, without values, for queries that match many items. Does not
    /// ask the user.
    package func walk(_ queries: [ItemQuery]) throws(KeychainFailure) -> ItemWalk {
        try remembering { () throws(KeychainFailure) in try store.walk(queries, for: caller) }
    }

    /// The next items of a walk over what `queries` find: ``KeychainStore/ItemStore/next(of:)``.
    package func next(
        of walk: inout ItemWalk, _ queries: [ItemQuery]
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        guard let first = queries.first else { return FoundItems() }
        var next = walk
        let found = try asking(.copy(first, readsValues: false)) { () throws(KeychainFailure) in
            try store.next(of: &next)
        }
        walk = next
        return found
    }

    /// The value of the item of that name: the fast path.
    ///
    /// - Returns: nil for an item that has no value.
    /// - Throws: `itemNotFound` if there is no such item; like
    ///   ``copy(_:_:_:)`` if it needs the user.
    package func value(
        of name: PasswordName, _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> SecretValue? {
        try asking(.copy(name.query, readsValues: true)) { () throws(KeychainFailure) in
            let proof = policy.authenticator?.rememberedProof
            if case .found(let value) = try store.lookUp(name, for: caller, proof) { return value }
            return try authenticating(policy, policy.searchRule, "read an item") {
                (access) throws(KeychainFailure) in
                try store.value(of: name.query, for: caller, access)
            }
        }
    }

    /// Those of `services` that have an item of that account, whether or not it can be read. Does
    /// not ask the user.
    package func services(
        having account: String, among services: [PasswordService]
    ) throws(KeychainFailure) -> [PasswordService] {
        guard let first = services.first else { return [] }
        let name = PasswordName(account, in: first)
        return try asking(.contains(name.query)) { () throws(KeychainFailure) in
            try store.services(having: account, among: services, for: caller)
        }
    }

    /// The value of the first item that matches.
    ///
    /// - Returns: nil for an item that has no value.
    /// - Throws: `itemNotFound` if none matches; `damaged` if a damaged item comes before it; like
    ///   ``copy(_:_:_:)`` if it needs the user.
    package func value(
        of query: ItemQuery, _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> SecretValue? {
        try asking(.copy(query, readsValues: true)) { () throws(KeychainFailure) in
            try authenticating(policy, policy.searchRule, "read an item") {
                (access) throws(KeychainFailure) in
                try store.value(of: query, for: caller, access)
            }
        }
    }

    /// What each of the queries finds, all of one moment. Opens no value, and does not ask the
    /// user. An item that is bound to fingers counts as long as these fingers are enrolled.
    package func contents(
        of queries: [ItemQuery], _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> [FoundItems<StoredItem>] {
        guard let first = queries.first else { return [] }
        return try asking(.contains(first)) { () throws(KeychainFailure) in
            try authenticating(policy, .naming, "look for an item") {
                (access) throws(KeychainFailure) in
                try store.find(queries, for: caller, enrolment: access.enrolment)
            }.each
        }
    }

    /// Whether there is an item of that name. Opens no value, and does not ask the user. An item
    /// that is bound to fingers counts as present as long as these fingers are enrolled.
    package func contains(
        _ name: PasswordName, _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> Bool {
        try asking(.contains(name.query)) { () throws(KeychainFailure) in
            try authenticating(policy, .naming, "look for an item") {
                (access) throws(KeychainFailure) in
                try store.contains(name, for: caller, enrolment: access.enrolment)
            }
        }
    }
}
