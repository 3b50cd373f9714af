// SPDX-License-Identifier: Apache-2.0

/// Whether and how a person may be asked for a call (spec/secitem.md §10.5).
package struct AuthenticationPolicy: Sendable {
    /// The values of `kSecUseAuthenticationUI`.
    package enum UserInterface: Hashable, Sendable {
        /// A person may be asked.
        case allow
        /// Nobody may be asked: an item that needs it is `interactionNotAllowed`.
        case fail
        /// Nobody may be asked: items that need it are left out.
        case skip
    }

    /// Whether a person may be asked.
    package var userInterface: UserInterface
    /// What the person is told.
    package var reason: String?
    /// What asks; nil for ``DefaultAuthenticator``, which remembers nothing.
    package var authenticator: (any Authenticator)?

    /// By default anybody may be asked.
    package init(
        _ userInterface: UserInterface = .allow, reason: String? = nil,
        authenticator: (any Authenticator)? = nil
    ) {
        self.userInterface = userInterface
        self.reason = reason
        self.authenticator = authenticator
    }

    /// The authenticator that asks, if asking is allowed.
    package var chosenAuthenticator: any Authenticator {
        authenticator ?? DefaultAuthenticator.forProcess
    }
}
