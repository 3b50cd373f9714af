// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import ValetKeychainModel
internal import ValetSecItemRequests

// Exported, so that importers of this module have the members of the types that it shows, too,
// under `MemberImportVisibility`; one by one, because the rest of these modules is not for them.
@_exported public import struct ValetKeychainModel.KeychainFailure

#if canImport(Darwin) || VALET_APPLE_BRANCHES
    #if !os(tvOS)
        internal import LocalAuthentication
    #endif
#else
    public import ValetKeychainServices
    internal import ValetSecItem
    internal import ValetSecretMemory

    @_exported public import enum ValetKeychainServices.ValetKeychain
#endif

/// Why a keychain call failed, in full: code, operation, path, system error, hint.
public typealias KeychainFailure = ValetKeychainModel.KeychainFailure

#if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
    /// The keychain of this process: who the application is.
    public typealias ValetKeychain = ValetKeychainServices.ValetKeychain
#endif

#if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
    extension ValetKeychain {
        /// Waits until items of an accessibility can be read.
        ///
        /// Without a passcode, and where there is no keychain, it returns at once: nothing has to
        /// be unlocked then. What can be read may be locked again a moment later.
        ///
        /// - Throws: ``KeychainFailure``: `locked` when the deadline passes, `timedOut` if the
        ///   state could not be found out by then, `userCancelled` if the task was cancelled. At
        ///   once: `keyUnavailable` and `incomplete`, which waiting does not mend.
        public static func waitUntilAvailable(
            for accessibility: Accessibility, deadline: ContinuousClock.Instant
        ) async throws(KeychainFailure) {
            try await KeychainSession.current().waitUntilAvailable(
                for: accessibility.protectionClass, deadline: deadline)
        }
    }
#endif

/// What differs between the systems.
enum Platform {
    #if canImport(Darwin) || VALET_APPLE_BRANCHES
        /// The keychain of this system.
        static let backend: any KeychainBackend = SecItemKeychain()
        /// The valets of this process.
        static let registry = ValetRegistry()
        /// Whether the last failure of a thread can be read in full.
        static let keepsLastFailure = false
    #else
        /// The keychain of this system.
        static let backend: any KeychainBackend = StoreKeychain()
        /// The valets of this process.
        static var registry: ValetRegistry { registries.value }
        private static let registries = ProcessLocal { ValetRegistry(inherited: $0) }
        /// Whether the last failure of a thread can be read in full.
        static let keepsLastFailure = true
    #endif

    #if os(macOS)
        /// Whether app groups have other prefixes than `group`.
        static let takesAnyGroupPrefix = true
        /// Whether there is a keychain in files beside the data protection keychain.
        static let hasFileKeychain = true
    #else
        /// Whether app groups have other prefixes than `group`.
        static let takesAnyGroupPrefix = false
        /// Whether there is a keychain in files beside the data protection keychain.
        static let hasFileKeychain = false
    #endif

    /// The last failure of this thread, where it is known in full.
    static var lastFailure: KeychainFailure? {
        #if canImport(Darwin) || VALET_APPLE_BRANCHES
            nil
        #else
            KeychainFailure.last
        #endif
    }

    /// `body`, which uses the keychain that this task does on whatever thread it is called.
    static func carrying<R, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) -> @Sendable () throws(E) -> R {
        #if canImport(Darwin) || VALET_APPLE_BRANCHES
            body
        #else
            KeychainSession.carrying(body)
        #endif
    }

    /// Does `body`, a search that leaves out damaged items; fails if there is such an item.
    ///
    /// - Throws: `damaged`, and what `body` throws.
    static func refusingDamage<R>(
        when isRefused: Bool = true, _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        #if canImport(Darwin) || VALET_APPLE_BRANCHES
            return try body()
        #else
            guard isRefused else { return try body() }
            // The only trace that a search leaves of what it left out.
            let before = KeychainFailure.last
            KeychainFailure.last = nil
            let result = try body()
            if let damage = KeychainFailure.last, damage.code == .damaged { throw damage }
            KeychainFailure.last = before
            return result
        #endif
    }

    /// Makes `failure` the last one of this thread.
    static func keep(_ failure: KeychainFailure) {
        #if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
            KeychainFailure.last = failure
        #endif
    }
}

#if os(tvOS)
    /// Nobody: there are no contexts on tvOS, whose items ask for no more than an unlocked device.
    struct Authentication: Sendable {
        func saying(_ prompt: String) -> Authentication { self }
        func forget() {}
        var canShowBiometry: Bool { false }
        func added(to query: [String: Any]) -> [String: Any] { query }
    }
#else
    /// A person who is asked, and what they have proved so far.
    // Sendable because a context may be used from every thread.
    struct Authentication: @unchecked Sendable {
        private let context: LAContext
        private var prompt: String?

        /// A person who has proved nothing yet.
        init() {
            self.init(LAContext())
        }

        /// The person that `context` asks.
        init(_ context: LAContext) {
            self.context = context
        }

        /// The same person, who is asked with these words.
        func saying(_ prompt: String) -> Authentication {
            var authentication = self
            authentication.prompt = prompt.isEmpty ? nil : prompt
            return authentication
        }

        /// Forgets what was proved, for good.
        func forget() { context.invalidate() }

        /// Whether there is a reader, and a finger or face that the person could show; asks nobody.
        var canShowBiometry: Bool {
            #if os(watchOS)
                return false
            #elseif canImport(Darwin) || VALET_APPLE_BRANCHES
                var error: NSError?
                let isPossible = unsafe context.canEvaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, error: &error)
                // After too many tries it is locked until the passcode was given, and no longer.
                return isPossible || error?.code == LAError.Code.biometryLockout.rawValue
            #else
                // Not the policy: that would take somebody who can be asked at this moment, too.
                return (try? context.enrolments())?.isEmpty == false
            #endif
        }

        /// `query` for what the person may read.
        func added(to query: [String: Any]) -> [String: Any] {
            #if !os(watchOS)
                if let prompt { context.localizedReason = prompt }
            #endif
            return query.merging([SecItemKey.authenticationContext: context]) { $1 }
        }

        #if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
            /// How a call of the embedded keychain asks the person.
            var policy: AuthenticationPolicy {
                AuthenticationPolicy(.allow, reason: prompt, authenticator: context)
            }
        #endif
    }
#endif

#if os(macOS) || VALET_APPLE_BRANCHES
    extension Valet {
        /// Copies the items that this valet kept before macOS 10.15, in the keychain that files
        /// hold, into the data protection keychain. The old items stay.
        ///
        /// - Throws: What ``migrateObjects(matching:removeOnCompletion:)`` throws.
        public func migrateObjectsFromPreCatalina() throws {
            try migrate(try itemsInFiles(of: sandbox.service), removing: false)
        }
    }
#endif
