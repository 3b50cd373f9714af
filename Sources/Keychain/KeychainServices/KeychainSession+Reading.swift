// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing

/// The calls that read: searches, reading by name, and walks over many items.
extension KeychainSession {
    /// The items that match: at least one, at most the query's limit. Damaged items are left out;
    /// the result says if there are any.
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

    /// Starts a walk over what ``attributes(of:)`` returns, for queries that match many items.
    package func walk(_ query: ItemQuery) throws(KeychainFailure) -> ItemWalk {
        try asking(.copy(query, readsValues: false)) { () throws(KeychainFailure) in
            try store.walk(query, for: caller)
        }
    }

    /// The next items of a walk over what `query` matches: ``KeychainStore/ItemStore/next(of:)``.
    package func next(
        of walk: inout ItemWalk, _ query: ItemQuery
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        var next = walk
        let found = try asking(.copy(query, readsValues: false)) { () throws(KeychainFailure) in
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
    /// - Throws: `itemNotFound` if none matches; like ``copy(_:_:_:)`` if it needs the user.
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

    /// Whether there is an item of that name. Opens no value, and does not ask the user. An item
    /// that is bound to fingers exists as long as these are enrolled.
    package func contains(
        _ name: PasswordName, _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> Bool {
        try asking(.contains(name.query)) { () throws(KeychainFailure) in
            try looking(policy) { (enrolment) throws(KeychainFailure) in
                try store.contains(name, for: caller, enrolment: enrolment)
            }
        }
    }

    /// Whether an item matches. Opens no value, and does not ask the user.
    package func contains(
        _ query: ItemQuery, _ policy: AuthenticationPolicy = AuthenticationPolicy()
    ) throws(KeychainFailure) -> Bool {
        try asking(.contains(query)) { () throws(KeychainFailure) in
            try looking(policy) { (enrolment) throws(KeychainFailure) in
                try store.contains(query, for: caller, enrolment: enrolment)
            }
        }
    }

    private func looking(
        _ policy: AuthenticationPolicy,
        _ body: (PresenceAccess.Enrolment) throws(KeychainFailure) -> ItemResult<Bool>
    ) throws(KeychainFailure) -> Bool {
        try authenticating(policy, .naming, "look for an item") {
            (access) throws(KeychainFailure) in
            try body(access.enrolment)
        }
    }
}
