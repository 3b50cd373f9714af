// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSystem

/// Why a store could not be used: the operation, the reason and the remedy. The error of the
/// modules that are stores.
package struct StoreError: Error, Hashable, Sendable {
    /// What the caller should do about it.
    package enum Code: Hashable, Sendable, CaseIterable {
        /// The folder is not mounted, no server answers, or the store does not have the circle: try
        /// later.
        case unavailable
        /// The store refuses this user or this device: its credentials or permissions must change.
        case denied
        /// There is no room. Nothing was written.
        case full
        /// The deadline passed. An append has written nothing; repeat any other call.
        case timedOut
        /// The deadline passed, and a server may still make the change: repeat the same call.
        case outcomeUnknown
        /// The store gave an answer that breaks its rules.
        case malformed
        /// The address, or a file that goes with it, cannot be used: it must change.
        case badAddress
    }

    /// What the caller should do about it.
    package let code: Code
    /// What was being done, such as "read the roster".
    package let operation: String
    /// What the system or the server said, in one line; never bytes of a message.
    package let reason: String?
    /// The remedy, for a person.
    package let hint: String?

    /// Makes an error. Without a `hint`, it is the one that all errors of this code have.
    package init(
        _ code: Code, during operation: String, reason: String? = nil, hint: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.reason = reason
        self.hint = hint ?? code.hint
    }
}

extension StoreError: CustomStringConvertible {
    /// One lower-case line: operation, reason and what the system said.
    package var description: String {
        let text = "could not \(operation): \(code.explanation)"
        return reason.map { "\(text) (\($0))" } ?? text
    }
}

extension StoreError.Code {
    /// What is wrong, in words: lower case, no full stop.
    package var explanation: String {
        switch self {
        case .unavailable: "the store is not available"
        case .denied: "the store refuses access"
        case .full: "the store is full"
        case .timedOut: "the store did not answer in time"
        case .outcomeUnknown: "the store did not say in time whether it made the change"
        case .malformed: "the store gave an answer that makes no sense"
        case .badAddress: "the address of the store cannot be used"
        }
    }

    fileprivate var hint: String? {
        switch self {
        case .unavailable: "mount the folder, or start the server; sync goes on by itself"
        case .denied: "check the permissions of the folder, or the user and certificate"
        case .full: "make room in the store; sync goes on by itself"
        case .timedOut, .outcomeUnknown: "check the network and the servers; sync tries again"
        case .malformed: "check that the address is that of a store"
        case .badAddress: nil
        }
    }
}

extension StoreError {
    /// Translates a failure of the folder store.
    init(_ error: SystemError, during operation: String) {
        let code: Code =
            switch error.code {
            case .missing, .notADirectory, .replaced, .inputOutput, .outOfMemory,
                .descriptorsClosed:
                .unavailable
            case .cannotOpen where [EMFILE, ENFILE].contains(error.systemError): .unavailable
            case .other where error.systemError != nil: .unavailable
            case .cannotOpen, .wrongOwner, .wrongMode, .readOnly: .denied
            case .diskFull: .full
            case .busy: .timedOut
            case .misuse: .badAddress
            default: .malformed
            }
        self.init(
            code, during: operation, reason: String(describing: error), hint: error.hint)
    }
}
