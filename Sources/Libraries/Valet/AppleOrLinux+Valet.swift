// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
public import ValetKeychainModel

// The differences between the systems, except for the Objective-C interface.
//
// Types of other modules that appear in this module's API are exported, because importers of this
// module could not use their members otherwise under `MemberImportVisibility`. They are exported
// one by one: what else those modules have is not part of this API.
@_exported public import struct ValetKeychainModel.KeychainFailure

#if canImport(Darwin) || VALET_APPLE_BRANCHES
    #if !os(tvOS)
        internal import LocalAuthentication
    #endif
#else
    public import ValetKeychainServices
    internal import ValetSecItem
    internal import ValetSealing

    @_exported public import enum ValetKeychainServices.ValetKeychain
#endif

/// The full reason why a keychain call failed: code, operation, path, system error, hint.
public typealias KeychainFailure = ValetKeychainModel.KeychainFailure

#if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
    /// The keychain of this process: the application's identity and the lock state.
    public typealias ValetKeychain = ValetKeychainServices.ValetKeychain

    extension ValetKeychain {
        /// Waits until items of an accessibility can be read.
        ///
        /// Returns at once if there is no keychain or no passcode: nothing has to be unlocked then.
        /// The keychain may be locked again a moment later.
        ///
        /// - Throws: ``KeychainFailure``: `locked` when the deadline passes, `timedOut` if the
        ///   state is still unknown by then, `userCancelled` if the task is cancelled.
        ///   `keyUnavailable` and `incomplete` are thrown at once, because waiting does not change
        ///   them.
        public static func waitUntilAvailable(
            for accessibility: Accessibility, deadline: ContinuousClock.Instant
        ) async throws(KeychainFailure) {
            try await KeychainSession.current().waitUntilAvailable(
                for: accessibility.protectionClass, deadline: deadline)
        }
    }
#endif

enum Platform {
    #if canImport(Darwin) || VALET_APPLE_BRANCHES
        static let backend: any KeychainBackend = SecItemKeychain()
        static let registry = ValetRegistry()
        /// Whether the last failure of a thread can be read in full.
        static let keepsLastFailure = false
    #else
        static let backend: any KeychainBackend = StoreKeychain()
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

    /// Wraps `body` so that, on any thread, it uses the keychain of this task.
    static func carrying<R, E: Error>(
        _ body: @escaping @Sendable () throws(E) -> R
    ) -> @Sendable () throws(E) -> R {
        #if canImport(Darwin) || VALET_APPLE_BRANCHES
            body
        #else
            KeychainSession.carrying(body)
        #endif
    }

    static func keep(_ failure: KeychainFailure) {
        #if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
            KeychainFailure.last = failure
        #endif
    }
}

#if os(tvOS)
    /// A placeholder for tvOS, where items require no more than an unlocked device.
    struct Authentication: Sendable {
        func saying(_ prompt: String) -> Authentication { self }
        func forget() {}
        var canShowBiometry: Bool { false }
        func added(to query: [String: Any]) -> [String: Any] { query }
    }
#else
    /// How to ask the user, and what the user has proved so far.
    // Sendable because a context may be used from every thread.
    struct Authentication: @unchecked Sendable {
        private let context: LAContext
        private var prompt: String?

        init() {
            self.init(LAContext())
        }

        init(_ context: LAContext) {
            self.context = context
        }

        /// The same authentication, whose question shows `prompt` as its reason.
        func saying(_ prompt: String) -> Authentication {
            var authentication = self
            authentication.prompt = prompt.isEmpty ? nil : prompt
            return authentication
        }

        func forget() { context.invalidate() }

        /// Whether there is a reader with an enrolled finger or face. Does not ask the user.
        var canShowBiometry: Bool {
            #if os(watchOS)
                return false
            #elseif canImport(Darwin) || VALET_APPLE_BRANCHES
                var error: NSError?
                let isPossible = unsafe context.canEvaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, error: &error)
                // After too many tries biometry is locked only until the passcode is entered.
                return isPossible || error?.code == LAError.Code.biometryLockout.rawValue
            #else
                // Not `canEvaluatePolicy`: it also requires that the user can be asked now.
                return context.hasEnrolledFinger
            #endif
        }

        func added(to query: [String: Any]) -> [String: Any] {
            #if !os(watchOS)
                if let prompt { context.localizedReason = prompt }
            #endif
            return query.merging([SecItemKey.authenticationContext: context]) { $1 }
        }

        #if !(canImport(Darwin) || VALET_APPLE_BRANCHES)
            var policy: AuthenticationPolicy {
                AuthenticationPolicy(.allow, reason: prompt, authenticator: context.asking)
            }
        #endif
    }
#endif

#if os(macOS) || VALET_APPLE_BRANCHES
    extension Valet {
        /// Copies the items that this valet stored before macOS 10.15, in the file-based keychain,
        /// into the data protection keychain. The old items stay.
        ///
        /// - Throws: The errors of ``migrateObjects(matching:removeOnCompletion:)``.
        public func migrateObjectsFromPreCatalina() throws {
            try migrate(try itemsInFiles(of: sandbox.service), removing: false)
        }
    }
#endif
