// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSystem

/// The identity of this process for the keychain, and its source (spec/secitem.md
/// §5.3).
package struct ApplicationIdentity: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// ``ValetKeychain/configure(applicationIdentifier:accessGroups:)``.
        case configured
        case entitlements(path: String)
        case flatpak
        case snap
        case bundle(path: String)
        case executableName
    }

    /// The application identifier and access groups of the process's calls.
    package let caller: Caller
    package let source: Source
    /// The property list that declares the application's groups, or that would if it existed; nil
    /// where code declares them.
    package let entitlementsPath: String?

    /// The identity of this process: determined at first use, and the same from then on.
    ///
    /// - Parameter environment: Returns an environment variable by name; nil for all of them where
    ///   they cannot be trusted (AT_SECURE, or a real user id other than the effective one).
    /// - Throws: `insecureFiles`, `invalidRequest` or `inputOutput` for an unusable declaration.
    ///   The next call looks again.
    package static func current(
        environment: (String) -> String?
    ) throws(KeychainFailure) -> ApplicationIdentity {
        if let known = state.withLock({ $0.use(nil) }) { return known }
        // Not under the mutex: a child that is forked in between would wait for it forever.
        let found = try IdentityResolver.ofThisProcess(environment).resolve()
        return state.withLock { $0.use(found) } ?? found
    }

    /// Declares the identity in code; see ``ValetKeychain``.
    static func configure(
        _ applicationIdentifier: String, _ accessGroups: [AccessGroup]
    ) throws(KeychainFailure) {
        let caller = Caller(
            applicationIdentifier: applicationIdentifier, accessGroups: accessGroups)
        let identity = ApplicationIdentity(
            caller: caller, source: .configured, entitlementsPath: nil)
        try state.withLock { (state) throws(KeychainFailure) in
            try state.configure(identity)
        }
    }

    private static let state = Lock(IdentityState.unknown)

    /// How the application can get a group that it lacks.
    var groupAdvice: Advice {
        switch (source, entitlementsPath) {
        case (.entitlements(let path), _):
            .text("list the group under keychain-access-groups in \(path)")
        case (_, let path):
            .call(
                .configure, purpose: "with the group",
                alternative: path.map {
                    "create \($0), a property list that has it under keychain-access-groups"
                })
        }
    }
}

enum IdentityState: Hashable, Sendable {
    case unknown
    case configured(ApplicationIdentity)
    case inUse(ApplicationIdentity)

    /// Puts the known identity, or else `found`, into use; nil if there is neither.
    mutating func use(_ found: ApplicationIdentity?) -> ApplicationIdentity? {
        switch self {
        case .inUse(let identity): return identity
        case .configured(let identity): self = .inUse(identity)
        case .unknown: if let found { self = .inUse(found) }
        }
        guard case .inUse(let identity) = self else { return nil }
        return identity
    }

    /// Declares `identity`.
    ///
    /// - Throws: `invalidRequest` if the identity of another caller is in use.
    mutating func configure(_ identity: ApplicationIdentity) throws(KeychainFailure) {
        guard case .inUse(let used) = self else { return self = .configured(identity) }
        if used.caller != identity.caller {
            throw KeychainFailure(
                .invalidRequest, during: "configure the keychain",
                message: "the keychain is in use as \(used.caller.applicationIdentifier)",
                hint: "configure it before anything else uses it")
        }
    }
}
