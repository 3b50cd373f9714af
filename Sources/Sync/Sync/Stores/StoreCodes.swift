// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

// Why a store could not be used.

extension KeychainFailure.Code {
    /// The folder is not mounted, no server answers, or the circle is not here: try later.
    package static let storeUnavailable = Self(
        "storeUnavailable", status: -25291, "the store is not available")
    /// The store refuses this user or this device: its credentials or permissions must change.
    package static let storeDenied = Self(
        "storeDenied", status: -25291, "the store refuses access")
    /// There is no room. Nothing was written.
    package static let storeFull = Self("storeFull", status: -34, "the store is full")
    /// The deadline passed. Of an append nothing was written; make any other call again.
    package static let storeTimedOut = Self(
        "storeTimedOut", status: -25291, "the store did not answer in time")
    /// The deadline passed, and a server may still make the change: make the same call again.
    package static let storeOutcomeUnknown = Self(
        "storeOutcomeUnknown", status: -25291,
        "the store did not say in time whether it made the change")
    /// The store answered with something that it must not answer with.
    package static let storeMalformed = Self(
        "storeMalformed", status: -25291, "the store gave an answer that makes no sense")
    /// The address, or a file that goes with it, cannot be used: it must change.
    package static let badStoreAddress = Self(
        "badStoreAddress", status: -50, "the address of the store cannot be used")

    /// All of them.
    package static let ofStores: [Self] = [
        .storeUnavailable, .storeDenied, .storeFull, .storeTimedOut, .storeOutcomeUnknown,
        .storeMalformed, .badStoreAddress,
    ]

    fileprivate var hintOnStores: String? {
        switch self {
        case .storeUnavailable: "mount the folder, or start the server; sync goes on by itself"
        case .storeDenied: "check the permissions of the folder, or the user and certificate"
        case .storeFull: "make room in the store; sync goes on by itself"
        case .storeTimedOut, .storeOutcomeUnknown:
            "check the network and the servers; sync tries again"
        case .storeMalformed: "check that the address is that of a store"
        default: nil
        }
    }
}

extension KeychainFailure {
    /// The failure of a call of a store.
    ///
    /// - Parameters:
    ///   - reason: What the system or the server said, in one line; never bytes of a message.
    ///   - hint: The remedy. Without one, it is the one that all failures of this code have.
    package static func store(
        _ code: Code, during operation: String, reason: String? = nil, hint: String? = nil
    ) -> KeychainFailure {
        KeychainFailure(
            code, during: operation, message: reason.map { "\(code.explanation) (\($0))" },
            hint: hint ?? code.hintOnStores)
    }
}
