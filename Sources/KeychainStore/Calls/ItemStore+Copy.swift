// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSecretMemory
internal import ValetSystem

/// What a search found.
package struct FoundItems: Sendable {
    /// What could be opened, in the order of ``ItemStore/copy(_:_:for:)``.
    package var items: [StoredItem] = []
    /// Set when rows that matched are damaged; they are not among the items.
    package var damage: KeychainFailure?
    /// What those that were not opened demand; each once.
    var demands: [AccessControl] = []
    /// What passwords have to open.
    var locks: [PasswordLock] = []
    /// How many were not opened for what they demand.
    var closedCount = 0

    /// Counts an item that was not opened.
    mutating func demand(_ accessControl: AccessControl) {
        closedCount += 1
        if !demands.contains(accessControl) { demands.append(accessControl) }
    }

    /// Counts an item whose password is not here.
    mutating func demand(_ lock: PasswordLock) {
        closedCount += 1
        locks.append(lock)
    }
}

extension ItemStore {
    private static let copying = "read items"
    private static let reading = "read an item"

    /// The items that match: at least one, at most the query's limit.
    ///
    /// They come group by group, in the order of the caller's groups; in each in the order of
    /// adding. Where the query names all of a primary key, the local item comes before the
    /// synchronized one, and each before those that have a view hint or a token, too.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `damaged` if nothing but
    ///   damaged items does, `missingEntitlement`; `interactionNotAllowed` if one needs a person.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems {
        try copy(query, parts, for: caller, PersonAccess(.demanding)).get(Self.copying)
    }

    /// As the other, for a call that may bring a proof.
    ///
    /// Values of items that need a person are not given out under ``PersonAccess/Rule/naming``:
    /// do not ask for them.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller, _ access: PersonAccess
    ) throws(KeychainFailure) -> Answer<FoundItems> {
        let groups = try caller.groups(searching: query.accessGroup, during: Self.copying)
        let found = try reading(Self.copying) { (engine, deadline) throws(KeychainFailure) in
            let (rows, state) = try engine.rows(query, groups, Self.copying, deadline)
            let found = try translating(Self.copying) {
                try RowOpener(query: query, parts: parts, state: state, access: access)
                    .open(rows)
            }
            engine.renewIfUsed(state.facts, deadline)
            return found
        }
        guard let found, !found.items.isEmpty || found.closedCount > 0 else {
            if let damage = found?.damage { throw damage }
            // A caller that asks only whether there is one needs no reasons.
            throw parts.isEmpty
                ? KeychainFailure(.itemNotFound, during: Self.copying) : notFound(Self.copying)
        }
        guard found.demands.isEmpty else { return .authenticationRequired(found.demands) }
        guard found.locks.isEmpty else { return .passwordRequired(.existing(found.locks)) }
        return .done(found)
    }

    /// Whether an item matches; opens nothing that it need not open, and needs nobody.
    ///
    /// - Throws: `interactionNotAllowed` for an item that is bound to fingers.
    package func contains(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> Bool {
        try contains(query, for: caller, enrolment: .unknown).get(Self.copying)
    }

    /// As the other, for a call that may know which fingers are enrolled.
    ///
    /// An item that is bound to fingers is there until ``PersonAccess/enrolment`` says that others
    /// are enrolled: a caller that does not know is told to look.
    package func contains(
        _ query: ItemQuery, for caller: Caller, enrolment: PersonAccess.Enrolment
    ) throws(KeychainFailure) -> Answer<Bool> {
        var query = query
        query.limit = 1
        let access = PersonAccess(.naming, enrolment: enrolment)
        do throws(KeychainFailure) {
            switch try copy(query, [], for: caller, access) {
            case .done: return .done(true)
            case .authenticationRequired(let demands): return .authenticationRequired(demands)
            case .passwordRequired(let demand): return .passwordRequired(demand)
            }
        } catch {
            if error.code == .itemNotFound { return .done(false) }
            throw error
        }
    }

    /// The value of the first item that matches.
    ///
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        try value(of: query, for: caller, PersonAccess(.demanding)).get(Self.reading)
    }

    /// As the other, for a call that may bring a proof.
    package func value(
        of query: ItemQuery, for caller: Caller, _ access: PersonAccess
    ) throws(KeychainFailure) -> Answer<SecretValue?> {
        var query = query
        query.limit = 1
        switch try copy(query, .value, for: caller, access) {
        case .done(let found): return .done(found.items.first?.value)
        case .authenticationRequired(let demands): return .authenticationRequired(demands)
        case .passwordRequired(let demand): return .passwordRequired(demand)
        }
    }

    /// The value of the item of that name: the fast path, one statement and one opening.
    ///
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of name: PasswordName, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        try value(of: name, for: caller, PersonAccess(.demanding)).get(Self.reading)
    }

    /// As the other, for a call that may bring a proof.
    package func value(
        of name: PasswordName, for caller: Caller, _ access: PersonAccess
    ) throws(KeychainFailure) -> Answer<SecretValue?> {
        let found = try find(name, opening: true, caller, access.proof)
        if let found, !found.needsPerson {
            return .done(found.value)
        }
        // There may be one with a view hint or a token, and there may be one that needs a person.
        return try value(of: name.query, for: caller, access)
    }

    /// Whether there is an item of that name; opens nothing that it need not open.
    package func contains(
        _ name: PasswordName, for caller: Caller
    ) throws(KeychainFailure) -> Bool {
        try contains(name, for: caller, enrolment: .unknown).get(Self.reading)
    }

    /// As the other, for a call that may know which fingers are enrolled.
    package func contains(
        _ name: PasswordName, for caller: Caller, enrolment: PersonAccess.Enrolment
    ) throws(KeychainFailure) -> Answer<Bool> {
        if let found = try find(name, opening: false, caller), !found.needsPerson {
            return .done(true)
        }
        return try contains(name.query, for: caller, enrolment: enrolment)
    }

    private func find(
        _ name: PasswordName, opening: Bool, _ caller: Caller, _ proof: PresenceProof? = nil
    ) throws(KeychainFailure) -> FoundValue? {
        let found: FoundValue?? = try reading(Self.reading) {
            (engine, deadline) throws(KeychainFailure) -> FoundValue? in
            let groups =
                name.service.accessGroup == nil
                ? caller.accessGroups
                : try caller.groups(searching: name.service.accessGroup, during: Self.reading)
            let request = ValueRequest(name: name, opening: opening, proof: proof)
            for group in groups {
                let found = try engine.value(request, group, deadline)
                if let found { return found }
            }
            return nil
        }
        return found.flatMap { $0 }
    }
}

extension Engine {
    /// All rows that match, before anything is opened, with the keys that open them.
    fileprivate func rows(
        _ query: ItemQuery, _ groups: [AccessGroup], _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> (rows: [FoundRow], state: KeychainState) {
        try read(operation, deadline) { (store, state) throws(KeychainFailure) in
            try translating(operation) {
                (try state.find(query, groups, store), state)
            }
        }
    }
}
