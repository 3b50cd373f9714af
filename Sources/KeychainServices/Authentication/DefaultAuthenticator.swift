// SPDX-License-Identifier: Apache-2.0

package import Database
package import KeychainModel
package import KeychainStore

/// The authenticator of calls that name none. It knows nobody to ask.
package struct DefaultAuthenticator: Authenticator {
    /// The one of this process.
    package static let forProcess: any Authenticator = DefaultAuthenticator()

    /// - Throws: `interactionNotAllowed`.
    package func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        throw KeychainFailure(.interactionNotAllowed, during: "authenticate")
    }

    /// None.
    package func enrolment() throws(KeychainFailure) -> [UInt8]? { nil }
}
