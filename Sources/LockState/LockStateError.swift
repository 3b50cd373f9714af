// SPDX-License-Identifier: Apache-2.0

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
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done.
    package let operation: Operation
    /// The system's error number.
    package let systemError: Int32?

    init(_ code: Code, during operation: Operation, systemError: Int32? = nil) {
        self.code = code
        self.operation = operation
        self.systemError = systemError
    }

    /// Lets `catch LockStateError.Code.quotaExceeded` be written.
    package static func ~= (code: Code, error: LockStateError) -> Bool {
        error.code == code
    }
}

extension LockStateError: CustomStringConvertible {
    /// One lower-case line: operation, reason and error number; never bytes of a key.
    package var description: String {
        let text = "could not \(operation.rawValue): \(code.explanation)"
        guard let systemError else { return text }
        return text + ", errno \(systemError)"
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
        case .malformed: "they are damaged"
        case .newer: "a newer version made them"
        case .wrongKeys: "they belong to another keychain or epoch"
        case .other: "failed"
        }
    }
}
