// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSystem

/// The error of the module, which keeps the opened keys of an unlocked keychain where every process
/// of the user finds them. It has the operation, the reason, and the system's error number, if any.
/// It never contains bytes of a key.
///
/// The states are in docs/ARCHITECTURE.md, "Lock states"; the bytes in docs/FORMAT.md §10.
package struct LockStateError: Error, Hashable, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The kernel has no such key.
        case keyNotFound
        /// The key has expired.
        case expired
        /// The key was revoked: the keychain was locked, or unlocked anew.
        case revoked
        /// The user's quota of keys in the kernel is used up: keep the keys in this process.
        case quotaExceeded
        /// The kernel, or a sandbox around this process, refuses keys: keep them in this process.
        case refused
        /// The keychain is not unlocked, so nothing can be renewed or replaced.
        case notUnlocked
        /// The kernel's key does not open: somebody changed it.
        case changedByOthers
        /// The keychain's folder cannot be written, or no folder belongs to the user alone. Keys
        /// are not shared then, because a lock could not take them back.
        case cannotShare
        /// The keychain's folder cannot be written, so programs with keys of their own did not
        /// learn of the lock. Shared keys are gone.
        case cannotTellOthers
        /// The bytes are not a payload, or a damaged one.
        case malformed
        /// A newer version made the payload.
        case newer
        /// The keys handed over are not those of one or two epochs of this keychain.
        case wrongKeys
        /// Another failure; `systemError` tells more.
        case other
    }

    /// What was being done.
    package enum Operation: String, Hashable, Sendable {
        case probe = "ask the kernel for its keyrings"
        case find = "find keys in the kernel"
        case read = "read keys from the kernel"
        case parse = "parse keys from the kernel"
        case encode = "encode keys for the kernel"
        case publish = "put keys into the kernel"
        case update = "change keys in the kernel"
        case revoke = "revoke keys in the kernel"
        case unlink = "remove keys from the kernel"
        case readPage = "read the page of locks"
        case readSharingFile = "read the sharing file"
        case share = "share opened keys"
        case lock = "lock the keychain"
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done.
    package let operation: Operation
    /// The system's error number.
    package let systemError: Int32?
    /// The file concerned, if any.
    package let path: String?

    init(
        _ code: Code, during operation: Operation, systemError: Int32? = nil, path: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.systemError = systemError
        self.path = path
    }

    /// Translates the failure of a file operation.
    init(_ error: SystemError, _ code: Code = .other, during operation: Operation) {
        self.init(code, during: operation, systemError: error.systemError, path: error.path)
    }

    /// Allows `catch LockStateError.Code.quotaExceeded`.
    package static func ~= (code: Code, error: LockStateError) -> Bool {
        error.code == code
    }
}

extension LockStateError: CustomStringConvertible {
    /// One lower-case line: operation, reason and error number; never bytes of a key.
    package var description: String {
        var text = "could not \(operation.rawValue): \(code.explanation)"
        if let path { text += " (\(path))" }
        if let systemError { text += ", errno \(systemError)" }
        return text
    }
}

extension LockStateError.Code {
    fileprivate var explanation: String {
        switch self {
        case .keyNotFound: "they are missing"
        case .expired: "they have expired"
        case .revoked: "they were revoked"
        case .quotaExceeded: "the user's quota of keys is used up"
        case .refused: "not allowed here"
        case .notUnlocked: "the keychain is not unlocked"
        case .changedByOthers: "another program changed them"
        case .cannotShare: "the folder for them cannot be used"
        case .cannotTellOthers:
            "the folder cannot be written, so programs with opened keys of their own keep them"
        case .malformed: "they are damaged"
        case .newer: "a newer version made them"
        case .wrongKeys: "they belong to another keychain or epoch"
        case .other: "failed"
        }
    }
}

extension LockStateError {
    /// Translates an error number of add_key(2) or keyctl(2).
    init(errno number: Int32, during operation: Operation) {
        let code: Code =
            switch number {
            // ENOENT: the key is not linked in the keyring that it is unlinked from.
            case ENOKEY, ENOENT: .keyNotFound
            case EKEYEXPIRED: .expired
            case EKEYREVOKED: .revoked
            // ENFILE: the keyring is full.
            case EDQUOT, ENFILE: .quotaExceeded
            case EPERM, EACCES, ENOSYS, EOPNOTSUPP: .refused
            default: .other
            }
        self.init(code, during: operation, systemError: number)
    }

    /// Whether the key is gone for good, so that its replacement must be looked up.
    var meansGone: Bool {
        switch code {
        case .keyNotFound, .expired, .revoked: true
        default: false
        }
    }
}
