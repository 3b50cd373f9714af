// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetKeychainModel
internal import ValetSystem

// Failures of the lock state, which shares the opened keys of an unlocked keychain among the
// processes of the user. No failure contains bytes of a key. The states are in
// docs/ARCHITECTURE.md, "Lock states"; the bytes in docs/FORMAT.md §10.

extension KeychainFailure.Code {
    static let keyNotFound = kernel("keyNotFound", "they are missing")
    static let keyExpired = kernel("keyExpired", "they have expired")
    /// The key was revoked: the keychain was locked, or unlocked anew.
    static let keyRevoked = kernel("keyRevoked", "they were revoked")
    /// The user's quota of keys in the kernel is used up: keep the keys in this process.
    package static let quotaExceeded = kernel(
        "quotaExceeded", "the user's quota of keys is used up")
    /// The kernel, or a sandbox around this process, refuses keys: keep them in this process.
    package static let kernelRefuses = kernel("kernelRefuses", "not allowed here")
    /// The keychain is not unlocked, so nothing can be renewed or replaced.
    package static let notUnlocked = kernel("notUnlocked", "the keychain is not unlocked")
    /// The payload of the kernel's key does not open: another program changed it.
    static let changedByOthers = kernel("changedByOthers", "another program changed them")
    /// The keychain's folder cannot be written, or no folder belongs to the user alone. Keys are
    /// not shared then, because a lock could not remove them.
    static let cannotShare = kernel("cannotShare", "the folder for them cannot be used")
    /// The bytes are no payload, or the payload is damaged.
    static let payloadDamaged = kernel("payloadDamaged", "they are damaged")
    static let payloadNewer = kernel("payloadNewer", "a newer version made them")
    /// The keys do not belong to this keychain, or to two epochs of it.
    static let wrongKeys = kernel("wrongKeys", "they belong to another keychain or epoch")
    private static func kernel(_ name: String, _ explanation: String) -> Self {
        Self(name, status: KeychainFailure.Code.inputOutput.status, explanation)
    }

    /// Whether the key is gone for good, so that its replacement must be looked up.
    var meansGone: Bool { [.keyNotFound, .keyExpired, .keyRevoked].contains(self) }
}

/// What is being done with opened keys.
enum LockStateOperation: String {
    case probe = "ask the kernel for its keyrings"
    case find = "find keys in the kernel"
    case read = "read keys from the kernel"
    case parse = "parse keys from the kernel"
    case encode = "encode keys for the kernel"
    case publish = "put keys into the kernel"
    case update = "change keys in the kernel"
    case readPage = "read the page of locks"
    case readSharingFile = "read the sharing file"
    case share = "share opened keys"
    case lock = "lock the keychain"
}

extension KeychainFailure {
    init(
        _ code: Code, during operation: LockStateOperation, systemError: Int32? = nil,
        path: String? = nil
    ) {
        self.init(
            KeychainFailure(code, during: operation.rawValue, path: path),
            systemError: systemError ?? 0)
    }

    /// The failure for keys that cannot be shared through a folder.
    init(cannotShare error: SystemError) {
        self.init(.cannotShare, during: .share, systemError: error.systemError, path: error.path)
    }

    /// The failure of a lock that other programs could not notice, because the keychain's folder
    /// cannot be written. Shared keys are gone.
    init(cannotTellOthers error: SystemError) {
        self.init(
            KeychainFailure(
                .inputOutput, during: LockStateOperation.lock.rawValue,
                message: "the folder cannot be written, so programs with opened keys of their own "
                    + "keep them", path: error.path), systemError: error.systemError ?? 0)
    }

    /// The failure for an error number of add_key(2) or keyctl(2).
    init(errno number: Int32, during operation: LockStateOperation) {
        let code: Code =
            switch number {
            // ENOENT: the key is not linked in the keyring that it is unlinked from.
            case ENOKEY, ENOENT: .keyNotFound
            case EKEYEXPIRED: .keyExpired
            case EKEYREVOKED: .keyRevoked
            // ENFILE: the keyring is full.
            case EDQUOT, ENFILE: .quotaExceeded
            case EPERM, EACCES, ENOSYS, EOPNOTSUPP: .kernelRefuses
            default: .inputOutput
            }
        self.init(code, during: operation, systemError: number)
    }
}
