// SPDX-License-Identifier: Apache-2.0

/// Keeps small secrets in a TPM 2.0.
///
/// The module knows objects and sessions of a TPM; what the secrets open is its caller's
/// concern. Its calls wait for the TPM: never make them on the cooperative thread pool.
///
/// This is the one error of the module: what was being done, why it failed, what the TPM answered.
/// No secret and no authorization value is ever part of it.
package struct TPMError: Error, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The program was built without the package trait `TPM`.
        case notBuilt
        /// The library of that name cannot be loaded.
        case libraryMissing(String)
        /// There is no TPM at the place where it should be.
        case noDevice
        /// The user may not use the TPM; members of the group may, if there is one.
        case noPermission(group: String?)
        /// The TPM, or others who use it, kept us waiting beyond the deadline.
        case timedOut
        /// The TPM's peer went away in the middle.
        case connectionLost
        /// The TPM does not work, or was not started.
        case outOfOrder
        /// The TPM is not the one that the object was made by, or it was cleared since.
        case otherTPM
        /// The bytes are not a sealed object of ours.
        case malformed
        /// The TPM says that the object was changed.
        case damaged
        /// The platform's measurements are not those that the object was bound to.
        case policyFailed
        /// The TPM has no SHA-256 bank with the PCRs that were asked for.
        case pcrsUnavailable
        /// The authorization value is wrong; so many tries are left, if the TPM says so.
        case wrongAuthorization(triesLeft: Int?)
        /// Nothing was tried: so few tries are left, of so many.
        case tooFewTries(left: Int, of: Int)
        /// The TPM refuses tries, the next one for at most this long.
        case lockedOut(Duration)
        /// It takes the owner's authorization, and that was not given or is wrong.
        case ownerAuthorizationNeeded
        /// The TPM has no room for one more object or session.
        case full
        /// The TPM refuses for another reason; ``TPMError/response`` says which.
        case refused
        /// The peer does not answer as a TPM does.
        case malformedAnswer
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done: "unseal the device secret".
    package let operation: String
    /// What the TPM or a layer above it answered, if it did.
    package let response: TPMResponse?
    /// `errno`, where the system gave a reason; else 0.
    package let systemError: Int32

    init(
        _ code: Code, during operation: String, response: TPMResponse? = nil,
        systemError: Int32 = 0
    ) {
        self.code = code
        self.operation = operation
        self.response = response
        self.systemError = systemError
    }

    /// The same with a meaning that only its caller knows.
    func meaning(_ code: Code) -> TPMError {
        TPMError(code, during: operation, response: response, systemError: systemError)
    }
}

extension TPMError {
    /// What an answer means that no caller knows more about.
    init(_ response: TPMResponse, during operation: String) {
        let code: Code =
            if response.says(.authFail) {
                .wrongAuthorization(triesLeft: nil)
            } else if response.says(.badAuth) {
                .ownerAuthorizationNeeded
            } else if response.says(.policyFail) || response.says(.policy)
                || response.says(.pcrChanged)
            {
                .policyFailed
            } else if response.isAboutRoom {
                .full
            } else if response.says(.initialize) || response.says(.failure) {
                .outOfOrder
            } else {
                .refused
            }
        self.init(code, during: operation, response: response)
    }
}
