// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The object behind a `valet_t`: the calls of a valet, on typed values. The functions in
/// `ValueFunctions.swift` call its methods.
final class OpenValet: Sendable {
    let identity: ValetIdentity
    let items: PasswordService
    /// What the user has proved to a single-prompt valet. A child of `fork` begins without any
    /// proof.
    private let proof = ProcessLocal<RememberedProof> { _ in RememberedProof() }

    init(_ identity: ValetIdentity) {
        self.identity = identity
        items = identity.items
    }

    /// Stores a value; does not ask the user.
    func set(_ key: String, _ value: SecretValue, _ options: CallOptions) throws(KeychainFailure) {
        try refuseRetired()
        let session = try options.session()
        let item = identity.demand == nil ? items.item(key) : identity.item(key)
        do {
            try session.set(item, value: value, AuthenticationPolicy(.fail))
        } catch {
            throw identity.demand == nil ? error : error.ofStoring
        }
    }

    func value(_ key: String, _ options: CallOptions) throws(KeychainFailure) -> SecretValue {
        let session = try options.session()
        return try options.explaining { () throws(KeychainFailure) in
            let value = try session.value(of: PasswordName(key, in: items), policy(options))
            guard let value else { throw KeychainFailure(.itemNotFound, during: "read an item") }
            return value
        }
    }

    /// Whether something is stored; does not ask the user, and remembered proofs do not count.
    func contains(_ key: String, _ options: CallOptions) throws(KeychainFailure) -> Bool {
        let session = try options.session()
        return try session.contains(PasswordName(key, in: items), AuthenticationPolicy(.fail))
    }

    /// Deletes what `query` finds, if anything.
    func delete(_ query: ItemQuery, _ options: CallOptions) throws(KeychainFailure) {
        let session = try options.session()
        do {
            try session.delete(query)
        } catch {
            guard error.code == .itemNotFound else { throw error }
        }
    }

    /// The keys, without those of items whose account is not text, and without the canary.
    ///
    /// - Parameter damage: Set if damaged items are left out.
    func keys(
        _ options: CallOptions, noting damage: inout KeychainFailure?
    ) throws(KeychainFailure) -> KeyList {
        let session = try options.session()
        let found = try options.explaining { () throws(KeychainFailure) in
            try session.accountTexts(of: items, identity.demand == nil ? nil : policy(options))
        }
        return KeyList(
            found.readable(noting: &damage).filter { !ServiceName.isCanary($0) })
    }

    func requirePrompt() throws(KeychainFailure) {
        guard identity.kind == .singlePromptSecureEnclaveValet else {
            throw .invalid("only a single-prompt valet remembers that the user was asked")
        }
        proof.value.forget()
    }

    func policy(_ options: CallOptions) -> AuthenticationPolicy {
        let remembers = identity.kind == .singlePromptSecureEnclaveValet
        return AuthenticationPolicy(
            options.mayAsk ? .allow : .fail, reason: options.prompt,
            authenticator: remembers ? proof.value.authenticator : nil)
    }

    func refuseRetired() throws(KeychainFailure) {
        guard identity.accessibility.isRetired else { return }
        throw .invalid(
            "the accessibility is retired, and nothing more can be stored with it",
            hint: "open the valet with another one, and migrate the items to it")
    }

    /// Tries to read a canary item, and stores it if it does not exist. Does not ask the user.
    func canAccess(_ options: CallOptions) throws(KeychainFailure) -> Bool {
        let session = try options.session()
        let value = SecretValue(copying: Array(ServiceName.canaryValue.utf8).span)
        let policy = AuthenticationPolicy(.fail)
        return identity.plain.items.canAccess(
            read: { name throws(KeychainFailure) in
                try session.value(of: name, policy)?.isEqual(to: value) ?? false
            },
            store: { item throws(KeychainFailure) in
                try session.set(item, value: value, policy)
            },
            readAll: { query throws(KeychainFailure) in
                try session.copy(query, .value, policy).itemsUnlessDamaged()
                    .allSatisfy { $0.value?.isEqual(to: value) == true }
            })
    }

    /// Whether the access control requires no fingerprint, or one is enrolled. Does not ask the
    /// user.
    var canMeetAccessControl: Bool {
        guard let demand = identity.demand, demand.takesBiometry else { return true }
        return !ContextAuthenticator(.ofProcess, store: nil).enrolments.isEmpty
    }
}

private final class RememberedProof: Sendable {
    private let current = Lock(ContextAuthenticator(.ofProcess, store: nil))

    var authenticator: ContextAuthenticator { current.withLock { $0 } }

    func forget() {
        let forgotten = current.withLock { current in
            defer { current = ContextAuthenticator(.ofProcess, store: nil) }
            return current
        }
        forgotten.invalidate()
    }
}

extension CallOptions {
    func session() throws(KeychainFailure) -> KeychainSession {
        let session = try KeychainSession.current()
        return deadline.map { session.ending(at: $0) } ?? session
    }

    /// Runs `body`, which may ask the user. If the call may not ask, the failure says how to allow
    /// it.
    func explaining<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do {
            return try body()
        } catch {
            guard error.code == .interactionNotAllowed, !mayAsk, error.advice == nil else {
                throw error
            }
            throw KeychainFailure(error, hint: "set `VALET_MAY_ASK` in the options of the call")
        }
    }
}
