// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The object behind a `valet_t`: the calls of a valet, on typed values. The functions in
/// `ValueFunctions.swift` make them.
final class OpenValet: Sendable {
    let identity: ValetIdentity
    let items: PasswordService
    /// What the user has proved to a single-prompt valet. A child of `fork` begins without.
    private let proof = ProcessLocal<RememberedProof> { _ in RememberedProof() }

    init(_ identity: ValetIdentity) {
        self.identity = identity
        items = identity.items
    }

    /// Stores a value; does not ask the user.
    func set(_ key: String, _ value: SecretValue, _ options: CallOptions) throws(CallFailure) {
        try refuseRetired()
        let session = try options.session()
        let item = identity.demand == nil ? items.item(key) : identity.item(key)
        do {
            try session.set(item, value: value, AuthenticationPolicy(.fail))
        } catch {
            throw identity.demand == nil ? .keychain(error) : .storing(error)
        }
    }

    func value(_ key: String, _ options: CallOptions) throws(CallFailure) -> SecretValue {
        let session = try options.session()
        return try options.explaining { () throws(KeychainFailure) in
            let value = try session.value(of: PasswordName(key, in: items), policy(options))
            guard let value else { throw KeychainFailure(.itemNotFound, during: "read an item") }
            return value
        }
    }

    /// Whether something is stored; does not ask the user, and remembered proofs do not count.
    func contains(_ key: String, _ options: CallOptions) throws(CallFailure) -> Bool {
        let session = try options.session()
        return try keychain { () throws(KeychainFailure) in
            try session.contains(PasswordName(key, in: items), AuthenticationPolicy(.fail))
        }
    }

    func remove(_ key: String, _ options: CallOptions) throws(CallFailure) {
        try delete(PasswordName(key, in: items).query, options)
    }

    func removeAll(_ options: CallOptions) throws(CallFailure) {
        try delete(items.query, options)
    }

    private func delete(_ query: ItemQuery, _ options: CallOptions) throws(CallFailure) {
        let session = try options.session()
        do {
            try session.delete(query)
        } catch {
            guard error.code == .itemNotFound else { throw .keychain(error) }
        }
    }

    /// The keys, without those of items whose account is not text, and without the canary.
    func keys(_ options: CallOptions) throws(CallFailure) -> KeyList {
        let session = try options.session()
        let accounts = try options.explaining { () throws(KeychainFailure) in
            do throws(KeychainFailure) {
                guard identity.demand != nil else {
                    return try session.accounts(of: items).itemsReportingDamage()
                }
                let found = try session.copy(items.query, .attributes, policy(options))
                return found.itemsReportingDamage().compactMap { $0.attributes[.account] }
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return []
            }
        }
        return KeyList(
            accounts.compactMap { account in
                guard case .text(let key) = account, !ServiceName.isCanary(key) else {
                    return nil
                }
                return key
            })
    }

    /// Makes the next read ask the user, and ends an open question.
    func requirePrompt() throws(CallFailure) {
        guard identity.kind == .singlePromptSecureEnclaveValet else {
            throw .invalid("only a single-prompt valet remembers that the user was asked")
        }
        proof.value.forget()
    }

    /// How a read may ask the user.
    func policy(_ options: CallOptions) -> AuthenticationPolicy {
        let remembers = identity.kind == .singlePromptSecureEnclaveValet
        return AuthenticationPolicy(
            options.mayAsk ? .allow : .fail, reason: options.prompt,
            authenticator: remembers ? proof.value.authenticator : nil)
    }

    /// Refuses to store what only older versions stored.
    func refuseRetired() throws(CallFailure) {
        guard identity.accessibility.isRetired else { return }
        throw .invalid(
            "the accessibility is retired, and nothing more can be stored with it",
            hint: "open the valet with another one, and migrate the items to it")
    }
}

/// Whether the keychain works for a valet.
extension OpenValet {
    /// Tries to read a canary item, and stores it if it does not exist. Does not ask the user.
    func canAccess(_ options: CallOptions) throws(CallFailure) -> Bool {
        guard identity.demand != nil else { return canAccess(try options.session()) }
        return try OpenValet(identity.plain).canAccess(options)
    }

    /// Whether the access control requires no finger, or one is enrolled. Does not ask the user.
    var canMeetAccessControl: Bool {
        guard let demand = identity.demand, demand.takesBiometry else { return true }
        return !ContextAuthenticator(.ofProcess, store: nil).enrolments.isEmpty
    }

    private func canAccess(_ session: KeychainSession) -> Bool {
        let canary = PasswordName(ServiceName.canaryAccount, in: items)
        let policy = AuthenticationPolicy(.fail)
        do {
            do {
                return Self.isCanary(try session.value(of: canary, policy))
            } catch {
                guard !identity.accessibility.isRetired else { return error.code == .itemNotFound }
            }
            let value = SecretBytes(takingOver: Array(ServiceName.canaryValue.utf8))
            try session.set(items.item(canary.account), value: SecretValue(value), policy)
            return Self.isCanary(try session.value(of: canary, policy))
        } catch {
            return error.code == .duplicateItem && canAccessOther(canary, session)
        }
    }

    /// Whether a canary with this name that a valet of another accessibility stored can be read.
    ///
    /// The keychain reports a duplicate only if the protection class of this valet's items is
    /// open. So a canary whose own class is locked says nothing against this valet.
    private func canAccessOther(_ canary: PasswordName, _ session: KeychainSession) -> Bool {
        var query = canary.query
        query.protectionClass = nil
        query.limit = nil
        do {
            let found = try session.copy(query, .value, AuthenticationPolicy(.fail))
            return try found.itemsUnlessDamaged().allSatisfy { Self.isCanary($0.value) }
        } catch {
            return [.locked, .interactionNotAllowed, .itemNotFound].contains(error.code)
        }
    }

    private static func isCanary(_ value: SecretValue?) -> Bool {
        value?.withBytes { (bytes: Span<UInt8>) in
            bytes.count == ServiceName.canaryValue.utf8.count
                && zip(bytes.indices, ServiceName.canaryValue.utf8).allSatisfy { bytes[$0] == $1 }
        } ?? false
    }
}

/// What the user has proved to one valet, until the valet forgets it.
private final class RememberedProof: Sendable {
    private let current = Lock(ContextAuthenticator(.ofProcess, store: nil))

    /// Keeps all that the user has proved so far.
    var authenticator: ContextAuthenticator { current.withLock { $0 } }

    /// Forgets what was proved, and ends an open question.
    func forget() {
        let forgotten = current.withLock { current in
            defer { current = ContextAuthenticator(.ofProcess, store: nil) }
            return current
        }
        forgotten.invalidate()
    }
}

extension CallOptions {
    /// The session of this process, for one call.
    func session() throws(CallFailure) -> KeychainSession {
        let session = try keychain { () throws(KeychainFailure) in try KeychainSession.current() }
        return deadline.map { session.ending(at: $0) } ?? session
    }

    /// Runs `body`, which may ask the user. If it may not, its failure says how to allow it.
    func explaining<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(CallFailure) -> R {
        do {
            return try body()
        } catch {
            guard error.code == .interactionNotAllowed, !mayAsk, error.advice == nil else {
                throw .keychain(error)
            }
            throw .keychain(
                KeychainFailure(error, hint: "set `VALET_MAY_ASK` in the options of the call"))
        }
    }
}
