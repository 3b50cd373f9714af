// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSystem

/// Keeps the opened keys of a keychain where every process of the user finds them, for as long as
/// it is unlocked.
///
/// The states are those of docs/ARCHITECTURE.md, "Lock state"; the bytes are docs/FORMAT.md §10.
/// This is the one error of the module: what was being done, why it failed, and the system's error
/// number if there was one. It never holds bytes of a key.
package struct LockStateError: Error, Hashable, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// The kernel has no such key (any more).
        case keyNotFound
        /// The key's time was over.
        case expired
        /// The key was revoked: the keychain was locked, or unlocked anew.
        case revoked
        /// The user has no room left for keys in the kernel: keep the keys in this process.
        case quotaExceeded
        /// The kernel, or a sandbox around this process, refuses keys: keep them in this process.
        case refused
        /// The keychain is not unlocked (any more), so there is nothing to renew.
        case notUnlocked
        /// The key of the kernel does not open with what was put there: somebody changed it.
        case changedByOthers
        /// The keychain's folder cannot be written, or no folder is the user's alone: keys are not
        /// shared, since nobody could take them away from others.
        case cannotShare
        /// The keychain's folder cannot be written, so programs that keep keys of their own were
        /// not told of a lock. Keys that are shared are gone.
        case cannotTellOthers
        /// The bytes are no payload, or one that was damaged.
        case malformed
        /// A newer version made the payload.
        case newer
        /// The keys handed over are not those of one or two epochs of this keychain.
        case wrongKeys
        /// None of the above; `systemError` tells more.
        case other
    }

    /// What was being done.
    package enum Operation: String, Hashable, Sendable {
        case probe = "ask the kernel for its keyrings"
        case find = "find keys in the kernel"
        case read = "read keys from the kernel"
        case parse = "understand keys from the kernel"
        case encode = "write keys down for the kernel"
        case publish = "put keys into the kernel"
        case update = "change keys in the kernel"
        case revoke = "revoke keys in the kernel"
        case unlink = "remove keys from the kernel"
        case readPage = "read the page of locks"
        case readSharingFile = "read what opens shared keys"
        case share = "share opened keys"
        case lock = "lock the keychain"
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done.
    package let operation: Operation
    /// The system's error number.
    package let systemError: Int32?
    /// The file, if it is about one.
    package let path: String?

    init(
        _ code: Code, during operation: Operation, systemError: Int32? = nil, path: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.systemError = systemError
        self.path = path
    }

    /// Translates what went wrong with a file.
    init(_ error: SystemError, _ code: Code = .other, during operation: Operation) {
        self.init(code, during: operation, systemError: error.systemError, path: error.path)
    }

    /// Lets `catch LockStateError.Code.quotaExceeded` be written.
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
        case .keyNotFound: "they are not there"
        case .expired: "their time is over"
        case .revoked: "they were revoked"
        case .quotaExceeded: "the user's quota of keys is used up"
        case .refused: "it is not allowed here"
        case .notUnlocked: "the keychain is not unlocked"
        case .changedByOthers: "somebody changed them"
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
            // ENOENT: a key is not linked where it was to be unlinked.
            case ENOKEY, ENOENT: .keyNotFound
            case EKEYEXPIRED: .expired
            case EKEYREVOKED: .revoked
            // ENFILE: the keyring holds as many keys as it can.
            case EDQUOT, ENFILE: .quotaExceeded
            case EPERM, EACCES, ENOSYS, EOPNOTSUPP: .refused
            default: .other
            }
        self.init(code, during: operation, systemError: number)
    }

    /// Whether the key is gone for good, and what took its place has to be looked for.
    var meansGone: Bool {
        switch code {
        case .keyNotFound, .expired, .revoked: true
        default: false
        }
    }
}
