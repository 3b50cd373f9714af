// SPDX-License-Identifier: Apache-2.0

// The fast path: the value of one item by its name, in one statement that also checks whether the
// kept keys are still the right ones. `KeychainSession` uses it for every `get`.

internal import ValetDatabase
package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

extension ItemStore {
    fileprivate static let reading = "read an item"

    /// Whether there is an item of that name, as ``contains(_:for:enrolment:)`` says of a query.
    package func contains(
        _ name: PasswordName, for caller: Caller, enrolment: PresenceAccess.Enrolment
    ) throws(KeychainFailure) -> ItemResult<Bool> {
        if case .found = try lookUp(name, opening: false, for: caller, nil) { return .found(true) }
        return try contains(name.query, for: caller, enrolment: enrolment)
    }

    /// Those of `services` that have an item of that account, whether or not it can be read.
    ///
    /// Finds items only by their whole primary key. Opens nothing, and does not need the user.
    package func services(
        having account: String, among services: [PasswordService], for caller: Caller
    ) throws(KeychainFailure) -> [PasswordService] {
        let groups =
            services.first?.accessGroup == nil
            ? caller.accessGroups
            : try caller.groups(searching: services.first?.accessGroup, during: Self.reading)
        var found: [PasswordService] = []
        let call = call(Self.reading)
        _ = try attempt(call) { (keychain) throws(KeychainFailure) in
            try keychain.lookUp(call) { (read) throws(KeychainFailure) -> Void? in
                found = []
                for service in services {
                    let name = PasswordName(account, in: service)
                    for group in groups {
                        let lookup = ValueLookup(name, group, read.keys, opening: false, nil)
                        guard let isThere = try lookup.isThere(&read) else { return nil }
                        if isThere, found.last != service { found.append(service) }
                    }
                }
                return ()
            }
        }
        return found
    }

    /// The value of the item of that name; nil if `opening` is false. This is the fast path: one
    /// statement and one decryption, usually without a transaction.
    ///
    /// - Parameters:
    ///   - opening: Whether to open the value, or only to tell whether it is there.
    ///   - proof: Opens a value that it has opened before.
    /// - Returns: `absent` and `needsPerson` mean only that the caller has to search for the item:
    ///   it may have a view hint or a token, have no value, need the user, or be in a row that says
    ///   it is another sort of item.
    /// - Throws: As ``copy(_:_:for:_:)``.
    package func lookUp(
        _ name: PasswordName, opening: Bool = true, for caller: Caller, _ proof: PresenceProof?
    ) throws(KeychainFailure) -> ItemResult<SecretValue?> {
        let groups =
            name.service.accessGroup == nil
            ? caller.accessGroups
            : try caller.groups(searching: name.service.accessGroup, during: Self.reading)
        var result = ItemResult<SecretValue?>.absent
        let call = call(Self.reading)
        _ = try attempt(call) { (keychain) throws(KeychainFailure) in
            try keychain.lookUp(call) { (read) throws(KeychainFailure) -> Void? in
                for group in groups {
                    let lookup = ValueLookup(name, group, read.keys, opening: opening, proof)
                    guard let found = try lookup.run(&read) else { return nil }
                    result = found
                    guard case .absent = found else { break }
                }
                return ()
            }
        }
        return result
    }
}

/// One attempt to read the value of the item with a given name in one group.
private struct ValueLookup {
    private let name: PasswordName
    private let group: AccessGroup
    private let state: RowKeys
    /// Whether to open the value, or only to check that it exists.
    private let opening: Bool
    /// What opens a value that it has opened before.
    private let proof: PresenceProof?

    init(
        _ name: PasswordName, _ group: AccessGroup, _ state: RowKeys, opening: Bool,
        _ proof: PresenceProof?
    ) {
        self.name = name
        self.group = group
        self.state = state
        self.opening = opening
        self.proof = proof
    }

    /// The result for an item that has no value, or that needs proofs or a password, and for a row
    /// that says it is another sort of item. A search then opens the part that tells which.
    private static var unopened: ItemResult<SecretValue?> { .needsPerson(.proofs([])) }

    /// - Returns: nil if something was committed since the keys were read.
    func run(_ read: inout NamedRead) throws(KeychainFailure) -> ItemResult<SecretValue?>? {
        let service = state.hasher.place(of: name.service, in: group)
        let kept = read.keptRow(name.account, service)
        do throws(SystemError) {
            if let row = kept {
                guard fits(row.header) else { return Self.unopened }
                guard opening || row.header.flags.presence == nil else { return Self.unopened }
                return opening ? try open(row) : .found(try check(row.header))
            }
        } catch {
            throw KeychainFailure(error, during: ItemStore.reading)
        }
        let reader = try read.connection()
        do throws(SystemError) {
            let place = service.place(of: name.account)
            let run = try reader.value.start()
            try run.bind(place)
            let isThere = try run.step()
            guard read.isCurrent else { return nil }
            guard isThere else { return .absent }
            let header = try RowHeader(value: run, place)
            guard fits(header) else { return Self.unopened }
            guard !header.flags.isGuarded || mayOpen(header), !run.isNull(8) else {
                return Self.unopened
            }
            guard opening else { return .found(try check(header)) }
            guard SpareMemory.has(3, copiesOf: run.byteCount(8)) else {
                throw SystemError(.outOfMemory, during: "read an item")
            }
            let row = ValueRow(
                parts: ValueParts(
                    header: header, nonce: try run.fixedBytes(6), names: try run.tag(7)),
                secret: run.blob(8))
            read.keep(row, name.account, service)
            return try open(row)
        } catch {
            throw KeychainFailure(error, during: ItemStore.reading)
        }
    }

    /// Whether there is such an item; nil if something was committed since the keys were read.
    func isThere(_ read: inout NamedRead) throws(KeychainFailure) -> Bool? {
        let place = state.hasher.place(of: name.service, in: group).place(of: name.account)
        let reader = try read.connection()
        do throws(SystemError) {
            let run = try reader.value.start()
            try run.bind(place)
            let isThere = try run.step()
            guard read.isCurrent else { return nil }
            guard isThere else { return false }
            // A row with damaged columns counts as an item; reading it reports the damage.
            guard let header = try? RowHeader(value: run, place) else { return true }
            guard !fits(header) else { return true }
            let found = try state.find(name.query, [group], reader)
            guard read.isCurrent else { return nil }
            return found.contains { $0.number == header.number }
        } catch {
            throw KeychainFailure(error, during: ItemStore.reading)
        }
    }

    private func fits(_ header: RowHeader) -> Bool {
        !header.flags.contains(.tombstone)
            && header.protectionClass == name.service.protectionClass
    }

    /// Whether a value that needs more than the key of its class may be opened here. A value under
    /// a password is not cached, and is read by the general search.
    private func mayOpen(_ header: RowHeader) -> Bool {
        opening && proof != nil && !header.flags.contains(.password)
    }

    /// Checks that the item could be opened, without opening it.
    private func check(_ header: RowHeader) throws(SystemError) -> SecretValue? {
        _ = try state.cipher(opening: header)
        return nil
    }

    private func open(_ row: ValueRow) throws(SystemError) -> ItemResult<SecretValue?> {
        let cipher = try state.cipher(opening: row.header)
        if row.header.flags.presence != nil {
            // An item's demand is read once for each proof, by the search that opens the whole
            // item.
            guard let tag = try? PartTag(of: row.secret), proof?.hasGranted(tag) == true
            else { return Self.unopened }
        }
        let secret = row.secret
        let sealed = try cipher.openValue(row.parts, secret.span, proof)
        guard row.header.flags.contains(.fields) else { return .found(sealed) }
        guard let value = ItemValue.value(inFormWithFields: sealed) else {
            throw .row(.damagedContent)
        }
        return .found(value)
    }
}
