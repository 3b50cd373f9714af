// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The error of the module, which keeps small secrets in a TPM 2.0: the operation, the reason, the
/// TPM's answer. It never contains a secret or an authorization value.
///
/// The module knows objects and sessions of a TPM, and not what the secrets open. Its calls wait
/// for the TPM: never make them on the cooperative thread pool.
package struct TPMError: Error, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The program was built without the package trait `TPM`.
        case notBuilt
        /// The library of that name cannot be loaded.
        case libraryMissing(String)
        /// There is no TPM at its place.
        case noDevice
        /// The user may not use the TPM; members of the group may, if one is given.
        case noPermission(group: String?)
        /// The TPM, or another user of it, did not respond before the deadline.
        case timedOut
        /// The connection to the TPM was lost during the call.
        case connectionLost
        /// The TPM does not work, or was not started.
        case outOfOrder
        /// Another TPM made the object, or this one was cleared since then.
        case otherTPM
        /// The bytes are not a sealed object of ours.
        case malformed
        /// The TPM says that the object was changed.
        case damaged
        /// The platform's measurements are not those that the object was bound to.
        case policyFailed
        /// The TPM has no SHA-256 bank with the PCRs that were asked for.
        case pcrsUnavailable
        /// The authorization value is wrong. The number of remaining tries, if the TPM reports it.
        case wrongAuthorization(triesLeft: Int?)
        /// Nothing was tried, because few tries are left.
        case tooFewTries(left: Int, of: Int)
        /// The TPM refuses all tries, for at most this long.
        case lockedOut(Duration)
        /// The operation needs the owner's authorization, which this module never has.
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
    /// The answer of the TPM or of a layer above it, if there is one.
    package let response: TPMResponse?
    /// `errno` if the system gave a reason, otherwise 0.
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

    /// The same error with another code.
    func meaning(_ code: Code) -> TPMError {
        TPMError(code, during: operation, response: response, systemError: systemError)
    }
}

extension TPMError {
    /// The general meaning of an answer.
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

extension TPMError: CustomStringConvertible {
    /// One lower-case line: operation, reason and answer.
    package var description: String {
        var text = "could not \(operation): \(code.explanation)"
        if let response { text += ", \(response)" }
        if systemError != 0 { text += ", errno \(systemError)" }
        return text
    }

    /// What helps, for a person; nil if only another try helps.
    package var hint: String? { code.hint }
}

extension TPMError.Code {
    /// The reason in words: lower case, no full stop.
    package var explanation: String {
        switch self {
        case .notBuilt: "this program was built without support for TPMs"
        case .libraryMissing(let name): "the library \(name) cannot be loaded"
        case .noDevice: "there is no TPM"
        case .noPermission: "this user may not use the TPM"
        case .timedOut: "the TPM did not answer in time"
        case .connectionLost: "the connection to the TPM was lost"
        case .outOfOrder: "the TPM does not work"
        case .otherTPM: "this is another TPM, or the TPM was cleared"
        case .malformed: "not of the right form"
        case .damaged: "it has been changed"
        case .policyFailed:
            "the machine was started in another way than when the key was bound to the TPM"
        case .pcrsUnavailable: "the TPM does not keep those PCRs in SHA-256"
        case .wrongAuthorization(.none): "wrong"
        case .wrongAuthorization(.some(let left)): "wrong, \(Self.tries(left)) left"
        case .tooFewTries(let left, let limit): "only \(left) of \(Self.tries(limit)) left"
        case .lockedOut(let time):
            "the TPM refuses all tries for up to \(time.components.seconds) s"
        case .ownerAuthorizationNeeded: "the TPM's owner authorization is needed"
        case .full: "the TPM has no room left"
        case .refused: "the TPM refuses"
        case .malformedAnswer: "the answer of the TPM is invalid"
        }
    }

    private static func tries(_ count: Int) -> String { count == 1 ? "1 try" : "\(count) tries" }

    /// What helps.
    fileprivate var hint: String? {
        switch self {
        case .notBuilt: "build it with the package trait TPM, on a machine with libtss2-dev"
        case .libraryMissing:
            "install tpm2-tss, on Debian: apt-get install libtss2-esys-3.0.2-0 libtss2-mu0"
        case .noDevice: "check that /dev/tpmrm0 exists and that the firmware enables the TPM"
        case .noPermission(.some(let group)):
            "have an administrator run: usermod -aG \(group) USER; then log in again"
        case .noPermission(.none):
            "have an administrator give a group the right to use the TPM's device"
        case .otherTPM, .damaged: "use the recovery key"
        case .policyFailed: "start the machine as before, or use the recovery key"
        case .pcrsUnavailable: "choose other PCRs, or none"
        case .tooFewTries:
            "wait until the TPM allows more tries, or insist: one more wrong try may lock it"
        case .lockedOut: "wait: until then even the right passcode is refused"
        case .ownerAuthorizationNeeded:
            "ask the TPM's owner for the authorization, or for a storage root key at 0x81000001"
        case .full: "find out which programs use the TPM: tpm2_getcap handles-transient"
        case .timedOut, .connectionLost, .outOfOrder, .malformed, .wrongAuthorization, .refused,
            .malformedAnswer:
            nil
        }
    }
}

extension TPMError {
    /// Why the TPM cannot be opened.
    init(opening place: TPMDevice.Place, errno reason: Int32, during operation: String) {
        let code: Code =
            switch reason {
            case EACCES, EPERM: .noPermission(group: Self.groupName(of: place))
            default: .noDevice
            }
        self.init(code, during: operation, systemError: reason)
    }

    /// The name or number of the group whose members may use the device; nil if the group may not,
    /// or the rights are unknown.
    private static func groupName(of place: TPMDevice.Place) -> String? {
        var facts = stat()
        guard unsafe stat(place.path, &facts) == 0, facts.st_mode & 0o060 == 0o060 else {
            return nil
        }
        var room = [CChar](repeating: 0, count: 4096)
        var entry = unsafe group()
        var found: UnsafeMutablePointer<group>?
        let result = unsafe getgrgid_r(facts.st_gid, &entry, &room, room.count, &found)
        guard result == 0, unsafe found != nil, let name = unsafe entry.gr_name else {
            return "\(facts.st_gid)"
        }
        return unsafe String(cString: name)
    }
}
