// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
package import ValetSystem

// Keeps small secrets in a TPM 2.0.
//
// The module knows objects and sessions of a TPM, and not what the secrets open. Its calls wait
// for the TPM: never make them on the cooperative thread pool. Its errors never contain a secret
// or an authorization value.

/// Why a call of the TPM failed, beside `malformed` (the bytes are not a sealed object of ours) and
/// `timedOut` (the TPM, or another user of it, did not answer before the deadline).
extension SystemError.Code {
    package static let notBuilt = Self(
        "notBuilt", "this program was built without support for TPMs")
    package static let noDevice = Self("noDevice", "there is no TPM")
    package static let noPermission = Self("noPermission", "this user may not use the TPM")
    package static let connectionLost = Self(
        "connectionLost", "the connection to the TPM was lost")
    /// The TPM does not work, or was not started.
    package static let outOfOrder = Self("outOfOrder", "the TPM does not work")
    /// Another TPM made the object, or this one was cleared since then.
    package static let otherTPM = Self("otherTPM", "this is another TPM, or the TPM was cleared")
    /// The TPM says that the object was changed.
    package static let damagedObject = Self("damagedObject", "it has been changed")
    /// The platform's measurements are not those that the object was bound to.
    package static let policyFailed = Self(
        "policyFailed",
        "the machine was started in another way than when the key was bound to the TPM")
    /// The TPM has no SHA-256 bank with the PCRs that were asked for.
    package static let pcrsUnavailable = Self(
        "pcrsUnavailable", "the TPM does not keep those PCRs in SHA-256")
    /// The authorization value, which is made from the passcode, is wrong.
    package static let wrongAuthorization = Self("wrongAuthorization", "wrong passcode")
    /// Nothing was tried, because few tries are left.
    package static let tooFewTries = Self("tooFewTries", "few tries are left")
    package static let lockedOut = Self("lockedOut", "the TPM refuses all tries")
    /// The operation needs the owner's authorization, which this module never has.
    package static let ownerAuthorizationNeeded = Self(
        "ownerAuthorizationNeeded", "the TPM's owner authorization is needed")
    package static let full = Self("full", "the TPM has no room left")
    /// The TPM refuses for another reason, which the error's text names.
    package static let refused = Self("refused", "the TPM refuses")
    /// As ``refused``, because of the input that the TPM was given.
    static let refusedInput = Self("refusedInput", refused.reason)
    /// The peer does not answer as a TPM does.
    package static let malformedAnswer = Self(
        "malformedAnswer", "the answer of the TPM is invalid")

    static let slowTPM = Self(timedOut.name, "the TPM did not answer in time")

    static func libraryAbsent(_ name: String) -> Self {
        Self(libraryAbsent.name, "the library \(name) cannot be loaded")
    }

    static func wrongAuthorization(triesLeft left: Int) -> Self {
        Self(
            wrongAuthorization.name,
            "wrong passcode: the TPM allows \(left == 1 ? "1 more try" : "\(left) more tries")")
    }

    static func tooFewTries(left: Int, of limit: Int) -> Self {
        Self(
            tooFewTries.name,
            "the passcode was not tried: the TPM allows \(left) more of \(limit) tries")
    }

    static func lockedOut(_ time: Duration) -> Self {
        Self(lockedOut.name, "\(lockedOut.reason) for up to \(time.components.seconds) s")
    }

    fileprivate var hintOnTPM: String? {
        switch self {
        case .notBuilt: "build it with the package trait TPM, on a machine with libtss2-dev"
        case .libraryAbsent:
            "install tpm2-tss, on Debian: apt-get install libtss2-esys-3.0.2-0 libtss2-mu0"
        case .noDevice: "check that /dev/tpmrm0 exists and that the firmware enables the TPM"
        case .otherTPM, .damagedObject, .outOfOrder, .refused, .refusedInput, .malformedAnswer:
            "run `valet recovery use`"
        case .policyFailed: "start the machine as before, or run `valet recovery use`"
        case .pcrsUnavailable: "choose other PCRs, or none"
        case .tooFewTries:
            "wait until the TPM allows more tries, or run `valet unlock --insist`: one more wrong "
                + "try may lock the TPM"
        case .lockedOut: "wait: until then even the right passcode is refused"
        case .ownerAuthorizationNeeded:
            "ask the TPM's owner for the authorization, or for a storage root key at 0x81000001"
        case .full: "find out which programs use the TPM: tpm2_getcap handles-transient"
        default: nil
        }
    }
}

extension SystemError {
    /// An error of a call of the TPM. `systemError` is 0 where the system gave no reason.
    static func tpm(
        _ code: Code, during operation: String, hint: String? = nil, systemError: Int32 = 0
    ) -> SystemError {
        SystemError(
            code, during: operation, hint: hint ?? code.hintOnTPM,
            systemError: systemError == 0 ? nil : systemError)
    }

    /// What an answer of the TPM, or of a layer above it, means. The error's text has the answer.
    static func tpm(_ response: TPMResponse, during operation: String) -> SystemError {
        let code: Code =
            if response.says(.authFail) {
                .wrongAuthorization
            } else if response.says(.lockout) {
                .lockedOut
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
                response.isAboutInput ? .refusedInput : .refused
            }
        return .tpm(Code(code.name, "\(code.reason), \(response)"), during: operation)
    }

    static func tpm(
        opening place: TPMDevice.Place, errno reason: Int32, during operation: String
    ) -> SystemError {
        guard reason == EACCES || reason == EPERM else {
            return .tpm(.noDevice, during: operation, systemError: reason)
        }
        let hint =
            groupName(of: place).map {
                "have an administrator run: usermod -aG \($0) USER; then log in again"
            } ?? "have an administrator give a group the right to use the TPM's device"
        return .tpm(.noPermission, during: operation, hint: hint, systemError: reason)
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
