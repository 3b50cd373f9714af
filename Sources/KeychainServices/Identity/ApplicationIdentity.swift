// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
package import ValetKeychainModel
package import ValetKeychainStore

/// The identity of this process for the keychain, and where it comes from (spec/secitem.md
/// §5.3).
package struct ApplicationIdentity: Hashable, Sendable {
    /// Where an identity comes from.
    package enum Source: Hashable, Sendable {
        /// ``ValetKeychain/configure(applicationIdentifier:accessGroups:)``.
        case configured
        /// The property list at this path.
        case entitlements(path: String)
        case flatpak
        case snap
        /// The `Info.plist` at this path.
        case bundle(path: String)
        case executableName
    }

    /// The application identifier and access groups that calls go by.
    package let caller: Caller
    /// Which of the sources gave the identifier.
    package let source: Source
    /// The property list that declares the application's groups, or that would; nil where code
    /// does.
    package let entitlementsPath: String?

    /// The identity of this process: found at first use, the same ever after.
    ///
    /// - Parameter environment: The environment's variables by name; none where they cannot be
    ///   trusted (AT_SECURE, or a real user id that is not the effective one).
    /// - Throws: `insecureFiles`, `invalidRequest` or `inputOutput` for a declaration that cannot
    ///   be used. The next call looks again.
    package static func current(
        environment: (String) -> String?
    ) throws(KeychainFailure) -> ApplicationIdentity {
        if let known = state.withLock({ $0.use(nil) }) { return known }
        // Not under the lock: a child that is forked meanwhile would wait for it for ever.
        let found = try IdentityResolver.ofThisProcess(environment).resolve()
        return state.withLock { $0.use(found) } ?? found
    }

    /// Declares the identity in code; see ``ValetKeychain``.
    static func configure(
        _ applicationIdentifier: String, _ accessGroups: [AccessGroup]
    ) throws(KeychainFailure) {
        let caller = Caller(
            applicationIdentifier: applicationIdentifier, accessGroups: accessGroups,
            executablePath: IdentityResolver.executablePath())
        let identity = ApplicationIdentity(
            caller: caller, source: .configured, entitlementsPath: nil)
        try state.withLock { (state) throws(KeychainFailure) in
            try state.configure(identity)
        }
    }

    private static let state = Mutex(IdentityState.unknown)
}

/// What is settled about the identity of a process.
enum IdentityState: Hashable, Sendable {
    case unknown
    case configured(ApplicationIdentity)
    case inUse(ApplicationIdentity)

    /// Settles on what is known, else on `found`; nil if neither is there.
    mutating func use(_ found: ApplicationIdentity?) -> ApplicationIdentity? {
        switch self {
        case .inUse(let identity): return identity
        case .configured(let identity): self = .inUse(identity)
        case .unknown: if let found { self = .inUse(found) }
        }
        guard case .inUse(let identity) = self else { return nil }
        return identity
    }

    /// Accepts `identity` unless another one is in use.
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
