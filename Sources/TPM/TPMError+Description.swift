// SPDX-License-Identifier: Apache-2.0

extension TPMError: CustomStringConvertible {
    /// One lower-case line: operation, reason and what was answered.
    package var description: String {
        var text = "could not \(operation): \(code.explanation)"
        if let response { text += ", \(response)" }
        if systemError != 0 { text += ", errno \(systemError)" }
        return text
    }

    /// What helps, for a person; nil where nothing but another try would.
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
        case .connectionLost: "the TPM went away"
        case .outOfOrder: "the TPM does not work"
        case .otherTPM: "the TPM is another one, or was cleared"
        case .malformed: "not of the right form"
        case .damaged: "it has been changed"
        case .policyFailed: "this machine has not started as it did when the key was bound to it"
        case .pcrsUnavailable: "the TPM does not keep those PCRs in SHA-256"
        case .wrongAuthorization(.none): "wrong"
        case .wrongAuthorization(.some(let left)): "wrong, \(Self.tries(left)) left"
        case .tooFewTries(let left, let limit): "only \(left) of \(Self.tries(limit)) left"
        case .lockedOut(let time): "the TPM takes no tries for up to \(time.components.seconds) s"
        case .ownerAuthorizationNeeded: "the TPM's owner authorization is needed"
        case .full: "the TPM has no room left"
        case .refused: "the TPM refuses"
        case .malformedAnswer: "the TPM answered nonsense"
        }
    }

    private static func tries(_ count: Int) -> String { count == 1 ? "1 try" : "\(count) tries" }

    /// What helps.
    fileprivate var hint: String? {
        switch self {
        case .notBuilt: "build it with the package trait TPM, on a machine with libtss2-dev"
        case .libraryMissing:
            "install tpm2-tss, on Debian: apt-get install libtss2-esys-3.0.2-0 libtss2-mu0"
        case .noDevice: "look for /dev/tpmrm0, and in the firmware whether the TPM is switched on"
        case .noPermission(.some(let group)):
            "have an administrator run: usermod -aG \(group) USER; then log in anew"
        case .noPermission(.none):
            "have an administrator give a group the right to use the TPM's device"
        case .otherTPM, .damaged: "use the recovery key"
        case .policyFailed: "start the machine as before, or use the recovery key"
        case .pcrsUnavailable: "choose other PCRs, or none"
        case .tooFewTries:
            "wait until the TPM has forgiven some, or insist; one wrong try more may lock it"
        case .lockedOut: "wait; the right passcode is refused as well until then"
        case .ownerAuthorizationNeeded:
            "ask who owns the TPM, or for a storage root key at 0x81000001"
        case .full: "find out who else uses the TPM: tpm2_getcap handles-transient"
        case .timedOut, .connectionLost, .outOfOrder, .malformed, .wrongAuthorization, .refused,
            .malformedAnswer:
            nil
        }
    }
}
