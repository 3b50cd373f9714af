// SPDX-License-Identifier: Apache-2.0

internal import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetSystem

/// Why a call of the C interface failed, besides the reasons that the keychain reports.
extension KeychainFailure.Code {
    static let emptyKey = Self("emptyKey", status: -50, "the key is empty")
    static let emptyValue = Self("emptyValue", status: -50, "the value is empty")
    /// The program's function returned none of the `VALET_PAIR` values.
    static let noAnswer = Self(
        "noAnswer", status: -50, "the function returned none of the VALET_PAIR values")
}

extension KeychainFailure {
    /// The failure of a call with an argument that the header does not allow.
    static func invalid(_ message: String, hint: String? = nil) -> KeychainFailure {
        KeychainFailure(.invalidRequest, during: "make the call", message: message, hint: hint)
    }

    static func argument(_ code: Code) -> KeychainFailure {
        KeychainFailure(code, during: "make the call")
    }
}

struct LastError {
    let status: valet_status
    let domain: Int32
    let code: Int32
    let reason: Int32
    let message: String
    let hint: String

    /// Like `errno`, it is not reset by calls that succeed, except `valet_keys`.
    static let ofThread = ThreadLocal<LastError>()

    init(_ failure: KeychainFailure) {
        status = failure.status
        let migration = failure.migrationErrorNumber
        domain = Int32(migration == nil ? VALET_ERROR_KEYCHAIN : VALET_ERROR_MIGRATION)
        code = Int32(migration ?? failure.code.number)
        reason = Int32(failure.code.reason)
        let isOfArgument = [.emptyKey, .emptyValue, .noAnswer].contains(failure.code)
        message = isOfArgument ? failure.message : failure.description
        hint = failure.hint(naming: \.nameInC) ?? ""
    }
}

extension AdvisedCall {
    fileprivate var nameInC: String? {
        switch self {
        case .configure: "valet_configure"
        case .unlock: "valet_unlock"
        }
    }
}

extension KeychainFailure.Code {
    /// The raw value of `VALKeychainError`.
    fileprivate var number: Int {
        switch self {
        case .emptyKey: 4
        case .emptyValue: 5
        default: keychainErrorNumber
        }
    }

    /// The reason code, by which a program decides what to do.
    fileprivate var reason: Int {
        switch self {
        case .noAnswer: VALET_REASON_NO_ANSWER
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

/// Runs `body`, one call of the interface, and returns its status. A failure becomes the thread's
/// last error.
func call(_ body: () throws(KeychainFailure) -> Void) -> valet_status {
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
