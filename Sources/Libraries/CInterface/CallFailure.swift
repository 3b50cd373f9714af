// SPDX-License-Identifier: Apache-2.0

internal import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetSystem

/// Why a call of the C interface failed.
enum CallFailure: Error {
    case keychain(KeychainFailure)
    /// A call that stores does not ask the user, so a failed authentication means that the item
    /// could not be bound to a finger.
    case storing(KeychainFailure)
    case emptyKey
    case emptyValue
    case migration(MigrationRefusal)
    /// The program's function returned none of the `VALET_PAIR` values.
    case noAnswer

    /// The failure of a call with an argument that the header does not allow.
    static func invalid(_ message: String, hint: String? = nil) -> CallFailure {
        .keychain(
            KeychainFailure(
                .invalidRequest, during: "make the call", message: message, hint: hint))
    }
}

/// The last failure of a thread, as `valet_last_error` reports it.
struct LastError {
    let status: valet_status
    let domain: Int32
    let code: Int32
    let reason: Int32
    let message: String
    let hint: String

    /// Like `errno`, it is not reset by calls that succeed.
    static let ofThread = ThreadLocal<LastError>()

    init(_ failure: CallFailure) {
        var domain = VALET_ERROR_KEYCHAIN
        var hint: String?
        switch failure {
        case .keychain(let failure), .storing(let failure):
            status = failure.status
            message = failure.description
            hint = failure.hint(naming: \.nameInC)
        case .emptyKey:
            (status, message) = (valet_status(VALET_INVALID_ARGUMENT), "the key is empty")
        case .emptyValue:
            (status, message) = (valet_status(VALET_INVALID_ARGUMENT), "the value is empty")
        case .noAnswer:
            status = valet_status(VALET_INVALID_ARGUMENT)
            message = "the function returned none of the VALET_PAIR values"
        case .migration(let refusal):
            domain = VALET_ERROR_MIGRATION
            (status, message) = (refusal.status, "could not migrate items: \(refusal.explanation)")
        }
        self.domain = Int32(domain)
        code = Int32(failure.code)
        reason = Int32(failure.reason)
        self.hint = hint ?? ""
    }
}

extension CallFailure {
    /// The raw value of `VALKeychainError`, or of `VALMigrationError`.
    fileprivate var code: Int {
        switch self {
        case .keychain(let failure): failure.code.keychainErrorNumber
        case .storing(let failure):
            failure.code == .authenticationFailed ? 0 : failure.code.keychainErrorNumber
        case .noAnswer: 0
        case .emptyKey: 4
        case .emptyValue: 5
        case .migration(let refusal): refusal.rawValue
        }
    }
}

extension AdvisedCall {
    /// The function's name.
    fileprivate var nameInC: String? {
        switch self {
        case .configure: "valet_configure"
        case .unlock: "valet_unlock"
        }
    }
}

extension CallFailure {
    /// The reason code, by which a program decides what to do.
    fileprivate var reason: Int {
        switch self {
        case .keychain(let failure), .storing(let failure): failure.code.reason
        case .noAnswer: VALET_REASON_NO_ANSWER
        case .emptyKey, .emptyValue, .migration: VALET_REASON_OTHER
        }
    }
}

extension KeychainFailure.Code {
    fileprivate var reason: Int {
        switch self {
        case .timedOut: VALET_REASON_BUSY
        case .damaged, .keychainDamaged: VALET_REASON_DAMAGED
        case .keyUnavailable: VALET_REASON_KEY_UNAVAILABLE
        case .newerFormat: VALET_REASON_NEWER_FORMAT
        case .passcodeNotSet: VALET_REASON_NO_PASSCODE
        case .locked: VALET_REASON_LOCKED
        case .incomplete, .insecureFiles, .unsupportedFileSystem, .noHome, .readOnly, .inputOutput:
            VALET_REASON_FILES
        case .diskFull: VALET_REASON_DISK_FULL
        case .insufficientProtection: VALET_REASON_UNPROTECTED
        case .outOfMemory: VALET_REASON_NO_MEMORY
        default: VALET_REASON_OTHER
        }
    }
}

extension MigrationRefusal {
    fileprivate var status: valet_status {
        let status =
            switch self {
            case .invalidQuery, .keyInvalid, .valueInvalid: VALET_INVALID_ARGUMENT
            case .duplicateKey, .keyExists: VALET_DUPLICATE_ITEM
            case .removalFailed: VALET_NOT_AVAILABLE
            }
        return valet_status(status)
    }

    fileprivate var explanation: String {
        switch self {
        case .invalidQuery:
            "the attributes are not for generic passwords, or name what a migration sets"
        case .keyInvalid: "a key is empty, or is not text"
        case .valueInvalid: "a value is empty"
        case .duplicateKey: "two items have the same key"
        case .keyExists: "a key exists in the valet already"
        case .removalFailed: "an item could not be removed from its old place"
        }
    }
}

/// Runs `body`, one call of the interface, and returns its status. A failure becomes the thread's
/// last error.
func call(_ body: () throws(CallFailure) -> Void) -> valet_status {
    ForkLock.start()
    do {
        try body()
        return valet_status(VALET_OK)
    } catch {
        let failure = LastError(error)
        LastError.ofThread.value = failure
        return failure.status
    }
}

/// Runs `body` and throws its failure as that of a call.
func keychain<R>(
    _ body: () throws(KeychainFailure) -> R
) throws(CallFailure) -> R {
    do {
        return try body()
    } catch {
        throw .keychain(error)
    }
}
