// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSecretMemory
internal import ValetUserPresence

/// One application's view of one keychain: the typed request that everything else is made of.
///
/// Every call is synchronous, safe from every thread and process, and done by its deadline.
/// What fails is also remembered as ``KeychainFailure/last``.
package struct KeychainSession: Sendable {
    /// The keychain.
    package let store: ItemStore
    /// The application that asks.
    package let caller: Caller
    /// What comes before each call for items; nil but in tests.
    let script: (any CallScript)?

    /// A session of `caller` in `store`.
    package init(_ store: ItemStore, _ caller: Caller, script: (any CallScript)? = nil) {
        self.store = store
        self.caller = caller
        self.script = script
    }

    /// The same session, with the script as this task has it.
    var ofThisTask: KeychainSession {
        KeychainSession(store, caller, script: script?.ofThisTask)
    }

    /// The session of this process: its keychain, its application identifier.
    ///
    /// Found at first use, the same ever after; but see ``SessionOverride``.
    /// - Throws: `noHome`, `invalidRequest` for a variable that is not understood, and what keeps a
    ///   declaration of the application from being used.
    package static func current() throws(KeychainFailure) -> KeychainSession {
        if let other = try SessionOverride.current() { return other }
        if let known = SessionSlot.current.value.known { return known }
        return try remembering { () throws(KeychainFailure) in
            try checkSettings()
            let location = try KeychainLocation.ofThisProcess()
            let identity = try ApplicationIdentity.current(environment: TrustedEnvironment.value)
            var caller = identity.caller
            caller.groupHint = identity.groupHint
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

    /// Refuses variables whose values mean nothing, at first use: a program that is to ask nobody
    /// is not to find out at its first question that the variable was mistyped.
    private static func checkSettings() throws(KeychainFailure) {
        do throws(UserPresenceError) {
            try PasscodeAsker.checkSettings()
        } catch {
            throw KeychainFailure(
                .invalidRequest, during: error.operation, message: error.code.explanation,
                hint: error.hint)
        }
    }

    /// Adds an item and returns it with its attributes (and without its value).
    ///
    /// - Throws: `duplicateItem`, `missingEntitlement`, `valueTooLarge`, `passcodeNotSet` and
    ///   whatever keeps the keychain from working.
    @discardableResult
    package func add(
        _ item: NewItem, value: SecretValue?,
        _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> StoredItem {
        try add(item, value: value, policy, .naming)
    }

    /// Like ``add(_:value:_:)``, with a rule for an item that exists already: `demanding` reports
    /// a duplicate only to callers that may read it (spec/secitem.md §10.4).
    package func add(
        _ item: NewItem, value: SecretValue?, _ policy: AuthenticationPolicy,
        _ rule: PersonAccess.Rule
    ) throws(KeychainFailure) -> StoredItem {
        try asking(.add(item)) { () throws(KeychainFailure) in
            let addition = Addition(try bound(item, policy), value: value)
            return try authenticating(policy, rule, "add an item") {
                (access) throws(KeychainFailure) in
                try store.add(addition, for: caller, access)
            }
        }
    }

    /// Adds an item, or gives the item that has its primary key this value, and the access control
    /// of `item` if that has one, and keeps the rest. Asks nobody.
    ///
    /// - Throws: `duplicateItem` if that item has another protection class.
    package func set(
        _ item: NewItem, value: SecretValue,
        _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) {
        try asking(.set(item)) { () throws(KeychainFailure) in
            try store.set(Addition(try bound(item, policy), value: value), for: caller)
        }
    }

    /// Gives the item that `query` finds the value and the class of `item`, or adds `item`; deletes
    /// what else `query` finds. All of it or nothing.
    ///
    /// - Throws: As ``add(_:value:)``, but for `duplicateItem`; `locked` if a match is.
    package func replace(
        _ query: ItemQuery, with item: NewItem, value: SecretValue
    ) throws(KeychainFailure) {
        try asking(.replace(query, item)) { () throws(KeychainFailure) in
            try store.replace(query, with: Addition(item, value: value), for: caller)
        }
    }

    /// Sets all items as ``set(_:value:)`` sets one, or does nothing at all.
    package func set(
        _ items: [(item: NewItem, value: SecretValue)]
    ) throws(KeychainFailure) {
        try asking(.transfer(items.map(\.item))) { () throws(KeychainFailure) in
            let additions = try items.map { (item) throws(KeychainFailure) in
                Addition(try bound(item.item, AuthenticationPolicy()), value: item.value)
            }
            try store.set(additions, for: caller)
        }
    }

    /// The values of the items with these accounts, all of one moment; what is not there, or has no
    /// value, is missing.
    ///
    /// - Throws: `damaged` if one of them cannot be read.
    package func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: SecretValue] {
        try asking(.values(accounts, service)) { () throws(KeychainFailure) in
            try store.values(of: accounts, in: service, for: caller)
        }
    }

    /// Changes, adds and deletes items, or does nothing at all. Asks nobody.
    ///
    /// - Throws: `itemNotFound` if an item to be changed or deleted is not as it was read.
    package func perform(_ transfer: ItemTransfer) throws(KeychainFailure) {
        let items = transfer.additions.map(\.item) + transfer.changes.map(\.item)
        try asking(.transfer(items)) { () throws(KeychainFailure) in
            var transfer = transfer
            let policy = AuthenticationPolicy()
            transfer.additions = try transfer.additions.map { (addition) throws(KeychainFailure) in
                Addition(try bound(addition.item, policy), value: addition.value)
            }
            transfer.changes = try transfer.changes.map { (change) throws(KeychainFailure) in
                ItemTransfer.Change(
                    change.version, to: try bound(change.item, policy), value: change.value)
            }
            try store.perform(transfer, for: caller)
        }
    }

    /// The accounts of all items of a service; none if there are none.
    package func accounts(
        of service: PasswordService
    ) throws(KeychainFailure) -> [AttributeValue] {
        try asking(.copy(service.query, readsValues: false)) { () throws(KeychainFailure) in
            let found = try store.accounts(of: service, for: caller)
            if let damage = found.damage { KeychainFailure.last = damage }
            return found.accounts
        }
    }

    /// Changes every item that matches, or none; returns how many.
    ///
    /// - Throws: `itemNotFound` if none matches, `duplicateItem` if a primary key is taken; as
    ///   ``copy(_:_:_:)`` if one needs a person.
    @discardableResult
    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue? = nil,
        _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> Int {
        try asking(.update(query, changes)) { () throws(KeychainFailure) in
            var changes = changes
            if let accessControl = changes.accessControl {
                changes.accessControl = try bound(accessControl, policy)
            }
            let update = ItemUpdate(query: query, changes: changes, value: value)
            return try authenticating(policy, .demanding, "update items") {
                (access) throws(KeychainFailure) in
                try store.update(update, for: caller, access)
            }
        }
    }

    /// Deletes every item that matches; returns how many.
    ///
    /// - Throws: `itemNotFound` if none matches.
    @discardableResult
    package func delete(_ query: ItemQuery) throws(KeychainFailure) -> Int {
        try asking(.delete(query)) { () throws(KeychainFailure) in
            try store.delete(query, for: caller)
        }
    }

    /// What there is to know about the keychain; creates nothing.
    package func status() throws(KeychainFailure) -> KeychainStatus {
        try remembering { () throws(KeychainFailure) in try store.status() }
    }

    /// Checks files, keys and every row; changes nothing.
    package func diagnose() -> [Finding] {
        store.diagnose()
    }
}

extension KeychainSession {
    /// Runs `body`, a call for items, and keeps what it throws as the thread's last failure.
    @inline(__always)
    func asking<R>(
        _ call: @autoclosure () -> SessionCall, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try remembering { () throws(KeychainFailure) in
            if let script { return try script.perform(call(), in: self, body) }
            do throws(KeychainFailure) {
                return try body()
            } catch {
                guard error.code == .locked, GivenPasscode.isThere else { throw error }
                return try repeating(body, after: error)
            }
        }
    }

    /// Runs `body` again if `$VALET_PASSCODE_FD` has unlocked the keychain.
    @inline(never)
    private func repeating<R>(
        _ body: () throws(KeychainFailure) -> R, after failure: KeychainFailure
    ) throws(KeychainFailure) -> R {
        let given = GivenPasscode.current.value
        if try given.unlock(store) { return try body() }
        guard let cause = given.failure else { throw failure }
        throw KeychainFailure(
            failure, hint: "what $VALET_PASSCODE_FD gave did not unlock it: \(cause.message)")
    }
}

/// Runs `body` and keeps what it throws as the thread's last failure.
@inline(__always)
func remembering<R>(
    _ body: () throws(KeychainFailure) -> R
) throws(KeychainFailure) -> R {
    do throws(KeychainFailure) {
        return try body()
    } catch {
        KeychainFailure.last = error
        throw error
    }
}
